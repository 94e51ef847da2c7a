//! The attributes of a message of SQS.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::tolerant::{Field, Node};

/// SQS takes no more for one message.
const MOST: usize = 10;

/// What stands beside a body, by name, as far as it can be read.
#[derive(Debug, Default)]
pub(super) struct Attributes<'a>(Vec<(Cow<'a, str>, Node<Attribute<'a>>)>);

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Attribute<'a> {
    #[serde(borrow)]
    string_value: Field<'a>,
}

impl Attributes<'_> {
    /// Those that have a text; numbers have one too.
    pub(super) fn texts(&self) -> BTreeMap<String, String> {
        let text = |(name, attribute): &(Cow<'_, str>, Node<Attribute<'_>>)| {
            let text = attribute.object().ok()?.string_value.text()?;
            Some((name.clone().into_owned(), text.to_owned()))
        };
        self.0.iter().filter_map(text).collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Attributes<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Read<'a> {
            type Value = Attributes<'a>;
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attributes<'a>, A::Error> {
                let mut kept = Vec::new();
                while kept.len() < MOST {
                    match map.next_entry::<Name<'a>, Node<Attribute<'a>>>()? {
                        Some((Name(name), attribute)) => kept.push((name, attribute)),
                        None => return Ok(Attributes(kept)),
                    }
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Attributes(kept))
            }
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
        }
        from.deserialize_map(Read(PhantomData))
    }
}

/// A name, borrowed unless it holds escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
