//! Why a document, or one record of it, can't be used; for people.

use std::fmt;

use crate::encoding::EncodingError;

/// A document that can't be read, or one record of it.
///
/// The text names the place, the fault, what was not done, and what happens next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentError {
    /// Where the fault lies.
    pub place: Place,
    /// The record within the place, counted from 1; `None` if the place as a whole is at fault.
    pub record: Option<usize>,
    /// What is wrong.
    pub problem: Problem,
}

/// The part of an input that can be named and answered by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A message of an SQS batch.
    Message {
        /// Position in the batch, counted from 1.
        number: usize,
        /// Its `messageId`, by which a failure of this message alone is reported.
        id: String,
    },
    /// The payload of a Lambda call as a whole.
    Call,
    /// The body of one message, without its queue.
    Body,
    /// A document of another kind, named for people, mostly with the AWS command that prints it.
    Document(&'static str),
}

/// What is wrong with a document or a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// JSON and XML are UTF-8, and this isn't.
    #[error("it is no UTF-8 from byte {at} on, so it can't be JSON or XML")]
    NotUtf8 {
        /// Offset of the first byte that doesn't fit.
        at: usize,
    },
    /// No JSON, cut off, nested deeper than 128 levels, ambiguous (a field that is needed stands there
    /// twice), or a field of a configuration or listing is missing or has the wrong kind.
    #[error("it isn't the JSON that belongs here: {detail} (line {line}, column {column})")]
    Json {
        /// Line, counted from 1.
        line: usize,
        /// Column in bytes, counted from 1.
        column: usize,
        /// What the JSON reader says.
        detail: String,
    },
    /// No XML, cut off, with a DTD, an element that isn't known, stands twice, or has another content than it should.
    #[error("it isn't the XML that belongs here: {detail} (byte {at})")]
    Xml {
        /// Offset of the element or character at fault.
        at: usize,
        /// What is wrong.
        detail: String,
    },
    /// JSON, but neither an S3 notification nor an envelope that can hold one.
    #[error("it is neither an S3 notification nor an SNS or EventBridge envelope of one: {why}")]
    UnknownEnvelope {
        /// What stands where an envelope shows itself.
        why: String,
    },
    /// An SNS envelope in an SNS envelope.
    #[error("an SNS envelope lies in an SNS envelope; only one level is read")]
    NestedEnvelope,
    /// SNS asks to confirm a subscription; nothing will arrive until a person does.
    #[error(
        "SNS asks to confirm the subscription to {topic}; no event of this topic arrives until somebody opens the message's SubscribeURL"
    )]
    SubscriptionNotConfirmed {
        /// The topic's ARN, or `an unnamed topic`.
        topic: String,
    },
    /// An SQS record without `messageId`: its failure couldn't be reported, so the whole call fails.
    #[error(
        "message {number} has no messageId, so its outcome can't be reported; nothing of this batch was judged"
    )]
    NoMessageId {
        /// Position in the batch, counted from 1.
        number: usize,
    },
    /// A list longer than any batch of AWS.
    #[error("more than {limit} entries in one list; no batch of AWS has more than that")]
    TooManyEntries {
        /// The longest list that is read.
        limit: usize,
    },
    /// A field that the decision needs isn't usable.
    #[error("{field} is {found}, where {needed} is needed")]
    Field {
        /// Path of the field, as in the document.
        field: &'static str,
        /// What stands there: `missing`, `null`, `empty`, `a number` …
        found: &'static str,
        /// What should stand there.
        needed: &'static str,
    },
    /// The sender isn't S3.
    #[error("{field} is {source_name:?}, which isn't S3")]
    UnknownSource {
        /// Path of the field.
        field: &'static str,
        /// The sender's name.
        source_name: String,
    },
    /// A major version whose fields may mean something else.
    #[error(
        "{field} is {found}; version {known} is known, and another major version may mean something else"
    )]
    UnknownVersion {
        /// Path of the field.
        field: &'static str,
        /// What stands there.
        found: String,
        /// The version that is known, such as `2.x`.
        known: &'static str,
    },
    /// The key can't be decoded.
    #[error("s3.object.key {key:?} can't be decoded: {source}")]
    Key {
        /// The key as it stands in the document.
        key: String,
        /// Why.
        source: EncodingError,
    },
    /// Two statements about the bucket disagree.
    #[error(
        "the bucket's name is {bucket:?}, but its ARN says {arn:?}, so it isn't known which bucket is meant"
    )]
    BucketMismatch {
        /// The name.
        bucket: String,
        /// The ARN.
        arn: String,
    },
    /// The document says two things at once, one that S3 doesn't know, or it is of another kind.
    #[error("{what}")]
    Unusable {
        /// The rule or field, and what is wrong with it.
        what: String,
    },
}

impl From<serde_json::Error> for Problem {
    fn from(e: serde_json::Error) -> Self {
        // serde_json appends the position to its text; here it is a field of its own.
        let text = e.to_string();
        let detail = match text.rfind(" at line ") {
            Some(end) if e.line() > 0 => text[..end].to_owned(),
            _ => text,
        };
        Self::Json {
            line: e.line(),
            column: e.column(),
            detail,
        }
    }
}

impl From<std::str::Utf8Error> for Problem {
    fn from(e: std::str::Utf8Error) -> Self {
        Self::NotUtf8 { at: e.valid_up_to() }
    }
}

impl DocumentError {
    pub(crate) fn new(place: Place, problem: Problem) -> Self {
        Self {
            place,
            record: None,
            problem,
        }
    }

    /// What happens next and what to do: the second half of the text.
    #[must_use]
    pub fn what_next(&self) -> &'static str {
        match self.place {
            Place::Message { .. } => {
                "Nothing in this message was judged. A retry meets the same bytes: the queue hands it out again until maxReceiveCount, \
                 then moves it to its dead-letter queue, where it can be read"
            }
            Place::Call => {
                "It wasn't judged. A retry meets the same bytes: an asynchronous call is tried twice more, then goes to the function's \
                 dead-letter queue or on-failure destination, if it has one"
            }
            Place::Body => "Nothing in it was judged, and reading it again gives the same answer",
            Place::Document(_) => "Nothing of it was used; give the whole document, unchanged",
        }
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Message { number, id } => write!(f, "message {number} ({})", InALine(id))?,
            Place::Call => f.write_str("the event")?,
            Place::Body => f.write_str("the message body")?,
            Place::Document(name) => f.write_str(name)?,
        }
        if let Some(record) = self.record {
            write!(f, ", record {record}")?;
        }
        let problem = self.problem.to_string();
        write!(f, ": {}. {}.", InALine(&problem), self.what_next())
    }
}

/// Text with pieces of a document in it, as a part of one line: control characters and ends of lines are written as `\u{…}`, and of a long
/// text the middle is left out. Names in a document can be megabytes long, and a line of a log can't.
struct InALine<'t>(&'t str);

/// So many bytes of a text are kept at its beginning and at its end.
const KEPT: [usize; 2] = [700, 200];

impl fmt::Display for InALine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0;
        let [head, tail] = KEPT;
        if text.len() <= head + tail {
            return escape(text, f);
        }
        let head = text.floor_char_boundary(head);
        let tail = text.ceil_char_boundary(text.len() - tail);
        escape(&text[..head], f)?;
        write!(f, "… {} bytes left out …", tail - head)?;
        escape(&text[tail..], f)
    }
}

fn escape(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            write!(f, "\\u{{{:x}}}", u32::from(c))?;
        } else {
            fmt::Write::write_char(f, c)?;
        }
    }
    Ok(())
}

impl std::error::Error for DocumentError {}
