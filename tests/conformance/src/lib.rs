//! What S3 does, as stories that are told once and asked of whatever calls itself S3: the model that Stayput is tried on, and servers.
//!
//! Each story does something in buckets of its own and notes [`Fact`]s: what AWS documents, and what was seen. [`run`] tells all stories;
//! [`compare`] holds what was seen against the table of known differences, in which no row may be missing and none idle.
#![warn(missing_docs)]

mod batches;
mod classes;
mod conditions;
mod copies;
mod listings;
mod locks;
mod request;
mod story;
mod suspended;
mod table;
mod tags;
mod uploads;
mod versions;

pub use request::{Answer, BatchAnswer, Condition, Item, ItemKind, Lock, Pairs, Request, Which};
pub use story::{Fact, Server, Setup};
pub use table::{Difference, compare, differences};

use story::Story;

macro_rules! stories {
    ($($module:ident { $($story:ident,)+ })+) => {
        /// The names of all stories.
        pub const STORIES: &[&str] = &[$($(stringify!($story),)+)+];

        /// Tells every story on a server; gives what was expected and what was seen.
        pub async fn run<S: Server>(server: &S) -> Vec<Fact> {
            let mut facts = Vec::new();
            $($(
                let mut story = Story::new(stringify!($story), server);
                Box::pin($module::$story(&mut story)).await;
                facts.extend(story.facts());
            )+)+
            facts
        }
    };
}

stories! {
    versions {
        a_write_keeps_what_was_there,
        a_delete_hides_and_the_version_stays_readable,
        a_second_delete_puts_a_second_marker,
        a_delete_of_nothing_leaves_a_lone_marker,
        deleting_the_marker_shows_the_object_again,
        deleting_a_version_is_for_good,
        keys_are_kept_as_they_are,
        ranges_of_a_version_are_read,
    }
    suspended {
        without_versioning_a_delete_is_for_good,
        what_was_written_before_versioning_is_the_null_version,
        while_suspended_the_null_version_is_replaced,
        after_suspension_versions_are_kept_again,
    }
    conditions {
        a_put_if_absent,
        a_put_if_it_matches,
        reads_with_conditions,
        a_delete_if_it_matches,
        a_copy_if_absent,
        a_copy_onto_itself_if_it_matches,
        a_copy_if_the_source_matches,
        an_upload_completed_if_absent,
        an_upload_completed_if_it_matches,
    }
    copies {
        a_hidden_version_comes_back_by_a_copy_onto_its_key,
        a_copy_keeps_metadata_and_tags,
        a_copy_with_new_metadata_keeps_its_tags,
        a_copy_goes_to_standard,
        what_cannot_be_copied,
    }
    listings {
        versions_come_newest_first_in_the_order_of_keys,
        pages_of_versions_go_on_where_the_last_ended,
        directories_of_versions_and_of_what_is_visible,
        pages_of_objects,
    }
    batches {
        a_batch_hides_keys_and_removes_versions,
        a_quiet_batch_tells_errors_only,
        a_batch_of_more_than_a_thousand,
    }
    uploads {
        parts_become_one_object,
        an_upload_is_as_old_as_its_beginning,
        what_cannot_be_completed,
        an_aborted_upload_is_gone,
        a_part_is_copied_from_an_older_version,
    }
    tags {
        each_version_has_its_own_tags,
    }
    locks {
        governance_keeps_a_version_until_it_is_bypassed,
        compliance_cannot_be_bypassed,
        a_legal_hold_keeps_a_version_until_it_is_lifted,
        without_object_lock_nothing_can_be_retained,
    }
    classes {
        a_storage_class_is_kept,
        archived_bytes_cannot_be_read_or_copied,
        what_is_not_archived_cannot_be_restored,
    }
}
