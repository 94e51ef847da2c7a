//! A story: requests to a server, and facts about its answers.

use std::future::Future;
use std::time::Duration;

use crate::request::{Answer, Condition, Item, ItemKind, Request, Which};

/// What a new bucket is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setup {
    /// Versioning was never enabled.
    Unversioned,
    /// It keeps versions.
    Versioned,
    /// It has object lock, and so keeps versions.
    Locked,
}

/// Whatever calls itself S3.
pub trait Server {
    /// A bucket of it.
    type Bucket;

    /// Makes a bucket that no one else uses.
    fn bucket(&self, setup: Setup) -> impl Future<Output = Self::Bucket>;

    /// One request to a bucket.
    fn call(&self, bucket: &Self::Bucket, request: Request) -> impl Future<Output = Answer>;

    /// Lets so much of its time pass.
    fn wait(&self, span: Duration) -> impl Future<Output = ()>;
}

/// One thing that AWS documents, and what was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// The story's name.
    pub story: &'static str,
    /// What it is about; no other of the story has this name.
    pub what: &'static str,
    /// What S3 does.
    pub expected: String,
    /// What this server did.
    pub seen: String,
}

/// A story that is being told.
pub(crate) struct Story<'s, S: Server> {
    name: &'static str,
    server: &'s S,
    facts: Vec<Fact>,
}

impl<'s, S: Server> Story<'s, S> {
    pub(crate) fn new(name: &'static str, server: &'s S) -> Self {
        Self {
            name,
            server,
            facts: Vec::new(),
        }
    }

    pub(crate) fn facts(self) -> Vec<Fact> {
        self.facts
    }

    pub(crate) async fn bucket(&self, setup: Setup) -> Tried<'s, S> {
        Tried {
            server: self.server,
            bucket: self.server.bucket(setup).await,
        }
    }

    pub(crate) async fn wait(&self, span: Duration) {
        self.server.wait(span).await;
    }

    /// Notes a fact: what S3 does, and what was seen.
    pub(crate) fn see(&mut self, what: &'static str, seen: impl ToString, expected: impl ToString) {
        assert!(
            self.facts.iter().all(|fact| fact.what != what),
            "{}: {what:?} is said twice",
            self.name
        );
        self.facts.push(Fact {
            story: self.name,
            what,
            expected: expected.to_string(),
            seen: seen.to_string(),
        });
    }
}

/// A bucket that a story is told in.
pub(crate) struct Tried<'s, S: Server> {
    server: &'s S,
    bucket: S::Bucket,
}

impl<S: Server> Tried<'_, S> {
    pub(crate) async fn call(&self, request: Request) -> Answer {
        // A client's future can be large, and a story has many: on the heap, one at a time.
        Box::pin(self.server.call(&self.bucket, request)).await
    }

    pub(crate) async fn put(&self, key: &str, body: &str) -> Answer {
        self.call(put(key, body)).await
    }

    pub(crate) async fn get(&self, which: impl Into<Which>) -> Answer {
        let request = Request::Get {
            which: which.into(),
            condition: Condition::None,
            range: None,
        };
        self.call(request).await
    }

    pub(crate) async fn head(&self, which: impl Into<Which>) -> Answer {
        let request = Request::Head {
            which: which.into(),
            condition: Condition::None,
        };
        self.call(request).await
    }

    pub(crate) async fn delete(&self, which: impl Into<Which>) -> Answer {
        let request = Request::Delete {
            which: which.into(),
            if_match: None,
            bypass: false,
        };
        self.call(request).await
    }

    /// The versions of a key, the newest first: the number of bytes, `M` for a marker; `null` where that is the id; `*` for the current one.
    pub(crate) async fn stack(&self, key: &str) -> String {
        let answer = self.call(versions_below(key)).await;
        if answer.error.is_some() {
            return answer.said();
        }
        let rows = answer.items.iter().filter(|item| item.key == key).map(row);
        rows.collect::<Vec<_>>().join(" ")
    }
}

/// A PUT of this text.
pub(crate) fn put(key: &str, body: &str) -> Request {
    Request::Put {
        key: key.to_owned(),
        body: body.as_bytes().to_vec(),
        condition: Condition::None,
        metadata: Vec::new(),
        tags: Vec::new(),
        class: None,
    }
}

/// A copy that changes nothing.
pub(crate) fn copy(from: impl Into<Which>, key: &str) -> Request {
    Request::Copy {
        from: from.into(),
        key: key.to_owned(),
        condition: Condition::None,
        source_if_match: None,
        metadata: None,
        tags: None,
        class: None,
    }
}

pub(crate) fn versions_below(prefix: &str) -> Request {
    Request::ListVersions {
        prefix: prefix.to_owned(),
        by_directory: false,
        after: None,
        at_most: 1000,
    }
}

/// A version as [`Tried::stack`] writes it.
pub(crate) fn row(item: &Item) -> String {
    let what = match item.kind {
        ItemKind::Data => item.size.to_string(),
        ItemKind::Marker => "M".to_owned(),
        ItemKind::Prefix => item.key.clone(),
    };
    let null = if item.version.as_deref() == Some("null") {
        "null"
    } else {
        ""
    };
    let latest = if item.is_latest { "*" } else { "" };
    format!("{what}{null}{latest}")
}

/// The bytes as text, or what was said in their place.
pub(crate) fn text(answer: &Answer) -> String {
    match (&answer.error, &answer.body) {
        (None, Some(body)) => String::from_utf8_lossy(body).into_owned(),
        _ => answer.said(),
    }
}

/// `yes` or `no`, so that a table can say it.
pub(crate) fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// Names and values as one text.
pub(crate) fn pairs(of: &std::collections::BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = of.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join(" ")
}
