//! A real lifecycle, carried out by Ceph with days of four seconds, and a guard whose clock runs as fast: a day of it is four seconds too.

use std::collections::BTreeSet;
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_aws::clock::SystemClock;
use stayput_aws::s3::S3;
use stayput_core::class::Class;
use stayput_core::location::ObjectLocation;
use stayput_core::report::finding::FindingCode;
use stayput_core::root::{Protect, Roots};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::Outcome;
use stayput_core::version::VersionId;
use stayput_guard::batch::{BatchReport, Done, Message};
use stayput_guard::guard::Guard;
use stayput_guard::memory::{Memory, Switch};
use stayput_guard::port::{
    Clock, Listing, ObjectBody, ObjectHead, PortError, Reading, VersionListing, VersionsOf,
};

use crate::server::{Server, on_servers};
use crate::world::{DAY, JOB, OLD_JOB, ROOT, RealGuard, Who, World, verdict_on, whole_second};

on_servers! {
    [Ceph]
    a_running_jobs_files_come_back_each_time_with_an_alarm_that_names_the_rule;
    a_forgotten_jobs_files_are_held_the_third_time;
}

/// So long is a day of the server's rules.
const SERVERS_DAY: Duration = Duration::from_secs(4);
/// The rules take what is older: 48 seconds, so that a call of the guard ends before its copies are taken again.
const DAYS: u32 = 12;
const RULE: &str = "save-money";
const OTHER_RULE: &str = "tidy-old-jobs";

/// Time that runs 21,600 times as fast from a moment on: the server's days are days.
#[derive(Clone, Copy, Debug)]
struct Fast {
    from: Timestamp,
}

impl Fast {
    fn new() -> Self {
        Self {
            from: whole_second(SystemClock.now()),
        }
    }

    fn seen(&self, real: Timestamp) -> Timestamp {
        let factor = u32::try_from(DAY.as_secs() / SERVERS_DAY.as_secs()).expect("a small number");
        self.from.plus(real.since(self.from) * factor)
    }
}

impl Clock for Fast {
    fn now(&self) -> Timestamp {
        self.seen(SystemClock.now())
    }
}

/// S3 as it looks to somebody with that clock: every time that the server says is translated, nothing else.
struct FastReading {
    s3: S3,
    time: Fast,
}

impl Reading for FastReading {
    async fn list(&self, bucket: &str, prefix: &str, by_directory: bool) -> Result<Listing, PortError> {
        let mut listing = self.s3.list(bucket, prefix, by_directory).await?;
        for object in &mut listing.objects {
            object.last_modified = self.time.seen(whole_second(object.last_modified));
        }
        Ok(listing)
    }

    async fn versions(&self, of: VersionsOf<'_>) -> Result<VersionListing, PortError> {
        let mut listing = self.s3.versions(of).await?;
        for entry in &mut listing.entries {
            entry.last_modified = self.time.seen(whole_second(entry.last_modified));
        }
        Ok(listing)
    }

    async fn head(&self, at: &ObjectLocation, version: Option<&VersionId>) -> Result<ObjectHead, PortError> {
        let mut head = self.s3.head(at, version).await?;
        head.last_modified = self.time.seen(head.last_modified);
        Ok(head)
    }

    async fn body(
        &self,
        at: &ObjectLocation,
        version: Option<&VersionId>,
        max_bytes: u64,
    ) -> Result<ObjectBody, PortError> {
        let mut body = self.s3.body(at, version, max_bytes).await?;
        body.head.last_modified = self.time.seen(body.head.last_modified);
        Ok(body)
    }

    async fn versioning(&self, bucket: &str) -> Result<Versioning, PortError> {
        self.s3.versioning(bucket).await
    }

    async fn lifecycle(&self, bucket: &str) -> Result<LifecycleConfiguration, PortError> {
        self.s3.lifecycle(bucket).await
    }
}

/// A world whose objects a rule takes, and everything that was told about it.
struct Expiring {
    world: World,
    time: Fast,
    guard: RealGuard<Fast, FastReading>,
    /// Markers of which the guard has been told.
    told: BTreeSet<VersionId>,
}

impl Expiring {
    /// Files are uploaded, the newest checkpoint's own so much later; then rules are set for these prefixes.
    async fn new(
        url: &str,
        prefixes: &[(&str, &str)],
        protect: Protect,
        dormant_after: Duration,
        later: Duration,
    ) -> Self {
        let world = World::at(url).await;
        let time = Fast::new();
        let newest = |key: &str| key.starts_with(&format!("{JOB}chk-5/"));
        // Without any time in between there is one checkpoint only.
        let older = |key: &str| !newest(key) && (!later.is_zero() || key.contains("/shared/"));
        world.upload(older).await;
        tokio::time::sleep(later).await;
        world.upload(newest).await;
        let mut mandate = world.mandate(Duration::from_secs(300));
        mandate.policy.dormant_after = dormant_after;
        let with_protection = mandate.roots.iter().cloned().map(|mut root| {
            root.protect = protect;
            root
        });
        mandate.roots = Roots::new(with_protection.collect());
        let reading = FastReading {
            s3: S3::new(&world.bucket.connection),
            time,
        };
        let guard = Guard::acting(reading, Some(world.journal()), time, world.copies(), mandate);
        world.bucket.expire(prefixes, DAYS).await;
        Self {
            world,
            time,
            guard,
            told: BTreeSet::new(),
        }
    }

    /// Waits until the rules have taken all of these; returns S3's messages about every marker that nobody was told of yet.
    async fn wait_until_taken(&mut self, keys: &BTreeSet<String>) -> Vec<Message> {
        let taken = self.world.wait_until_taken(keys, &mut self.told).await;
        let told = taken.iter().map(|(key, marker, at)| {
            let at = self.time.seen(whole_second(*at));
            self.world.told(Who::Rule, key, marker, at)
        });
        told.collect()
    }

    /// The rules strike once more and the guard is told: what it says and does about each of these, all of which have this class.
    async fn strike(&mut self, keys: &BTreeSet<String>, class: Class) -> (Vec<Message>, BatchReport) {
        let messages = self.wait_until_taken(keys).await;
        let report = self.guard.handle(&messages).await;
        for key in keys {
            let acted = verdict_on(&report, &self.at(key));
            assert_eq!(acted.verdict.class, Some(class), "{key} {acted:?}");
        }
        (messages, report)
    }

    fn at(&self, key: &str) -> ObjectLocation {
        self.world.bucket.at(key)
    }
}

async fn a_running_jobs_files_come_back_each_time_with_an_alarm_that_names_the_rule(server: Server) {
    let Some(url) = server.url() else { return };
    // A job that runs writes new checkpoints all the time: what a rule takes of it lies in `shared/`, here and with the job that was cancelled.
    let (shared, of_old_job) = (format!("{JOB}shared/"), format!("{OLD_JOB}shared/"));
    let prefixes = [(RULE, shared.as_str()), (OTHER_RULE, of_old_job.as_str())];
    let mut story = Expiring::new(&url, &prefixes, Protect::Default, 90 * DAY, SERVERS_DAY).await;
    // Days fly here, and no job writes that fast: a pin makes its newest checkpoint count as running.
    let memory = Memory::new(Some(story.world.journal()));
    let newest = story.at(&format!("{JOB}chk-5"));
    memory.switch_on(Switch::Pin, &newest.to_string()).await.unwrap();
    let mut needed = story.world.named_by("chk-5");
    needed.retain(|key| key.contains("/shared/"));
    let of_the_old_job = needed.iter().filter(|key| key.starts_with(OLD_JOB)).count();
    assert!(of_the_old_job > 0 && of_the_old_job < needed.len());
    for time in 1..=3_u32 {
        let (messages, report) = story.strike(&needed, Class::Running).await;
        for key in &needed {
            let acted = verdict_on(&report, &story.at(key));
            let copied = Done::Copied {
                condition_honoured: false,
            };
            assert_eq!(acted.done, copied, "{time} {key} {acted:?}");
            let Outcome::Restore(permit) = &acted.verdict.outcome else {
                panic!("{time} {key} {acted:?}")
            };
            let rule = if key.starts_with(OLD_JOB) {
                OTHER_RULE
            } else {
                RULE
            };
            assert_eq!((permit.copy_number(), permit.rule()), (time, Some(rule)), "{key}");
        }
        let others = report.summary.judged - needed.len() as u64;
        assert!(time > 1 || others > 0, "nothing stayed away");
        assert_eq!(report.summary.restored, needed.len() as u64);
        let repeated = report
            .findings
            .iter()
            .find(|f| f.code == FindingCode::RepeatOffence);
        if time == 1 {
            assert_eq!(repeated, None);
        } else {
            let finding = repeated.unwrap_or_else(|| panic!("{:?}", report.findings));
            let rules: BTreeSet<&str> = finding.rules.iter().map(String::as_str).collect();
            assert_eq!(rules, BTreeSet::from([RULE, OTHER_RULE]));
            assert!(
                finding.next_step.contains("exclude the checkpoint prefix"),
                "{finding}"
            );
            assert_eq!(finding.objects, needed.len() as u64);
        }
        // Each was copied once, and the same messages again copy nothing.
        let copies = needed.len() * usize::try_from(time).unwrap();
        assert_eq!(story.world.copies_of(&needed).await, copies);
        story.guard.handle(&messages).await;
        assert_eq!(
            story.world.copies_of(&needed).await,
            copies,
            "the second delivery copied"
        );
        println!(
            "time {time}: {copies} copies of {} files, {others} left",
            needed.len()
        );
    }
    let reading = S3::new(&story.world.bucket.connection);
    for key in &needed {
        let history = story.world.bucket.history(&reading, key).await;
        let newest = &history.data_versions().next().unwrap().id;
        let body = reading.body(&story.at(key), Some(newest), 1 << 20).await.unwrap();
        assert_eq!(body.bytes, story.world.files[key], "{key}");
    }
    story.world.bucket.without_lifecycle().await;
}

async fn a_forgotten_jobs_files_are_held_the_third_time(server: Server) {
    let Some(url) = server.url() else { return };
    // Nothing was written for eleven days when the rule strikes: that is forgotten here. It takes everything, `_metadata` too.
    let prefixes = [(RULE, ROOT)];
    let mut story = Expiring::new(&url, &prefixes, Protect::All, 11 * DAY, Duration::ZERO).await;
    let mut needed = story.world.named_by("chk-5");
    needed.insert(format!("{JOB}chk-5/_metadata"));
    for time in 1..=3_u32 {
        let (_, report) = story.strike(&needed, Class::Dormant).await;
        for key in &needed {
            let acted = verdict_on(&report, &story.at(key));
            if time < 3 {
                assert!(
                    matches!(acted.done, Done::Copied { .. }),
                    "{time} {key} {acted:?}"
                );
            } else {
                let held = Outcome::Report(FindingCode::Held);
                assert_eq!(acted.verdict.outcome, held, "{key}");
            }
        }
        let held = report.findings.iter().find(|f| f.code == FindingCode::Held);
        assert_eq!(held.is_some(), time == 3, "{:?}", report.findings);
        if let Some(held) = held {
            assert_eq!(held.rules, [RULE]);
        }
    }
    assert_eq!(story.world.copies_of(&needed).await, 2 * needed.len());
    story.world.bucket.without_lifecycle().await;
}
