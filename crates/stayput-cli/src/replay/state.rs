//! Putting the model into the state of a look.

use s3_model::{Content, Model, ModelBucket, Object};
use stayput_core::version::VersionId;
use stayput_guard::port::PortErrorKind;

use super::error::{StoryError, StoryProblem};
use super::story::{GetObjectError, Look, ObjectNotes, Story, Version};

impl Story {
    /// Puts the model into the state of a look: the time, the bucket's settings, and its contents if the story has them for this
    /// look; otherwise they stay what the look before left.
    ///
    /// A `_metadata` without bytes becomes one that nobody may need: [`Model::reads_in_vain`] tells if somebody did. Other objects
    /// without bytes are zeroes.
    ///
    /// # Errors
    /// A listing that was cut off.
    pub fn apply(&self, look: &Look, model: &Model) -> Result<(), StoryError> {
        model.set_now(look.at);
        let bucket = model.create_bucket(&self.bucket.bucket, self.bucket.versioning);
        bucket.set_lifecycle(self.bucket.lifecycle.clone());
        if let Some(listing) = &look.listing {
            bucket
                .load(listing)
                .map_err(|e| StoryError::new(self.name.as_str(), StoryProblem::Truncated(e)))?;
            for version in &listing.versions {
                self.give_bytes(&bucket, &version.key, &version.version_id);
            }
        }
        let notes = |number: usize| {
            let until = self.looks.get(..number).unwrap_or_default();
            until.iter().rev().find_map(|l| l.objects.as_ref())
        };
        if look.listing.is_some() || look.objects.is_some() {
            // What was said before and isn't any longer must go, also where the bucket stays.
            for (version, _) in notes(look.number.saturating_sub(1)).into_iter().flatten() {
                note(&bucket, version, &ObjectNotes::default());
            }
            for (version, notes) in notes(look.number).into_iter().flatten() {
                note(&bucket, version, notes);
            }
        }
        Ok(())
    }

    fn give_bytes(&self, bucket: &ModelBucket, key: &str, version: &str) {
        let bytes = self.bodies.get(&(key.to_owned(), version.to_owned()));
        bucket.edit(key, &VersionId::new(version), |object: &mut Object| {
            if let Some(bytes) = bytes {
                object.content = Content::from(bytes.as_slice());
            } else if key == "_metadata" || key.ends_with("/_metadata") {
                object.content = Content::Withheld(object.content.len());
            }
        });
    }
}

/// A version may be missing where the story's notes are of another look's bucket.
fn note(bucket: &ModelBucket, (key, version): &Version, notes: &ObjectNotes) {
    bucket.edit(key, &VersionId::new(version.as_str()), |object| {
        object.metadata = notes
            .metadata
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
            .collect();
        object.tags.clone_from(&notes.tags);
        object.refusal = notes.error.map(|error| match error {
            GetObjectError::AccessDenied => PortErrorKind::Denied,
            GetObjectError::SlowDown => PortErrorKind::Throttled,
        });
    });
}
