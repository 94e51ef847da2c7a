//! Buckets that don't keep versions, or don't any more.

use crate::request::Request;
use crate::story::{Server, Setup, Story, Tried, text, yes};

async fn set_versioning<S: Server>(bucket: &Tried<'_, S>, enabled: bool) {
    bucket.call(Request::SetVersioning { enabled }).await;
}

async fn status<S: Server>(bucket: &Tried<'_, S>) -> String {
    let answer = bucket.call(Request::Versioning).await;
    answer.status.unwrap_or_else(|| "none".to_owned())
}

pub(crate) async fn without_versioning_a_delete_is_for_good<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Unversioned).await;
    story.see("the status", status(&bucket).await, "none");
    let written = bucket.put("a", "1").await;
    story.see("a write tells no version", written.id(), "none");
    bucket.put("a", "22").await;
    story.see("a write replaces", bucket.stack("a").await, "2null*");
    story.see("a head tells no version", bucket.head("a").await.id(), "none");
    story.see(
        "the object by the id null",
        text(&bucket.get(("a", "null")).await),
        "22",
    );
    let deleted = bucket.delete("a").await;
    story.see(
        "a delete makes no marker",
        yes(deleted.is_marker == Some(true)),
        "no",
    );
    story.see("nothing is left", bucket.stack("a").await, "");
    let nothing = bucket.delete("never").await;
    story.see("a delete of nothing", nothing.said(), "ok");
}

pub(crate) async fn what_was_written_before_versioning_is_the_null_version<S: Server>(
    story: &mut Story<'_, S>,
) {
    let bucket = story.bucket(Setup::Unversioned).await;
    bucket.put("a", "1").await;
    set_versioning(&bucket, true).await;
    story.see("the status", status(&bucket).await, "Enabled");
    story.see("a head tells it", bucket.head("a").await.id(), "null");
    bucket.put("a", "22").await;
    story.see("it stays below a new one", bucket.stack("a").await, "2* 1null");
    story.see(
        "it is read by its id",
        text(&bucket.get(("a", "null")).await),
        "1",
    );
    bucket.delete(("a", "null")).await;
    story.see("and deleted by its id", bucket.stack("a").await, "2*");
}

pub(crate) async fn while_suspended_the_null_version_is_replaced<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    bucket.put("a", "1").await;
    set_versioning(&bucket, false).await;
    story.see("the status", status(&bucket).await, "Suspended");
    bucket.put("a", "22").await;
    story.see("it lies on top", bucket.stack("a").await, "2null* 1");
    bucket.put("a", "333").await;
    story.see("the next takes its place", bucket.stack("a").await, "3null* 1");
    let deleted = bucket.delete("a").await;
    story.see("a delete tells the id null", deleted.id(), "null");
    story.see(
        "its marker takes the place of the data",
        bucket.stack("a").await,
        "Mnull* 1",
    );
    bucket.delete("a").await;
    story.see(
        "and the next marker that of the marker",
        bucket.stack("a").await,
        "Mnull* 1",
    );
    bucket.delete(("a", "null")).await;
    story.see("the marker goes by its id", bucket.stack("a").await, "1*");
}

pub(crate) async fn after_suspension_versions_are_kept_again<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    set_versioning(&bucket, false).await;
    bucket.put("a", "1").await;
    set_versioning(&bucket, true).await;
    bucket.put("a", "22").await;
    bucket.delete("a").await;
    story.see(
        "the null version is one of them",
        bucket.stack("a").await,
        "M* 2 1null",
    );
    set_versioning(&bucket, false).await;
    bucket.put("a", "333").await;
    story.see(
        "until it is replaced from below",
        bucket.stack("a").await,
        "3null* M 2",
    );
}
