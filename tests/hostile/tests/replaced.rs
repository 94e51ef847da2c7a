//! Valid files of every layout with every kind of handle; then one field is replaced by another value. It is refused, or read as the new
//! value, never as the old one, and never with a panic.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

use flink_checkpoint::{Field, Index, Keyed, Limits, fields, references};
use serde_json::Value;
use stayput_core::oracle;
use stayput_hostile::make::{Form, MadeFile, Maker};
use stayput_hostile::mutate::other_value;
use stayput_hostile::random::Random;
use stayput_hostile::tokens::Kind;

/// Fields whose value nobody needs, so that nothing shows it.
const NOT_SHOWN: [Field; 7] = [
    Field::ChainLength,
    Field::LegacyDuration,
    Field::ReferenceCheckpointMark,
    Field::ReferenceCheckpointId,
    // Any number but 0 means that there is some.
    Field::HasManagedOperatorState,
    Field::HasRawOperatorState,
    // Any negative number means that the operator had finished.
    Field::SubtaskCount,
];

/// What the tree says of keyed state and the document doesn't: local names, offsets, changes.
fn beside_the_document(state: Keyed<'_>, said: &mut Vec<String>) {
    let streams = state
        .shared()
        .chain(state.private())
        .chain(state.changelog_files());
    said.extend(streams.map(|stream| format!("{:?} {:?}", stream.local_path, stream.offset)));
    said.extend(state.changes().map(|change| format!("{change:?}")));
    for inner in state.materialized().chain(state.non_materialized()) {
        beside_the_document(inner, said);
    }
}

/// All that a file says, without what depends on its bytes as a whole. `None`: it is refused.
fn document(bytes: &[u8]) -> Option<Value> {
    let index = Index::build(bytes, &Limits::default()).ok()?;
    let snapshot = index.view(bytes).expect("the same bytes");
    let mut document = oracle::document(snapshot, "s3://b/chk-7");
    let mut said = Vec::new();
    for subtask in snapshot
        .operators()
        .flat_map(flink_checkpoint::Operator::subtasks)
    {
        let states = [subtask.managed_keyed(), subtask.raw_keyed()];
        states
            .into_iter()
            .flatten()
            .for_each(|state| beside_the_document(state, &mut said));
    }
    let map = document.as_object_mut().expect("an object");
    map.remove("metadata_sha256");
    map.remove("metadata_bytes");
    map.insert("beside".to_owned(), said.into());
    Some(document)
}

/// Whether UTF-8 and Java's modified UTF-8 write it alike.
fn is_java_text(text: &str) -> bool {
    text.chars().all(|c| c != '\0' && u32::from(c) <= 0xFFFF)
}

fn file(random: &mut Random, form: Form) -> MadeFile {
    let choices = 50 + random.below(350);
    Maker::file(form, &random.bytes(choices))
}

#[test]
fn every_layout_and_every_tag_is_made_and_read_back_as_it_was_made() {
    let mut tags: HashSet<(Field, u8)> = HashSet::new();
    let mut files = 0;
    for seed in 0..900 {
        let mut random = Random::of(seed);
        let form = Form::ALL[usize::try_from(seed).unwrap() % Form::ALL.len()];
        let made = file(&mut random, form);
        let mut read = Vec::new();
        let complete = references(&made.bytes, &Limits::default(), &mut |reference| {
            read.push((
                reference.target.path().to_string(),
                format!("{:?}", reference.extent),
            ));
            ControlFlow::Continue(())
        })
        .unwrap_or_else(|e| panic!("{form:?}, seed {seed}: {e}"));
        let put: Vec<_> = made
            .made
            .iter()
            .map(|made| (made.1.clone(), made.2.clone()))
            .collect();
        assert_eq!(read, put, "{form:?}, seed {seed}");
        assert_eq!(i32::from(complete.format_version), form.version);
        for token in &made.tokens {
            if let Some(
                field @ (Field::KeyedTag | Field::StreamTag | Field::OperatorStateTag | Field::ChannelTag),
            ) = token.field
            {
                tags.insert((field, made.bytes[token.at.start]));
            }
        }
        files += 1;
    }
    assert_eq!(files, 900);
    let of = |field| {
        let tags = tags.iter().filter(|(f, _)| *f == field).map(|(_, tag)| *tag);
        tags.collect::<BTreeSet<u8>>().into_iter().collect::<Vec<u8>>()
    };
    assert_eq!(of(Field::KeyedTag), [0, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14]);
    assert_eq!(of(Field::StreamTag), [0, 1, 2, 3, 6, 15, 16]);
    assert_eq!(of(Field::OperatorStateTag), [0, 4, 17]);
    assert_eq!(of(Field::ChannelTag), [1, 2, 3, 4]);
}

#[test]
fn a_field_that_was_replaced_is_refused_or_read_as_it_is_now() {
    let mut refused: BTreeMap<String, u32> = BTreeMap::new();
    let mut read: BTreeMap<String, u32> = BTreeMap::new();
    let mut unseen: BTreeSet<String> = BTreeSet::new();
    for seed in 0..540 {
        let mut random = Random::of(seed);
        let form = Form::ALL[usize::try_from(seed).unwrap() % Form::ALL.len()];
        let made = file(&mut random, form);
        let before = document(&made.bytes).expect("a valid file");
        for _ in 0..24 {
            let number = random.below(made.tokens.len());
            let token = made.tokens[number].clone();
            let old = &made.bytes[token.at.clone()];
            let new = other_value(token.kind, old, &mut random);
            let Some(field) = token.field.filter(|_| new != old && new.len() < 300) else {
                continue;
            };
            let mut bytes = made.bytes.clone();
            bytes.splice(token.at.clone(), new.clone());
            let Some(after) = document(&bytes) else {
                *refused.entry(format!("{field:?}")).or_default() += 1;
                continue;
            };
            // The bytes of a name that has no UTF-8 form are shown escaped, so only text is looked for.
            let text = (token.kind == Kind::Utf)
                .then(|| std::str::from_utf8(&new[2..]).ok())
                .flatten();
            let is_shown = before != after;
            // What a handle that is null lies at is said of nothing.
            let of_nothing = matches!(field, Field::LocalPath | Field::ChangelogOffset)
                && made
                    .tokens
                    .get(number + 1)
                    .is_some_and(|next| made.bytes[next.at.start] == 0);
            if !is_shown && !of_nothing && !NOT_SHOWN.contains(&field) {
                unseen.insert(format!("{field:?} {old:?} -> {new:?}"));
            }
            if matches!(field, Field::Path | Field::StateHandleId | Field::StateName)
                && let Some(text) = text
            {
                let encoded = serde_json::to_string(text).expect("text");
                let inner = &encoded[1..encoded.len() - 1];
                assert!(
                    !is_shown || !is_java_text(text) || after.to_string().contains(inner),
                    "{field:?} is now {text:?}, but the document says {after:#}"
                );
            }
            // The field lies where it lay, and everything before it as before.
            let places = |bytes: &[u8]| {
                let mut all = Vec::new();
                let told = fields(bytes, &Limits::default(), &mut |field, span| {
                    all.push((field, span.start));
                });
                told.map(|_| all).expect("it was read")
            };
            let (was, is) = (places(&made.bytes), places(&bytes));
            if form == Form::of(form.version) {
                let before_it = was.iter().take_while(|(_, at)| *at <= token.at.start);
                assert!(
                    before_it.eq(is.iter().take_while(|(_, at)| *at <= token.at.start)),
                    "{field:?}"
                );
            }
            *read.entry(format!("{field:?}")).or_default() += 1;
        }
    }
    println!("refused: {refused:?}\nread as the new value: {read:?}");
    assert!(unseen.is_empty(), "the document says nothing of {unseen:#?}");
    let sum = |of: &BTreeMap<String, u32>| of.values().sum::<u32>();
    assert!(
        sum(&refused) > 1_500 && sum(&read) > 1_500,
        "{} refused, {} read",
        sum(&refused),
        sum(&read)
    );
    assert!(
        refused.len() + read.len() > 70,
        "{} and {} kinds of fields",
        refused.len(),
        read.len()
    );
}
