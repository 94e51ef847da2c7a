//! Several snapshots side by side: what was kept, added and dropped, and which one brought what is still needed.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use serde::Serialize;

use super::Document;
use super::detail::OperatorName;
use crate::handles::Names;
use crate::shown::Quoted;

/// So many operators are listed of each step, those with most bytes; so many examples.
const LISTED: usize = 50;

/// Objects and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sum {
    /// Objects, each once.
    pub objects: u64,
    /// The bytes that handles ask of them.
    pub bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// What became of objects from one snapshot to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// In both.
    pub kept: Sum,
    /// Only in the later one.
    pub added: Sum,
    /// Only in the earlier one.
    pub dropped: Sum,
}

/// Several snapshots, in the order of their checkpoint ids.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Always [`super::FORM`].
    pub form: &'static str,
    /// The snapshots, in the order of their checkpoint ids.
    pub snapshots: Vec<Compared>,
    /// From each to the next.
    pub steps: Vec<Step>,
    /// What the last one needs, by the snapshot that first named it.
    pub lineage: Vec<Introduced>,
    /// All that in short. Escaped.
    pub sentence: String,
}

/// One of the snapshots.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Its place among those that were given, from 0.
    pub given: usize,
    /// Its id.
    pub checkpoint_id: u64,
    /// Whether it is a savepoint, if anything tells.
    pub savepoint: Option<bool>,
    /// Where it lies, if that is known.
    pub at: Option<String>,
    /// What it needs.
    pub needs: Sum,
    /// By the place (in `snapshots`) of the one that first named it: the layers of a lineage plot.
    pub introduced_by: Vec<Sum>,
}

/// From one snapshot to the next.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Place in `snapshots` of the earlier one.
    pub from: usize,
    /// And of the later one.
    pub to: usize,
    /// All objects.
    #[serde(flatten)]
    pub all: Difference,
    /// By operator, told by its id; at most 50, those with most bytes.
    pub operators: Vec<OperatorStep>,
    /// Operators that were left out there.
    pub operators_left_out: u64,
    /// The first 50 objects that were added. Not escaped.
    pub added_examples: Vec<String>,
    /// And dropped.
    pub dropped_examples: Vec<String>,
}

/// One operator from one snapshot to the next.
#[derive(Clone, Debug, Serialize)]
pub struct OperatorStep {
    /// Which; of the later snapshot, if it is there.
    pub operator: OperatorName,
    /// Its objects.
    #[serde(flatten)]
    pub difference: Difference,
}

/// Objects that one snapshot named first.
#[derive(Clone, Debug, Serialize)]
pub struct Introduced {
    /// Place in `snapshots` of the one that named them first.
    pub by: usize,
    /// Its id.
    pub checkpoint_id: u64,
    /// Of what the last snapshot needs.
    #[serde(flatten)]
    pub sum: Sum,
    /// An example. Not escaped.
    pub example: Option<String>,
}

/// All objects of all snapshots, numbered across them.
struct Across<'d> {
    documents: &'d [&'d Document],
    /// By document and the number of an object in it: the number across.
    numbers: Vec<Vec<u32>>,
    /// By number across: where it was first.
    first: Vec<(usize, u32)>,
}

impl<'d> Across<'d> {
    fn of(documents: &'d [&'d Document]) -> Self {
        let hasher = RandomState::new();
        // Directories by their text, so that a name is compared within one directory only.
        let mut directories: HashMap<&str, u32> = HashMap::new();
        let mut table: HashTable<u32> = HashTable::new();
        let mut first: Vec<(usize, u32)> = Vec::new();
        let mut keys: Vec<(u32, bool, &[u8])> = Vec::new();
        let mut numbers = Vec::new();
        for (place, document) in documents.iter().enumerate() {
            let known: Vec<u32> = document
                .handles
                .places()
                .iter()
                .map(|lies| {
                    let next = u32::try_from(directories.len()).unwrap_or(u32::MAX);
                    *directories.entry(lies.directory.as_str()).or_insert(next)
                })
                .collect();
            let mut across = vec![u32::MAX; document.handles.objects()];
            for (number, row) in (0..).zip(document.handles.all()) {
                let Some(slot) = across
                    .get_mut(row.object as usize)
                    .filter(|slot| **slot == u32::MAX)
                else {
                    continue;
                };
                let key = match known.get(row.place as usize) {
                    Some(directory) => (
                        *directory,
                        row.names() == Names::Directory,
                        row.name(&document.bytes),
                    ),
                    // What has no location is told apart by how it is written.
                    None => (u32::MAX, false, row.path(&document.bytes).as_bytes()),
                };
                let hash = hasher.hash_one(key);
                let same = |at: &u32| keys.get(*at as usize) == Some(&key);
                *slot = match table.find(hash, same) {
                    Some(known) => *known,
                    None => {
                        let next = u32::try_from(keys.len()).unwrap_or(u32::MAX);
                        keys.push(key);
                        first.push((place, number));
                        table.insert_unique(hash, next, |at| {
                            keys.get(*at as usize).map_or(0, |key| hasher.hash_one(*key))
                        });
                        next
                    }
                };
            }
            numbers.push(across);
        }
        Self {
            documents,
            numbers,
            first,
        }
    }

    fn location(&self, object: u32) -> Option<String> {
        let (place, row) = *self.first.get(object as usize)?;
        let document = self.documents.get(place)?;
        let row = document.handles.all().get(row as usize)?;
        Some(document.handles.location(row, &document.bytes).to_string())
    }
}

/// What one snapshot needs: by number across, the bytes; 0 where no handle says them.
fn needs(document: &Document, numbers: &[u32], objects: usize) -> Vec<Option<u64>> {
    let mut needs: Vec<Option<u64>> = vec![None; objects];
    for row in document
        .handles
        .all()
        .iter()
        .filter(|row| row.names() != Names::Directory)
    {
        if let Some(object) = numbers.get(row.object as usize)
            && let Some(bytes) = needs.get_mut(*object as usize)
        {
            *bytes = Some(bytes.unwrap_or(0).max(row.size().unwrap_or(0)));
        }
    }
    needs
}

/// Holds snapshots against each other, ordered by their ids.
pub fn compare(given: &[&Document]) -> Comparison {
    let mut order: Vec<usize> = (0..given.len()).collect();
    order.sort_by_key(|place| given.get(*place).map(|document| document.summary.checkpoint_id));
    let documents: Vec<&Document> = order
        .iter()
        .filter_map(|place| given.get(*place).copied())
        .collect();
    let across = Across::of(&documents);
    let objects = across.first.len();
    let all_needs: Vec<Vec<Option<u64>>> = documents
        .iter()
        .zip(&across.numbers)
        .map(|(document, numbers)| needs(document, numbers, objects))
        .collect();
    let snapshots: Vec<Compared> = documents
        .iter()
        .zip(&order)
        .zip(&all_needs)
        .map(|((document, given), needs)| {
            let mut sum = Sum::default();
            let mut introduced_by = vec![Sum::default(); documents.len()];
            for (bytes, (first, _)) in needs.iter().zip(&across.first) {
                if let Some(bytes) = bytes {
                    sum.add(*bytes);
                    if let Some(by) = introduced_by.get_mut(*first) {
                        by.add(*bytes);
                    }
                }
            }
            Compared {
                given: *given,
                checkpoint_id: document.summary.checkpoint_id,
                savepoint: document.summary.kind.map(|kind| kind.savepoint),
                at: document.home.as_ref().map(|home| home.location.to_string()),
                needs: sum,
                introduced_by,
            }
        })
        .collect();
    let steps: Vec<Step> = (1..documents.len())
        .filter_map(|to| step(&across, &all_needs, to))
        .collect();
    let lineage = lineage(&across, &snapshots, all_needs.last());
    let sentence = sentence(&snapshots, &steps, &lineage);
    Comparison {
        form: super::FORM,
        snapshots,
        steps,
        lineage,
        sentence,
    }
}

fn step(across: &Across<'_>, needs: &[Vec<Option<u64>>], to: usize) -> Option<Step> {
    let from = to.checked_sub(1)?;
    let (before, after) = (needs.get(from)?, needs.get(to)?);
    let mut all = Difference::default();
    let (mut added_examples, mut dropped_examples) = (Vec::new(), Vec::new());
    for (object, pair) in (0..).zip(before.iter().zip(after)) {
        match pair {
            (Some(_), Some(bytes)) => all.kept.add(*bytes),
            (None, Some(bytes)) => {
                all.added.add(*bytes);
                if added_examples.len() < LISTED {
                    added_examples.extend(across.location(object));
                }
            }
            (Some(bytes), None) => {
                all.dropped.add(*bytes);
                if dropped_examples.len() < LISTED {
                    dropped_examples.extend(across.location(object));
                }
            }
            (None, None) => {}
        }
    }
    let (operators, operators_left_out) = by_operator(across, from, to);
    Some(Step {
        from,
        to,
        all,
        operators,
        operators_left_out,
        added_examples,
        dropped_examples,
    })
}

/// Objects by operator, each once for each operator that names it.
fn of_operators(across: &Across<'_>, place: usize) -> BTreeMap<String, (u32, HashMap<u32, u64>)> {
    let mut operators: BTreeMap<String, (u32, HashMap<u32, u64>)> = BTreeMap::new();
    let (Some(document), Some(numbers)) = (across.documents.get(place), across.numbers.get(place)) else {
        return operators;
    };
    let mut by_number: Vec<HashMap<u32, u64>> = vec![HashMap::new(); document.summary.operators.len()];
    for row in document
        .handles
        .all()
        .iter()
        .filter(|row| row.names() != Names::Directory)
    {
        if let Some(objects) = by_number.get_mut(row.operator as usize)
            && let Some(object) = numbers.get(row.object as usize)
        {
            let bytes = objects.entry(*object).or_default();
            *bytes = (*bytes).max(row.size().unwrap_or(0));
        }
    }
    for (number, (operator, objects)) in (0..).zip(document.summary.operators.iter().zip(by_number)) {
        operators.insert(operator.id.clone(), (number, objects));
    }
    operators
}

fn by_operator(across: &Across<'_>, from: usize, to: usize) -> (Vec<OperatorStep>, u64) {
    let before = of_operators(across, from);
    let after = of_operators(across, to);
    let mut ids: Vec<&String> = before.keys().chain(after.keys()).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut steps: Vec<OperatorStep> = ids
        .into_iter()
        .filter_map(|id| {
            let nothing = HashMap::new();
            let (then, now) = (before.get(id), after.get(id));
            let mut difference = Difference::default();
            let old = then.map_or(&nothing, |(_, objects)| objects);
            let new = now.map_or(&nothing, |(_, objects)| objects);
            for (object, bytes) in new {
                if old.contains_key(object) {
                    difference.kept.add(*bytes);
                } else {
                    difference.added.add(*bytes);
                }
            }
            for (_, bytes) in old.iter().filter(|(object, _)| !new.contains_key(object)) {
                difference.dropped.add(*bytes);
            }
            let (place, number) = match (now, then) {
                (Some((number, _)), _) => (to, *number),
                (None, Some((number, _))) => (from, *number),
                (None, None) => return None,
            };
            Some(OperatorStep {
                operator: across.documents.get(place)?.operator(number),
                difference,
            })
        })
        .collect();
    steps.sort_by_key(|step| {
        let Difference { kept, added, dropped } = step.difference;
        std::cmp::Reverse(
            added
                .bytes
                .saturating_add(dropped.bytes)
                .saturating_add(kept.bytes),
        )
    });
    let left_out = steps.len().saturating_sub(LISTED) as u64;
    steps.truncate(LISTED);
    (steps, left_out)
}

fn lineage(across: &Across<'_>, snapshots: &[Compared], last: Option<&Vec<Option<u64>>>) -> Vec<Introduced> {
    let mut lineage: Vec<Introduced> = snapshots
        .iter()
        .enumerate()
        .map(|(by, snapshot)| Introduced {
            by,
            checkpoint_id: snapshot.checkpoint_id,
            sum: Sum::default(),
            example: None,
        })
        .collect();
    for (object, (bytes, (first, _))) in (0..).zip(last.into_iter().flatten().zip(&across.first)) {
        if let (Some(bytes), Some(introduced)) = (bytes, lineage.get_mut(*first)) {
            introduced.sum.add(*bytes);
            if introduced.example.is_none() {
                introduced.example = across.location(object);
            }
        }
    }
    lineage
}

fn sentence(snapshots: &[Compared], steps: &[Step], lineage: &[Introduced]) -> String {
    let (Some(first), Some(last)) = (snapshots.first(), snapshots.last()) else {
        return "There is nothing to compare.".to_owned();
    };
    let mut sentence = match steps {
        [] => format!("Only checkpoint {} is here.", last.checkpoint_id),
        [step] => format!(
            "From checkpoint {} to {}: {} objects kept ({} bytes), {} added ({} bytes), {} dropped ({} bytes).",
            first.checkpoint_id,
            last.checkpoint_id,
            step.all.kept.objects,
            step.all.kept.bytes,
            step.all.added.objects,
            step.all.added.bytes,
            step.all.dropped.objects,
            step.all.dropped.bytes
        ),
        _ => format!(
            "{} snapshots, from checkpoint {} to {}.",
            snapshots.len(),
            first.checkpoint_id,
            last.checkpoint_id
        ),
    };
    if let Some(oldest) = lineage.iter().find(|introduced| introduced.sum.objects > 0)
        && steps.len() > 1
        && oldest.checkpoint_id != last.checkpoint_id
    {
        let example = oldest.example.as_deref().unwrap_or_default();
        sentence.push_str(&format!(
            " The last one still needs {} objects that checkpoint {} named first, such as {}.",
            oldest.sum.objects,
            oldest.checkpoint_id,
            Quoted(example)
        ));
    }
    sentence
}
