//! Object lock.

use crate::request::{Lock, Request};
use crate::story::{Server, Setup, Story, Tried, yes};

async fn retain<S: Server>(
    bucket: &Tried<'_, S>,
    id: &str,
    compliance: bool,
    seconds: u32,
    bypass: bool,
) -> String {
    let request = Request::PutRetention {
        which: ("a", id).into(),
        lock: Lock { compliance, seconds },
        bypass,
    };
    bucket.call(request).await.said()
}

async fn remove<S: Server>(bucket: &Tried<'_, S>, id: &str, bypass: bool) -> String {
    let request = Request::Delete {
        which: ("a", id).into(),
        if_match: None,
        bypass,
    };
    bucket.call(request).await.said()
}

pub(crate) async fn governance_keeps_a_version_until_it_is_bypassed<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Locked).await;
    let data = bucket.put("a", "1").await;
    let none = bucket.call(Request::Retention(("a", data.id()).into())).await;
    story.see("without one", none.said(), "404 NoSuchObjectLockConfiguration");
    story.see(
        "it is retained",
        retain(&bucket, data.id(), false, 3600, false).await,
        "ok",
    );
    let told = bucket.call(Request::Retention(("a", data.id()).into())).await;
    story.see("the mode", told.status.unwrap_or_default(), "GOVERNANCE");
    story.see(
        "a delete of the version",
        remove(&bucket, data.id(), false).await,
        "403 AccessDenied",
    );
    story.see("a marker is allowed", bucket.delete("a").await.said(), "ok");
    story.see("the versions", bucket.stack("a").await, "M* 1");
    let request = Request::DeleteAll {
        all: vec![("a", data.id()).into()],
        quiet: false,
    };
    let batch = bucket.call(request).await.batch;
    let code = batch.first().and_then(|of| of.error.clone()).unwrap_or_default();
    story.see("in a batch", code, "AccessDenied");
    story.see(
        "shortening it",
        retain(&bucket, data.id(), false, 60, false).await,
        "403 AccessDenied",
    );
    story.see(
        "shortening it past the lock",
        retain(&bucket, data.id(), false, 60, true).await,
        "ok",
    );
    story.see(
        "a delete past the lock",
        remove(&bucket, data.id(), true).await,
        "ok",
    );
    story.see("the versions then", bucket.stack("a").await, "M*");
}

pub(crate) async fn compliance_cannot_be_bypassed<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Locked).await;
    let data = bucket.put("a", "1").await;
    story.see(
        "it is retained",
        retain(&bucket, data.id(), true, 8, false).await,
        "ok",
    );
    story.see(
        "a delete past the lock",
        remove(&bucket, data.id(), true).await,
        "403 AccessDenied",
    );
    story.see(
        "shortening it past the lock",
        retain(&bucket, data.id(), true, 2, true).await,
        "403 AccessDenied",
    );
    story.see(
        "making it governance",
        retain(&bucket, data.id(), false, 60, true).await,
        "403 AccessDenied",
    );
    story.see(
        "making it longer",
        retain(&bucket, data.id(), true, 9, false).await,
        "ok",
    );
    story.see("the versions", bucket.stack("a").await, "1*");
    story.wait(std::time::Duration::from_secs(11)).await;
    story.see(
        "a delete when it has ended",
        remove(&bucket, data.id(), false).await,
        "ok",
    );
}

pub(crate) async fn a_legal_hold_keeps_a_version_until_it_is_lifted<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Locked).await;
    let data = bucket.put("a", "1").await;
    let hold = async |on| {
        let request = Request::PutLegalHold(("a", data.id()).into(), on);
        bucket.call(request).await.said()
    };
    story.see("it is held", hold(true).await, "ok");
    let told = bucket.call(Request::LegalHold(("a", data.id()).into())).await;
    story.see("the status", told.status.unwrap_or_default(), "ON");
    story.see(
        "a delete of the version",
        remove(&bucket, data.id(), false).await,
        "403 AccessDenied",
    );
    story.see(
        "a delete past the lock",
        remove(&bucket, data.id(), true).await,
        "403 AccessDenied",
    );
    story.see("it is lifted", hold(false).await, "ok");
    story.see("a delete then", remove(&bucket, data.id(), false).await, "ok");
    story.see("nothing is left", yes(bucket.stack("a").await.is_empty()), "yes");
}

pub(crate) async fn without_object_lock_nothing_can_be_retained<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let data = bucket.put("a", "1").await;
    story.see(
        "a retention",
        retain(&bucket, data.id(), false, 3600, false).await,
        "400 InvalidRequest",
    );
    let hold = bucket
        .call(Request::PutLegalHold(("a", data.id()).into(), true))
        .await;
    story.see("a legal hold", hold.said(), "400 InvalidRequest");
    story.see(
        "a delete of the version",
        remove(&bucket, data.id(), false).await,
        "ok",
    );
}
