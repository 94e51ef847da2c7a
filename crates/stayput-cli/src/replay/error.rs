//! Why a story can't be played.

use std::fmt;
use std::path::{Path, PathBuf};

use s3_documents::DocumentError;
use stayput_core::timestamp::NotATimestamp;
use stayput_guard::port::PortError;
use stayput_guard::settings::SettingsError;

/// A story that can't be played: which file, which line if one is to blame, and what is wrong with it.
#[derive(Debug)]
pub struct StoryError {
    /// The file or folder.
    pub file: PathBuf,
    /// The line, counted from 1, where one can be named.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: StoryProblem,
}

/// What is wrong with a file of a story.
#[derive(Debug, thiserror::Error)]
pub enum StoryProblem {
    /// The folder or file can't be read.
    #[error("it can't be read: {0}")]
    Io(#[from] std::io::Error),
    /// Text is UTF-8.
    #[error("it is no UTF-8 from byte {at} on")]
    NotUtf8 {
        /// Offset of the first byte that doesn't fit.
        at: usize,
    },
    /// A file name that isn't UTF-8 can't hold a key.
    #[error("its name is no UTF-8, and keys are")]
    NameNotUtf8,
    /// A document of the bucket.
    #[error("{0}")]
    Document(Box<DocumentError>),
    /// JSON of another shape than a story's.
    #[error("{0}")]
    Json(serde_json::Error),
    /// TOML of another shape than a story's.
    #[error("{0}")]
    Toml(String),
    /// Settings that can't be used.
    #[error("{0}")]
    Settings(Box<SettingsError>),
    /// What was there before the first look can't be written below `control`.
    #[error("{0}")]
    Switches(PortError),
    /// A line of `now` is `TIME` or `TIME sweep`.
    #[error("{0:?} is neither `TIME` nor `TIME sweep`")]
    NotALook(String),
    /// A line of `now` without a time.
    #[error("{0}")]
    Time(#[from] NotATimestamp),
    /// Looks go forward.
    #[error("this look isn't after the one before it")]
    NotForward,
    /// A story without a look shows nothing.
    #[error("it names no look; write one line `TIME` for each")]
    NoLooks,
    /// A file for a look that doesn't come.
    #[error("it is for look {look}, and `now` has {looks}")]
    NoSuchLook {
        /// The number in the file's name.
        look: usize,
        /// How many lines `now` has.
        looks: usize,
    },
    /// A typing error in a name would otherwise drop a file unseen.
    #[error("no story has a file of this name; the README of the stories lists them")]
    UnknownFile,
    /// An entry that should be `KEY@VERSIONID`.
    #[error("{0:?} isn't KEY@VERSIONID")]
    NotAVersion(String),
    /// A version that no `bucket.json` has.
    #[error("version {version} of {key} is in no bucket.json of this story")]
    NotInTheBucket {
        /// The key.
        key: String,
        /// The version id.
        version: String,
    },
    /// Bytes of another length than the bucket says.
    #[error("it has {here} bytes, but bucket.json says {listed}")]
    OtherSize {
        /// Length of the file.
        here: u64,
        /// `Size` in the listing.
        listed: u64,
    },
    /// `bucket.json` was cut off.
    #[error("{0}")]
    Truncated(s3_model::TruncatedListing),
}

impl From<SettingsError> for StoryProblem {
    fn from(error: SettingsError) -> Self {
        Self::Settings(Box::new(error))
    }
}

impl From<DocumentError> for StoryProblem {
    fn from(error: DocumentError) -> Self {
        Self::Document(Box::new(error))
    }
}

impl StoryError {
    pub(crate) fn new(file: impl Into<PathBuf>, problem: impl Into<StoryProblem>) -> Self {
        Self {
            file: file.into(),
            line: None,
            problem: problem.into(),
        }
    }

    pub(crate) fn toml(file: &Path, text: &str, error: &toml::de::Error) -> Self {
        let this = Self::new(file, StoryProblem::Toml(error.message().to_owned()));
        match error.span().and_then(|span| text.get(..span.start)) {
            Some(before) => this.at_line(1 + before.matches('\n').count()),
            None => this,
        }
    }

    #[must_use]
    pub(crate) fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for StoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for StoryError {}
