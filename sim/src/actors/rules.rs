//! Lifecycle rules by the clock: once a day S3 looks at every object, and counts in whole days from the midnight after it was written.

use crate::clock::{DAY, Millis, SECOND, midnight};
use crate::scenario::{Archive, Rule};
use crate::store::Store;

/// What a night's run does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Due {
    /// The current version of a key is hidden.
    Hide(String),
    /// A noncurrent version of a key is removed.
    Purge(String, String),
    /// A version of a key is moved to an archive.
    Move(String, String, Archive),
}

/// The midnight from which an age of so many days is reached: S3 rounds up to the next midnight UTC.
pub fn ripe(written: Millis, days: u32) -> Millis {
    let at = written + i64::from(days) * DAY;
    if at.rem_euclid(DAY) == 0 {
        at
    } else {
        midnight(at) + DAY
    }
}

/// Whether a version that a rule comes to is still old enough: somebody may have written the key since midnight.
pub fn is_still_due(rules: &[Rule], store: &Store, key: &str) -> bool {
    let now = midnight(store.now());
    rules
        .iter()
        .filter(|r| key.starts_with(&r.prefix))
        .any(|r| hides(r, store, key, now))
}

fn hides(rule: &Rule, store: &Store, key: &str, now: Millis) -> bool {
    match (rule.days, store.versions(key).first()) {
        (Some(days), Some((_, written, true))) => ripe(*written, days) <= now,
        _ => false,
    }
}

/// Whether S3 would have hidden a key at the very second at which somebody else did: at midnight, by a rule that its newest data was old enough for.
/// Where no message says who did it, nobody can tell them apart.
pub fn could_have_hidden(rules: &[Rule], store: &Store, key: &str, at: Millis) -> bool {
    let newest = store
        .versions(key)
        .into_iter()
        .find(|(_, written, data)| *data && *written < at);
    at - midnight(at) < SECOND
        && newest.is_some_and(|(_, written, _)| {
            let fits = |r: &&Rule| key.starts_with(&r.prefix);
            let mut days = rules.iter().filter(fits).filter_map(|r| r.days);
            days.any(|days| ripe(written, days) <= midnight(at))
        })
}

/// From when on some rule hides this version of a key, or would have removed it for good had it stayed hidden since then; `None`: no rule ever takes it.
pub fn takes_from(
    rules: &[Rule],
    store: &Store,
    key: &str,
    version: &str,
    hidden: Option<Millis>,
) -> Option<Millis> {
    let versions = store.versions(key);
    let written = versions.iter().find(|(id, ..)| id == version).map(|v| v.1)?;
    let fits = |r: &&Rule| key.starts_with(&r.prefix);
    let hides = |r: &Rule| r.days.map(|days| ripe(written, days));
    let removes = |r: &Rule| Some(ripe(hidden?, r.noncurrent_days?));
    let of_key = rules.iter().filter(fits);
    of_key.flat_map(|r| [hides(r), removes(r)]).flatten().min()
}

/// What rules take in the night that begins now.
pub fn due(rules: &[Rule], store: &Store) -> Vec<Due> {
    let now = store.now();
    let mut due = Vec::new();
    if rules.is_empty() {
        return due;
    }
    for key in store.keys() {
        let of_key: Vec<&Rule> = rules.iter().filter(|r| key.starts_with(&r.prefix)).collect();
        if of_key.is_empty() {
            continue;
        }
        let versions = store.versions(&key);
        // A move goes before a marker, which is then laid on another day.
        if let Some(moved) = moves_current(&of_key, store, &key, &versions, now) {
            due.push(moved);
        } else if of_key.iter().any(|r| hides(r, store, &key, now)) {
            due.push(Due::Hide(key.clone()));
        }
        due.extend(moves_noncurrent(&of_key, store, &key, &versions, now));
        let Some(days) = of_key.iter().filter_map(|r| r.noncurrent_days).min() else {
            continue;
        };
        // A version is noncurrent since the one above it was written.
        for pair in versions.windows(2) {
            let ([(_, since, _), (id, _, _)] | [(_, since, _), (id, _, _), ..]) = pair else {
                continue;
            };
            if ripe(*since, days) <= now {
                due.push(Due::Purge(key.clone(), id.clone()));
            }
        }
    }
    due
}

/// A version of a key: id, when it was written, whether it is data.
type Row = (String, Millis, bool);

fn moves_current(rules: &[&Rule], store: &Store, key: &str, versions: &[Row], now: Millis) -> Option<Due> {
    let (id, written, true) = versions.first()? else {
        return None;
    };
    let mut moves = rules.iter().filter_map(|r| r.moves);
    let moves = moves.find(|m| m.days.is_some_and(|days| ripe(*written, days) <= now))?;
    let is_there = store.archived_since(key, id).is_some();
    (!is_there).then(|| Due::Move(key.to_owned(), id.clone(), moves.to))
}

/// What is to be removed for good isn't moved before.
fn moves_noncurrent(rules: &[&Rule], store: &Store, key: &str, versions: &[Row], now: Millis) -> Vec<Due> {
    let is_ripe = |since: Millis, days: Option<u32>| days.is_some_and(|days| ripe(since, days) <= now);
    let mut due = Vec::new();
    if rules.iter().all(|r| r.moves.is_none()) {
        return due;
    }
    for pair in versions.windows(2) {
        let [(_, since, _), (id, _, true)] = pair else {
            continue;
        };
        let goes = rules.iter().any(|r| is_ripe(*since, r.noncurrent_days));
        let mut moves = rules.iter().filter_map(|r| r.moves);
        let moves = moves.find(|m| is_ripe(*since, m.noncurrent_days));
        if let Some(moves) = moves.filter(|_| !goes && store.archived_since(key, id).is_none()) {
            due.push(Due::Move(key.to_owned(), id.clone(), moves.to));
        }
    }
    due
}

#[cfg(test)]
mod tests {
    use super::ripe;
    use crate::clock::{BEGINNING, DAY, HOUR, midnight};

    #[test]
    fn ages_are_rounded_up_to_the_next_midnight() {
        let day = midnight(BEGINNING);
        assert_eq!(ripe(day + 10 * HOUR, 1), day + 2 * DAY);
        assert_eq!(ripe(day, 1), day + DAY);
        assert_eq!(ripe(day + 1, 3), day + 4 * DAY);
    }
}
