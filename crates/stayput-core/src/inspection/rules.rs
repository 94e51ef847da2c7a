//! What a bucket's lifecycle rules would do to what the snapshot needs.

pub use s3_documents::bucket::Versioning;
use s3_documents::lifecycle;
use serde::Serialize;

use super::Document;
use super::listing::{Listing, ListingKind};
use crate::catalogue::Catalogue;
use crate::forecast::{self, Forecast, Forecaster, Listed};
use crate::location::{Location, ObjectLocation};
use crate::report::finding::Finding;
use crate::shown::Quoted;
use crate::timestamp::Timestamp;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The rules: `aws s3api get-bucket-lifecycle-configuration`, or XML.
    pub rules: &'a [u8],
    /// A listing, for ages and sizes.
    pub listing: Option<&'a Listing>,
    /// The moment to ask about.
    pub now: Timestamp,
    /// Whether the bucket keeps versions; `None`: not known, taken to be enabled.
    pub versioning: Option<Versioning>,
}

/// The forecast, and what it rests on. The same document as `stayput audit --json` prints, with a sentence.
#[derive(Clone, Debug, Serialize)]
pub struct Foretold {
    /// What the rules will do.
    #[serde(flatten)]
    pub forecast: Forecast,
    /// What people must know of that.
    pub findings: Vec<Finding>,
    /// The `_metadata` that was asked about, as a URL.
    pub snapshots: Vec<String>,
    /// What the answer rests on besides, and what it leaves out.
    pub notes: Vec<String>,
    /// The answer in short. Escaped.
    pub sentence: String,
}

/// Why there is no answer. Escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotForetold {
    /// The rules can't be read.
    #[error("the rules can't be read: {0}")]
    Rules(String),
    /// It isn't known where on S3 the snapshot lies.
    #[error(
        "the paths in the file don't say where on S3 it lies, and rules of a bucket reach only what lies there. Say it, as the path that Flink printed: s3://bucket/… up to the directory that holds _metadata"
    )]
    NotOnS3,
    /// What it names can't be entered.
    #[error("{0}")]
    NotEntered(String),
}

impl Document {
    /// What lifecycle rules would do to what the snapshot needs.
    ///
    /// # Errors
    /// The rules can't be read, or the snapshot doesn't lie on S3.
    pub fn forecast(&self, asked: Asked<'_>) -> Result<Foretold, NotForetold> {
        let rules = lifecycle::parse(asked.rules).map_err(|e| NotForetold::Rules(e.to_string()))?;
        let Some(Location::S3(home)) = self.home.as_ref().map(|home| &home.location) else {
            return Err(NotForetold::NotOnS3);
        };
        let metadata = forecast::metadata_in(home);
        let mut catalogue = Catalogue::new();
        let entered =
            forecast::enter(&mut catalogue, &self.bytes, &metadata).map_err(NotForetold::NotEntered)?;
        let mut notes = Vec::new();
        if !self.place_was_said {
            notes.push(format!(
                "The snapshot is taken to lie at {}, by the paths in it.",
                Quoted(&home.to_string())
            ));
        }
        if entered.elsewhere > 0 {
            notes.push(format!(
                "{} handles name files on other file systems than S3, which no rule of a bucket reaches.",
                entered.elsewhere
            ));
        }
        if asked.versioning.is_none() {
            notes.push(
                "Versioning is taken to be enabled. If it isn't, what a rule takes is gone for good: look with `aws s3api get-bucket-versioning`."
                    .to_owned(),
            );
        }
        let needed: Vec<_> = catalogue.iter().map(|(id, _)| id).collect();
        let mut forecaster = Forecaster::new(&catalogue, needed, asked.now);
        forecaster.bucket(
            home.bucket(),
            &rules,
            asked.versioning.unwrap_or(Versioning::Enabled),
        );
        match asked.listing {
            None => notes.push(
                "Without a listing the age of the files isn't known, so no day can be named: only which rules take them, by their keys.".to_owned(),
            ),
            Some(listing) => tell(listing, home.bucket(), &mut forecaster, &mut notes),
        }
        let forecast = forecaster.finish();
        let findings = forecast.findings();
        let sentence = sentence(&forecast);
        Ok(Foretold {
            findings,
            snapshots: vec![metadata.to_string()],
            notes,
            sentence,
            forecast,
        })
    }
}

fn tell(listing: &Listing, bucket: &str, forecaster: &mut Forecaster<'_>, notes: &mut Vec<String>) {
    if listing.kind() == ListingKind::Directory {
        notes.push(
            "A directory says nothing of when objects on S3 were written: it isn't used here.".to_owned(),
        );
        return;
    }
    if let Some(other) = listing.bucket().filter(|other| *other != bucket) {
        notes.push(format!(
            "The listing is of bucket {}: it isn't used here.",
            Quoted(other)
        ));
        return;
    }
    let mut keys: Vec<_> = listing.iter().collect();
    keys.sort_unstable_by_key(|(key, _)| *key);
    for (key, existing) in keys {
        let location = ObjectLocation::new(bucket, key);
        match (existing.size, existing.written) {
            (Some(size), Some(written)) => forecaster.listed(
                &location,
                &Listed {
                    size,
                    written,
                    storage_class: existing.storage_class.as_deref(),
                    tags: None,
                    null_version: existing.null_version,
                },
            ),
            _ if existing.hidden => forecaster.hidden(&location),
            _ => {}
        }
    }
    if listing.is_truncated() {
        notes.push("The listing is a part only: more objects would follow.".to_owned());
    }
}

fn sentence(forecast: &Forecast) -> String {
    let Some(bucket) = forecast.buckets.first() else {
        return "Nothing that it needs lies in this bucket.".to_owned();
    };
    let Some(first) = bucket.harms.first() else {
        return format!(
            "These rules take nothing that it needs ({} objects).",
            bucket.needed.objects
        );
    };
    let taken: u64 = bucket
        .harms
        .iter()
        .filter(|harm| !harm.is_unsure())
        .map(|harm| harm.amount.objects)
        .sum();
    let rule = match &first.rule.id {
        Some(id) => format!("Rule {}", Quoted(id)),
        None => format!("Rule {}", first.rule.number),
    };
    let does = match &first.kind {
        forecast::HarmKind::Delete => "deletes",
        forecast::HarmKind::Hide => "hides",
        forecast::HarmKind::Archive { .. } => "archives",
    };
    let when = match (first.first, first.days, first.date) {
        (Some(first), _, _) if first <= forecast.now => format!("since {}, at any moment", first.day()),
        (Some(first), _, _) => format!("from {} on", first.day()),
        (None, _, Some(date)) => format!("on {}", date.day()),
        (None, Some(days), None) => format!("{days} days after they were written"),
        (None, None, None) => "at some time".to_owned(),
    };
    let perhaps = if first.is_unsure() { "perhaps " } else { "" };
    let broken = if taken > 0 {
        " From then it can't be restored until they are put back."
    } else {
        ""
    };
    format!(
        "{rule} {perhaps}{does} {} of the {} objects that it needs in this bucket, {when}.{broken}",
        first.amount.objects, bucket.needed.objects
    )
}
