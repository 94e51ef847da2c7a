//! JSON values whose kind may be wrong without making the document around them fail.
//!
//! A notification has dozens of fields and a decision needs few. With plain serde types one field of the
//! wrong kind in one record would fail a whole batch. These types take whatever stands there, keep what
//! can be used and remember what the rest was, so that one pass over the bytes reads everything and each
//! record is judged by itself.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// More entries than this in one list are refused: the largest batch of SQS has 10,000 messages, and a
/// list of tiny entries must not cost hundreds of times its bytes.
pub(crate) const MAX_ENTRIES: usize = 10_000;

/// A field that should hold text or a number.
#[derive(Debug, Default, Clone)]
pub(crate) enum Field<'a> {
    /// Not there.
    #[default]
    Missing,
    /// A text, borrowed unless it held escapes.
    Text(Cow<'a, str>),
    /// A whole number from zero on.
    Unsigned(u64),
    /// Something else, named for people.
    Other(&'static str),
}

impl Field<'_> {
    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Missing | Self::Unsigned(_) | Self::Other(_) => None,
        }
    }

    /// The text, if it is one and isn't empty.
    pub(crate) fn filled(&self) -> Option<&str> {
        self.text().filter(|text| !text.is_empty())
    }

    /// What stands there, for people.
    pub(crate) fn found(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Text(text) if text.is_empty() => "empty",
            Self::Text(_) => "a text",
            Self::Unsigned(_) => "a number",
            Self::Other(what) => what,
        }
    }
}

/// A field that should hold an object.
#[derive(Debug, Default)]
pub(crate) enum Node<T> {
    /// Not there.
    #[default]
    Missing,
    /// The object.
    Object(T),
    /// Something else, named for people.
    Other(&'static str),
}

impl<T> Node<T> {
    /// The object, or what stands there instead, for people.
    pub(crate) fn object(&self) -> Result<&T, &'static str> {
        match self {
            Self::Object(value) => Ok(value),
            Self::Missing => Err("missing"),
            Self::Other(what) => Err(what),
        }
    }
}

/// A field that should hold a list.
#[derive(Debug, Default)]
pub(crate) enum List<T> {
    /// Not there.
    #[default]
    Missing,
    /// The entries, at most [`MAX_ENTRIES`].
    Items(Vec<T>),
    /// A list that is longer.
    TooMany,
    /// Something else, named for people.
    Other(&'static str),
}

/// The kinds of JSON value that are wrong in the same way for each of the types.
macro_rules! wrong_kinds {
    (scalars $make:expr) => {
        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok($make("a boolean"))
        }
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok($make("a negative number"))
        }
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok($make("a fraction"))
        }
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok($make("null"))
        }
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON value")
        }
    };
    (text $make:expr) => {
        fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
            Ok($make("a text"))
        }
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok($make("a number"))
        }
    };
    (list $make:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok($make("a list"))
        }
    };
    (object $make:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($make("an object"))
        }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for Field<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Read<'a> {
            type Value = Field<'a>;
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Field<'a>, E> {
                Ok(Field::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Field<'a>, E> {
                Ok(Field::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Field<'a>, E> {
                Ok(Field::Unsigned(number))
            }
            wrong_kinds!(scalars Field::Other);
            wrong_kinds!(list Field::Other);
            wrong_kinds!(object Field::Other);
        }
        from.deserialize_any(Read(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Node<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Read<T> {
            type Value = Node<T>;
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Node<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Node::Object)
            }
            wrong_kinds!(scalars Node::Other);
            wrong_kinds!(text Node::Other);
            wrong_kinds!(list Node::Other);
        }
        from.deserialize_any(Read(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Read<T> {
            type Value = List<T>;
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
                let mut items = Vec::new();
                while items.len() < MAX_ENTRIES {
                    match list.next_element()? {
                        Some(item) => items.push(item),
                        None => return Ok(List::Items(items)),
                    }
                }
                if list.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(List::Items(items));
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(List::TooMany)
            }
            wrong_kinds!(scalars List::Other);
            wrong_kinds!(text List::Other);
            wrong_kinds!(object List::Other);
        }
        from.deserialize_any(Read(PhantomData))
    }
}
