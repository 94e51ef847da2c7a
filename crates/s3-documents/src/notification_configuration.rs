//! A bucket's notification configuration: what it sends where, and how something is added without losing what is there.
//!
//! S3 keeps one such document for a bucket and replaces it as a whole. What is understood here is read from it; what is written back is the
//! same text with our own elements put in, so that everything else stays byte for byte, known or not.

use std::fmt::{self, Write as _};
use std::ops::Range;

use roxmltree::Node;

use crate::document::unusable;
use crate::error::{DocumentError, Problem};
use crate::xml::{document, fault};

const NAME: &str = "the bucket's notification configuration";

/// Removals by requests: markers and versions that go for good.
pub const REMOVALS: &str = "s3:ObjectRemoved:*";
/// What lifecycle rules hide or delete. `s3:ObjectRemoved:*` doesn't cover it.
pub const EXPIRATIONS: &str = "s3:LifecycleExpiration:*";
/// Archived versions that can be read now.
pub const THAWS: &str = "s3:ObjectRestore:Completed";
/// What is written.
pub const CREATIONS: &str = "s3:ObjectCreated:*";

/// What a bucket sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationConfiguration {
    text: String,
    /// Where new elements go: behind the last one, or in place of the end of an empty element.
    inner_end: usize,
    /// The outermost element has no end of its own: `<NotificationConfiguration/>`.
    closed_at_once: Option<Range<usize>>,
    /// What goes where, in the order of the document.
    pub sendings: Vec<Sending>,
    /// Whether every event goes to EventBridge too.
    pub to_event_bridge: bool,
    /// Elements that aren't understood; they stay as they are.
    pub not_understood: Vec<String>,
}

/// The kinds of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// A queue of SQS.
    Queue,
    /// A topic of SNS, or of Ceph.
    Topic,
    /// A Lambda function.
    Function,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queue => "queue",
            Self::Topic => "topic",
            Self::Function => "function",
        })
    }
}

/// One configuration: events of keys to a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    /// Its name; S3 makes one up where nobody gave any.
    pub id: Option<String>,
    /// What it goes to.
    pub target: Target,
    /// The target's ARN.
    pub arn: String,
    /// Event types such as `s3:ObjectRemoved:*`.
    pub events: Vec<String>,
    /// Only keys that begin so.
    pub prefix: String,
    /// Only keys that end so.
    pub suffix: String,
    /// Whether the filter says something else too (Ceph filters by metadata and tags).
    pub filter_says_more: bool,
    /// Bytes of its element.
    at: Range<usize>,
}

impl Sending {
    /// Whether events of this type go here; `event` may end in `*` and then means all of them.
    pub fn takes(&self, event: &str) -> bool {
        self.events.iter().any(|taken| covers(taken, event))
    }

    /// Whether it takes every key below a prefix.
    pub fn takes_keys_below(&self, prefix: &str) -> bool {
        prefix.starts_with(self.prefix.as_str()) && self.suffix.is_empty() && !self.filter_says_more
    }
}

/// As one line for people.
impl fmt::Display for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id.as_deref().unwrap_or("(unnamed)");
        write!(
            f,
            "{id}: {} to the {} {}",
            self.events.join(", "),
            self.target,
            self.arn
        )?;
        if !self.prefix.is_empty() {
            write!(f, ", keys {}*", self.prefix)?;
        }
        if !self.suffix.is_empty() {
            write!(f, ", keys *{}", self.suffix)?;
        }
        if self.filter_says_more {
            f.write_str(", and further filters")?;
        }
        Ok(())
    }
}

/// A configuration that should be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name: one of this name that is there already is replaced.
    pub id: String,
    /// What it goes to.
    pub target: Target,
    /// The target's ARN.
    pub arn: String,
    /// Event types.
    pub events: Vec<String>,
    /// Only keys that begin so; empty: all.
    pub prefix: String,
    /// Only keys that end so; empty: all.
    pub suffix: String,
}

impl Wanted {
    fn is(&self, there: &Sending) -> bool {
        let mut events = (self.events.clone(), there.events.clone());
        events.0.sort_unstable();
        events.1.sort_unstable();
        self.target == there.target
            && self.arn == there.arn
            && events.0 == events.1
            && self.prefix == there.prefix
            && self.suffix == there.suffix
            && !there.filter_says_more
    }

    fn xml(&self) -> String {
        let (element, arn) = match self.target {
            Target::Queue => ("QueueConfiguration", "Queue"),
            Target::Topic => ("TopicConfiguration", "Topic"),
            Target::Function => ("CloudFunctionConfiguration", "CloudFunction"),
        };
        let mut xml = format!(
            "<{element}><Id>{}</Id><{arn}>{}</{arn}>",
            escaped(&self.id),
            escaped(&self.arn)
        );
        for event in &self.events {
            // Writing to a string can't fail.
            let _ = write!(xml, "<Event>{}</Event>", escaped(event));
        }
        let rules: String = [("prefix", &self.prefix), ("suffix", &self.suffix)]
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| {
                let value = escaped(value);
                format!("<FilterRule><Name>{name}</Name><Value>{value}</Value></FilterRule>")
            })
            .collect();
        if !rules.is_empty() {
            let _ = write!(xml, "<Filter><S3Key>{rules}</S3Key></Filter>");
        }
        let _ = write!(xml, "</{element}>");
        xml
    }
}

/// As one line for people.
impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} to the {} {}",
            self.id,
            self.events.join(", "),
            self.target,
            self.arn
        )?;
        if !self.prefix.is_empty() {
            write!(f, ", keys {}*", self.prefix)?;
        }
        if !self.suffix.is_empty() {
            write!(f, ", keys *{}", self.suffix)?;
        }
        Ok(())
    }
}

/// Two configurations that S3 doesn't take beside each other: some event of some key would go to both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The wanted one.
    pub wanted: Wanted,
    /// What is there.
    pub there: Sending,
    /// An event type of each that both mean, the narrower one.
    pub event: String,
}

/// A line of what changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Stays as it is.
    Kept(Sending),
    /// Isn't there any more.
    Removed(Sending),
    /// Comes to it.
    Added(Wanted),
    /// Events go to EventBridge from now on.
    ToEventBridge,
}

/// A configuration with what was wanted in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The whole document.
    pub text: String,
    /// What changes and what doesn't, in the order of the document.
    pub changes: Vec<Change>,
}

impl Merged {
    /// Whether everything was there already.
    pub fn changes_nothing(&self) -> bool {
        self.changes
            .iter()
            .all(|change| matches!(change, Change::Kept(_)))
    }
}

impl NotificationConfiguration {
    /// Reads the answer of GetBucketNotificationConfiguration as it came.
    ///
    /// # Errors
    /// No XML of this kind, or a configuration whose target or events can't be read. What is unknown beside them is no error.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        let text = std::str::from_utf8(bytes).map_err(|e| unusable(NAME, e.into()))?;
        read(text).map_err(|problem| unusable(NAME, problem))
    }

    /// The document as it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The document with these configurations in it, and EventBridge if that is asked for. One of the same name is replaced where it
    /// differs; everything else keeps its bytes.
    ///
    /// # Errors
    /// Something that stays overlaps with something that is wanted: S3 would refuse the whole document.
    pub fn merged(&self, wanted: &[Wanted], to_event_bridge: bool) -> Result<Merged, Vec<Overlap>> {
        let same_name = |there: &Sending| wanted.iter().find(|w| there.id.as_deref() == Some(w.id.as_str()));
        let mut overlaps = Vec::new();
        for there in self.sendings.iter().filter(|s| same_name(s).is_none()) {
            for wanted in wanted {
                if let Some(event) = common_event(wanted, there) {
                    overlaps.push(Overlap {
                        wanted: wanted.clone(),
                        there: there.clone(),
                        event,
                    });
                }
            }
        }
        if !overlaps.is_empty() {
            return Err(overlaps);
        }
        let (mut text, mut changes, mut copied) = (String::new(), Vec::new(), 0);
        let mut placed: Vec<&Wanted> = Vec::new();
        for there in &self.sendings {
            let Some(ours) = same_name(there) else {
                changes.push(Change::Kept(there.clone()));
                continue;
            };
            if ours.is(there) && !placed.contains(&ours) {
                placed.push(ours);
                changes.push(Change::Kept(there.clone()));
                continue;
            }
            changes.push(Change::Removed(there.clone()));
            text.push_str(&self.text[copied..there.at.start]);
            copied = there.at.end;
        }
        let mut added = String::new();
        for ours in wanted.iter().filter(|w| !placed.contains(w)) {
            added.push_str(&ours.xml());
            changes.push(Change::Added(ours.clone()));
        }
        if to_event_bridge && !self.to_event_bridge {
            added.push_str("<EventBridgeConfiguration></EventBridgeConfiguration>");
            changes.push(Change::ToEventBridge);
        }
        match &self.closed_at_once {
            Some(slash) if !added.is_empty() => {
                text.push_str(&self.text[copied..slash.start]);
                let _ = write!(text, ">{added}</{}>", self.root_name());
                text.push_str(&self.text[slash.end..]);
            }
            _ => {
                text.push_str(&self.text[copied..self.inner_end]);
                text.push_str(&added);
                text.push_str(&self.text[self.inner_end..]);
            }
        }
        Ok(Merged { text, changes })
    }

    /// The name of the outermost element as it is written, with its prefix.
    fn root_name(&self) -> &str {
        let rest = &self.text[self.root_start()..];
        let name = rest.trim_start_matches('<');
        let end = name
            .find(|c: char| c.is_whitespace() || c == '/' || c == '>')
            .unwrap_or(name.len());
        &name[..end]
    }

    fn root_start(&self) -> usize {
        let end = self.closed_at_once.as_ref().map_or(self.inner_end, |at| at.start);
        self.text[..end].rfind('<').unwrap_or(0)
    }
}

fn read(text: &str) -> Result<NotificationConfiguration, Problem> {
    let document = document(text, "NotificationConfiguration")?;
    let root = document.root_element();
    let of_root = root.range();
    let whole = &text[of_root.clone()];
    let closed_at_once = whole
        .strip_suffix("/>")
        .filter(|_| !root.has_children())
        .map(|before| of_root.start + before.len()..of_root.end);
    let mut read = NotificationConfiguration {
        inner_end: of_root.start + whole.rfind("</").unwrap_or(whole.len()),
        text: text.to_owned(),
        closed_at_once,
        sendings: Vec::new(),
        to_event_bridge: false,
        not_understood: Vec::new(),
    };
    for element in root.children().filter(Node::is_element) {
        let (target, arn) = match element.tag_name().name() {
            "QueueConfiguration" => (Target::Queue, &["Queue"][..]),
            "TopicConfiguration" => (Target::Topic, &["Topic"][..]),
            "CloudFunctionConfiguration" => (Target::Function, &["CloudFunction"][..]),
            "LambdaFunctionConfiguration" => (Target::Function, &["LambdaFunctionArn", "LambdaFunction"][..]),
            "EventBridgeConfiguration" => {
                read.to_event_bridge = true;
                continue;
            }
            other => {
                read.not_understood.push(other.to_owned());
                continue;
            }
        };
        read.sendings.push(sending(element, target, arn)?);
    }
    Ok(read)
}

fn sending(node: Node<'_, '_>, target: Target, arns: &[&str]) -> Result<Sending, Problem> {
    let texts = |name: &str| {
        let of_name = node
            .children()
            .filter(|c| c.is_element() && c.tag_name().name() == name);
        of_name
            .map(|c| text_of(c).trim().to_owned())
            .collect::<Vec<String>>()
    };
    let Some(arn) = arns.iter().find_map(|name| texts(name).into_iter().next()) else {
        return fault(node, format!("{} names no target", node.tag_name().name()));
    };
    let events = texts("Event");
    if events.is_empty() {
        return fault(node, format!("{} has no Event", node.tag_name().name()));
    }
    let mut sending = Sending {
        id: texts("Id").into_iter().next(),
        target,
        arn,
        events,
        prefix: String::new(),
        suffix: String::new(),
        filter_says_more: false,
        at: node.range(),
    };
    let filter = node
        .children()
        .filter(|c| c.is_element() && c.tag_name().name() == "Filter");
    for part in filter.flat_map(|f| f.children()).filter(Node::is_element) {
        if part.tag_name().name() != "S3Key" {
            // Ceph writes empty ones.
            sending.filter_says_more |= part.children().any(|c| c.is_element());
            continue;
        }
        for rule in part.children().filter(Node::is_element) {
            let of = |name: &str| {
                let child = rule
                    .children()
                    .find(|c| c.is_element() && c.tag_name().name() == name);
                child.map(text_of).unwrap_or_default()
            };
            match of("Name").trim().to_ascii_lowercase().as_str() {
                "prefix" => sending.prefix = of("Value"),
                "suffix" => sending.suffix = of("Value"),
                _ => sending.filter_says_more = true,
            }
        }
    }
    Ok(sending)
}

/// As it is: a prefix may begin or end in a space.
fn text_of(node: Node<'_, '_>) -> String {
    let texts = node.children().filter(Node::is_text).filter_map(|c| c.text());
    texts.collect()
}

/// Whether an event type means all that another one does; either may end in `*`.
fn covers(type_: &str, other: &str) -> bool {
    type_ == other
        || type_
            .strip_suffix('*')
            .is_some_and(|start| other.starts_with(start))
}

/// An event type that both mean, if some key fits both filters.
fn common_event(wanted: &Wanted, there: &Sending) -> Option<String> {
    let nested = |a: &str, b: &str| a.starts_with(b) || b.starts_with(a);
    let ends_nested = |a: &str, b: &str| a.ends_with(b) || b.ends_with(a);
    if !nested(&wanted.prefix, &there.prefix) || !ends_nested(&wanted.suffix, &there.suffix) {
        return None;
    }
    wanted.events.iter().find_map(|ours| {
        there.events.iter().find_map(|theirs| {
            if covers(ours, theirs) {
                Some(theirs.clone())
            } else {
                covers(theirs, ours).then(|| ours.clone())
            }
        })
    })
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Attribute and text normalisation would change these.
            '\r' | '\n' | '\t' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}
