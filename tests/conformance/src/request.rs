//! What is asked of an S3, and what it answers, without any client's types.

use std::collections::BTreeMap;

/// A key and a version of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Which {
    /// The key.
    pub key: String,
    /// The version's id; `None`: what is visible.
    pub version: Option<String>,
}

/// What is visible at a key.
impl From<&str> for Which {
    fn from(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            version: None,
        }
    }
}

/// A version.
impl From<(&str, &str)> for Which {
    fn from((key, version): (&str, &str)) -> Self {
        Self {
            key: key.to_owned(),
            version: Some(version.to_owned()),
        }
    }
}

/// What must be so at the key that is written or read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Condition {
    /// Nothing.
    #[default]
    None,
    /// `If-None-Match: *`.
    Absent,
    /// `If-Match`.
    Matches(String),
    /// `If-None-Match` with an ETag; of reads only.
    Differs(String),
}

/// A retention for so many seconds from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lock {
    /// Compliance mode; else governance.
    pub compliance: bool,
    /// Its length.
    pub seconds: u32,
}

/// Names and values.
pub type Pairs = Vec<(&'static str, &'static str)>;

/// One request. The bucket is that of the receiver.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the fields are S3's parameters by their usual names")]
pub enum Request {
    Put {
        key: String,
        body: Vec<u8>,
        condition: Condition,
        metadata: Pairs,
        tags: Pairs,
        class: Option<&'static str>,
    },
    Get {
        which: Which,
        condition: Condition,
        /// The first and the last byte.
        range: Option<(u64, u64)>,
    },
    Head {
        which: Which,
        condition: Condition,
    },
    Delete {
        which: Which,
        /// `If-Match`.
        if_match: Option<String>,
        /// Past a retention in governance mode.
        bypass: bool,
    },
    DeleteAll {
        all: Vec<Which>,
        quiet: bool,
    },
    Copy {
        from: Which,
        key: String,
        condition: Condition,
        source_if_match: Option<String>,
        /// In place of the source's; `None`: the source's own.
        metadata: Option<Pairs>,
        tags: Option<Pairs>,
        class: Option<&'static str>,
    },
    List {
        prefix: String,
        by_directory: bool,
        /// Only keys after this.
        after: Option<String>,
        at_most: u16,
    },
    ListVersions {
        prefix: String,
        by_directory: bool,
        after: Option<(String, Option<String>)>,
        at_most: u16,
    },
    BeginUpload {
        key: String,
        metadata: Pairs,
        tags: Pairs,
    },
    UploadPart {
        key: String,
        upload: String,
        number: u16,
        body: Vec<u8>,
    },
    UploadPartCopy {
        key: String,
        upload: String,
        number: u16,
        from: Which,
        range: Option<(u64, u64)>,
    },
    CompleteUpload {
        key: String,
        upload: String,
        /// Number and ETag of each part.
        parts: Vec<(u16, String)>,
        condition: Condition,
    },
    AbortUpload {
        key: String,
        upload: String,
    },
    ListUploads,
    Tags(Which),
    PutTags(Which, Pairs),
    DeleteTags(Which),
    PutRetention {
        which: Which,
        lock: Lock,
        bypass: bool,
    },
    Retention(Which),
    PutLegalHold(Which, bool),
    LegalHold(Which),
    /// For one day, at the standard tier.
    Restore(Which),
    SetVersioning {
        enabled: bool,
    },
    Versioning,
}

/// What was answered: an error, or what the operation answers with; all else is as by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// Status and code. The answer to a HEAD has no code. `None`: all went well.
    pub error: Option<(u16, String)>,
    /// `x-amz-version-id`.
    pub version: Option<String>,
    /// `x-amz-delete-marker`, of errors too.
    pub is_marker: Option<bool>,
    /// The ETag, quotes included.
    pub etag: Option<String>,
    /// The bytes of a GET.
    pub body: Option<Vec<u8>>,
    /// Length in bytes of what a HEAD is about.
    pub size: Option<u64>,
    /// Last-Modified, in seconds since 1970.
    pub last_modified: Option<i64>,
    /// User metadata, names in lower case.
    pub metadata: BTreeMap<String, String>,
    /// The tags that were asked for.
    pub tags: BTreeMap<String, String>,
    /// `x-amz-tagging-count`.
    pub tag_count: Option<u32>,
    /// `x-amz-storage-class`.
    pub class: Option<String>,
    /// `x-amz-restore`.
    pub restore: Option<String>,
    /// The rows of a listing; of its kinds versions come before markers only where they do.
    pub items: Vec<Item>,
    /// Where the next page begins: key and version, or the continuation's key.
    pub next: Option<(String, Option<String>)>,
    /// What a batch answers about its keys; of a quiet one about errors.
    pub batch: Vec<BatchAnswer>,
    /// The upload that was begun.
    pub upload: Option<String>,
    /// The uploads that were listed: key and id.
    pub uploads: Vec<(String, String)>,
    /// `Enabled`, `Suspended`; or the mode of a retention, or `ON` and `OFF` of a legal hold.
    pub status: Option<String>,
}

/// A row of a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// The key or the prefix.
    pub key: String,
    /// The version's id, in a listing of versions.
    pub version: Option<String>,
    /// Whether it is the current one.
    pub is_latest: bool,
    /// Length in bytes.
    pub size: u64,
    /// The storage class.
    pub class: Option<String>,
}

/// The kinds of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemKind {
    /// An object or a version.
    Data,
    /// A delete marker.
    Marker,
    /// A common prefix.
    Prefix,
}

/// What a batch says of one key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BatchAnswer {
    /// The key.
    pub key: String,
    /// The version that was asked for.
    pub version: Option<String>,
    /// Whether a marker was made or removed.
    pub is_marker: bool,
    /// That marker.
    pub marker: Option<String>,
    /// The code, if it went wrong.
    pub error: Option<String>,
}

impl Answer {
    /// `ok`, or status and code.
    pub fn said(&self) -> String {
        match &self.error {
            None => "ok".to_owned(),
            Some((status, code)) => format!("{status} {code}").trim_end().to_owned(),
        }
    }

    /// The id, or what stands for none.
    pub fn id(&self) -> &str {
        self.version.as_deref().unwrap_or("none")
    }
}
