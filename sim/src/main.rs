//! `stayput-sim`: plays histories and says what didn't hold, with what to type to see it again.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stayput_sim::clock::shown;
use stayput_sim::crowd::{self, Tally};
use stayput_sim::generate::{Histories, Length, scenario};
use stayput_sim::kept::{self, Kept};
use stayput_sim::picture;
use stayput_sim::planted;
use stayput_sim::run::{Played, play};
use stayput_sim::scenario::Scenario;
use stayput_sim::shrink::shrink;

/// Histories allocate more than they do anything else.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "\
stayput-sim [--seeds N] [--from S] [--for SECONDS] [--at-most V] [--long] [--on-trial] [--replicated] [--threads T]
    plays N histories (1000), whose seeds follow on S (a fresh number, which is printed); --for: no longer than that; --at-most: it is a
    failure only if more than so many invariants are violated, and no share of copies that nobody needs is; --long: over a year;
    --on-trial: some with archives and settings that change, where guard and judge don't agree often enough yet;
    --replicated: in a bucket to which another one is replicated
stayput-sim --seed S [--long] [--on-trial] [--replicated] [--trace] [--html FILE] [--shrink] [--keep NAME STORY]
    plays one; --trace: what happened; --html: as a picture; --shrink: the smallest history that violates the same; --keep: shrinks it and keeps it
stayput-sim --plant FOLDER
    puts every planted fault into this copy of the workspace; stayput-sim --mutants [--seeds N] [--only WORDS] [--keep FOLDER], built there,
    looks for each with N histories (10000); --only: those that have these words in their name; --keep: shrinks what it found, and keeps it
stayput-sim --kept [--trace NAME [--html FILE]]
    plays every history that was kept, or one of them
";

/// So many restores that nobody needs are shown.
const MOST_SHOWN: usize = 300;

/// What a word may be, and how many others belong to it at the most.
const OPTIONS: [(&str, usize); 17] = [
    ("--seeds", 1),
    ("--from", 1),
    ("--for", 1),
    ("--at-most", 1),
    ("--long", 0),
    ("--on-trial", 0),
    ("--replicated", 0),
    ("--threads", 1),
    ("--seed", 1),
    ("--trace", 1),
    ("--html", 1),
    ("--shrink", 0),
    ("--keep", 2),
    ("--plant", 1),
    ("--mutants", 0),
    ("--only", 1),
    ("--kept", 0),
];

struct Words(Vec<String>);

impl Words {
    /// A word that nothing asks for would play another world than was meant, and say that it holds.
    fn all_known(&self) -> Result<(), String> {
        let mut belong = 0;
        for word in &self.0 {
            let option = OPTIONS.iter().find(|(name, _)| name == word);
            match option {
                Some((_, others)) => belong = *others,
                None if belong > 0 && !word.starts_with("--") => belong -= 1,
                None => return Err(format!("{word:?} is nothing that it knows")),
            }
        }
        Ok(())
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|w| w == name)
    }

    fn after(&self, name: &str, place: usize) -> Option<&str> {
        let at = self.0.iter().position(|w| w == name)?;
        self.0.get(at + place).map(String::as_str)
    }

    fn number(&self, name: &str) -> Result<Option<u64>, String> {
        match (self.has(name), self.after(name, 1)) {
            (false, _) => Ok(None),
            (true, Some(text)) => text
                .parse()
                .map(Some)
                .map_err(|_| format!("{name} needs a number, not {text:?}")),
            (true, None) => Err(format!("{name} needs a number")),
        }
    }
}

fn main() -> ExitCode {
    let words = Words(std::env::args().skip(1).collect());
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("stayput-sim: {message}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run(words: &Words) -> Result<bool, String> {
    words.all_known()?;
    let which = Histories {
        length: if words.has("--long") {
            Length::Years
        } else {
            Length::Short
        },
        on_trial: words.has("--on-trial"),
        replicated: words.has("--replicated"),
    };
    if let Some(copy) = words.after("--plant", 1) {
        return planted::plant(copy.as_ref()).map(|()| true);
    }
    if words.has("--mutants") {
        return look_for_mutants(words, which.replicated);
    }
    if words.has("--kept") {
        return play_kept(words);
    }
    if let Some(seed) = words.number("--seed")? {
        return play_one(words, seed, which);
    }
    let count = words.number("--seeds")?.unwrap_or(1000);
    let from = match words.number("--from")? {
        Some(from) => from,
        None => fresh(),
    };
    let threads = threads(words)?;
    print(&format!("{count} histories from seed {from} on\n"))?;
    let most = words.number("--for")?.map_or(Duration::MAX, Duration::from_secs);
    let tally = crowd::play_for(from, count, which, threads, most);
    print(&said(&tally, which))?;
    Ok(match words.number("--at-most")? {
        Some(violations) => tally.violates_at_most(usize::try_from(violations).unwrap_or(usize::MAX)),
        None => tally.is_good(),
    })
}

fn threads(words: &Words) -> Result<usize, String> {
    Ok(match words.number("--threads")? {
        Some(threads) => usize::try_from(threads).unwrap_or(1),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    })
}

/// A seed that nobody has seen.
fn fresh() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(0)
}

fn print(text: &str) -> Result<(), String> {
    // A reader that has seen enough is no failure.
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(e.to_string()),
        _ => Ok(()),
    }
}

fn said(tally: &Tally, which: Histories) -> String {
    let mut text = String::new();
    let long = if which.length == Length::Years {
        " --long"
    } else {
        ""
    };
    let on_trial = if which.on_trial { " --on-trial" } else { "" };
    let replicated = if which.replicated { " --replicated" } else { "" };
    for (seed, violation) in &tally.violations {
        text.push_str(&format!(
            "\nviolated: {}\n  at {}: {}\n  again: cargo xtask sim --seed {seed}{long}{on_trial}{replicated} --trace\n",
            violation.invariant,
            shown(violation.at),
            violation.what
        ));
    }
    for (seed, what) in tally.unneeded.iter().take(MOST_SHOWN) {
        text.push_str(&format!("seed {seed}: restored and needed by nobody: {what}\n"));
    }
    for (what, times) in &tally.happened {
        text.push_str(&format!("{times} {what}\n"));
    }
    text.push_str(&format!("{tally}\n"));
    text
}

fn show(scenario: &Scenario, words: &Words) -> Result<Played, String> {
    let played = play(scenario, true);
    let mut text = String::new();
    if words.has("--trace") {
        // What comes after the first violation only hides it.
        let first = played
            .trace
            .happenings
            .iter()
            .position(|h| h.text.starts_with("VIOLATED"));
        let end = first.map_or(usize::MAX, |n| n + 1);
        for happening in played.trace.happenings.iter().take(end) {
            text.push_str(&format!("{happening}\n"));
        }
    }
    for v in &played.violations {
        text.push_str(&format!(
            "violated at {}: {}\n  {}\n",
            shown(v.at),
            v.invariant,
            v.what
        ));
    }
    print(&text)?;
    Ok(played)
}

fn draw(file: &str, title: &str, played: &Played) -> Result<(), String> {
    let page = picture::page(title, &played.trace.happenings);
    std::fs::write(file, page).map_err(|e| format!("{file}: {e}"))
}

fn play_one(words: &Words, seed: u64, which: Histories) -> Result<bool, String> {
    let mut of_seed = scenario(seed, which);
    if words.has("--shrink") || words.has("--keep") {
        let violations = play(&of_seed, false).violations;
        let Some(violated) = violations.first() else {
            return Err(format!(
                "seed {seed} violates nothing, so there is nothing to shrink"
            ));
        };
        of_seed = shrink(&of_seed, |candidate| {
            let violations = play(candidate, false).violations;
            violations.iter().any(|v| v.invariant == violated.invariant)
        });
        if let (Some(name), Some(story)) = (words.after("--keep", 1), words.after("--keep", 2)) {
            let kept = Kept {
                story: story.to_owned(),
                violated: violated.invariant.to_owned(),
                scenario: of_seed.clone(),
            };
            let path = kept::keep(&kept::folder(), name, &kept)?;
            print(&format!("kept as {}\n", path.display()))?;
        } else {
            print(&serde_json::to_string_pretty(&of_seed).map_err(|e| e.to_string())?)?;
            print("\n")?;
        }
    }
    let played = show(&of_seed, words)?;
    if let Some(file) = words.after("--html", 1) {
        draw(file, &format!("Seed {seed}"), &played)?;
    }
    Ok(played.violations.is_empty())
}

/// Looks for planted faults until a history shows each.
fn look_for_mutants(words: &Words, replicated: bool) -> Result<bool, String> {
    if !planted::want(planted::ALL.len()) {
        return Err(
            "the sources hold no faults: cargo xtask sim --mutants makes a copy that does".to_owned(),
        );
    }
    planted::want(0);
    let most = words.number("--seeds")?.unwrap_or(10_000);
    let asked = words.after("--only", 1).unwrap_or_default();
    let places: Vec<usize> = (0..planted::ALL.len())
        .filter(|place| planted::ALL[*place].name.contains(asked))
        .collect();
    if places.is_empty() {
        return Err(format!("no fault has {asked:?} in its name"));
    }
    let threads = threads(words)?;
    let which = Histories {
        replicated,
        ..Histories::ON_TRIAL
    };
    let all = planted::look_for_all(&places, which, most, threads, |found| {
        let name = found.fault().name;
        let line = match &found.after {
            Some((histories, invariant)) => format!("found after {histories}: {name}: {invariant}\n"),
            None => format!("MISSED in {most}: {name}: {}\n", found.fault().danger),
        };
        // Whoever doesn't read any more learns it from the exit code.
        drop(print(&line));
    });
    if let Some(folder) = words.after("--keep", 1) {
        for found in &all {
            if let Some(kept) = found.smallest() {
                kept::keep(folder.as_ref(), &found.file_name(), &kept)?;
            }
        }
    }
    let missed = all.iter().filter(|found| found.after.is_none()).count();
    print(&format!("{} planted faults, {missed} missed\n", all.len()))?;
    Ok(missed == 0)
}

fn play_kept(words: &Words) -> Result<bool, String> {
    let all = kept::all()?;
    let mut good = true;
    for (name, kept) in &all {
        if words.after("--trace", 1).is_some_and(|asked| asked != name) {
            continue;
        }
        let played = show(&kept.scenario, words)?;
        if let (Some(file), true) = (words.after("--html", 1), words.after("--trace", 1).is_some()) {
            draw(file, &kept.story, &played)?;
        }
        let held = if played.violations.is_empty() {
            "holds"
        } else {
            "VIOLATED"
        };
        print(&format!("{name}: {held}: {}\n", kept.story))?;
        good &= played.violations.is_empty();
    }
    print(&format!("{} kept histories\n", all.len()))?;
    Ok(good && !all.is_empty())
}
