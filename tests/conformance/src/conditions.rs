//! `If-Match` and `If-None-Match`.

use crate::request::{Condition, Request, Which};
use crate::story::{Server, Setup, Story, Tried, copy, pairs, put, text};

async fn put_if<S: Server>(bucket: &Tried<'_, S>, key: &str, body: &str, wanted: Condition) -> String {
    let mut request = put(key, body);
    if let Request::Put { condition, .. } = &mut request {
        *condition = wanted;
    }
    bucket.call(request).await.said()
}

/// Begins an upload of `a` with one part; its id, and the part's ETag.
async fn begin_upload<S: Server>(bucket: &Tried<'_, S>, body: &[u8]) -> (String, String) {
    let begin = Request::BeginUpload {
        key: "a".to_owned(),
        metadata: Vec::new(),
        tags: Vec::new(),
    };
    let upload = bucket.call(begin).await.upload.unwrap_or_default();
    let part = Request::UploadPart {
        key: "a".to_owned(),
        upload: upload.clone(),
        number: 1,
        body: body.to_vec(),
    };
    let etag = bucket.call(part).await.etag.unwrap_or_default();
    (upload, etag)
}

async fn complete_upload<S: Server>(
    bucket: &Tried<'_, S>,
    (upload, etag): (String, String),
    condition: Condition,
) -> String {
    let request = Request::CompleteUpload {
        key: "a".to_owned(),
        upload,
        parts: vec![(1, etag)],
        condition,
    };
    bucket.call(request).await.said()
}

pub(crate) async fn a_put_if_absent<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let absent = || Condition::Absent;
    story.see(
        "where nothing is",
        put_if(&bucket, "a", "1", absent()).await,
        "ok",
    );
    let over = put_if(&bucket, "a", "22", absent()).await;
    story.see("over what is visible", over, "412 PreconditionFailed");
    story.see("which stays", bucket.stack("a").await, "1*");
    bucket.delete("a").await;
    story.see("over a marker", put_if(&bucket, "a", "333", absent()).await, "ok");
    story.see("the versions then", bucket.stack("a").await, "3* M 1");
}

pub(crate) async fn a_put_if_it_matches<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let etag = bucket.put("a", "1").await.etag.unwrap_or_default();
    let matches = || Condition::Matches(etag.clone());
    story.see(
        "the etag that is there",
        put_if(&bucket, "a", "22", matches()).await,
        "ok",
    );
    let other = put_if(&bucket, "a", "333", matches()).await;
    story.see("another etag", other, "412 PreconditionFailed");
    story.see("the versions then", bucket.stack("a").await, "2* 1");
    story.see(
        "where nothing is",
        put_if(&bucket, "b", "1", matches()).await,
        "404 NoSuchKey",
    );
    bucket.delete("a").await;
    story.see(
        "under a marker",
        put_if(&bucket, "a", "1", matches()).await,
        "404 NoSuchKey",
    );
}

pub(crate) async fn reads_with_conditions<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let etag = bucket.put("a", "1").await.etag.unwrap_or_default();
    let other = "\"00000000000000000000000000000000\"".to_owned();
    let get = async |condition| {
        let which = "a".into();
        let request = Request::Get {
            which,
            condition,
            range: None,
        };
        bucket.call(request).await
    };
    story.see(
        "a get if it matches",
        text(&get(Condition::Matches(etag.clone())).await),
        "1",
    );
    let failed = get(Condition::Matches(other.clone())).await.said();
    story.see("a get if another matches", failed, "412 PreconditionFailed");
    story.see(
        "a get if it differs",
        get(Condition::Differs(etag.clone()))
            .await
            .error
            .map_or(0, |e| e.0),
        304,
    );
    story.see(
        "a get if another differs",
        text(&get(Condition::Differs(other.clone())).await),
        "1",
    );
    let head = async |condition| {
        let which = "a".into();
        bucket.call(Request::Head { which, condition }).await.said()
    };
    story.see(
        "a head if another matches",
        head(Condition::Matches(other)).await,
        "412",
    );
    story.see(
        "a head if it differs",
        head(Condition::Differs(etag)).await,
        "304",
    );
}

pub(crate) async fn a_delete_if_it_matches<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let etag = bucket.put("a", "1").await.etag.unwrap_or_default();
    let delete = async |etag: &str| {
        let request = Request::Delete {
            which: "a".into(),
            if_match: Some(etag.to_owned()),
            bypass: false,
        };
        bucket.call(request).await.said()
    };
    let other = delete("\"00000000000000000000000000000000\"").await;
    story.see("another etag", other, "412 PreconditionFailed");
    story.see("which hides nothing", bucket.stack("a").await, "1*");
    story.see("the etag that is there", delete(&etag).await, "ok");
    story.see("which hides it", bucket.stack("a").await, "M* 1");
}

pub(crate) async fn a_copy_if_absent<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let old = bucket.put("a", "1").await;
    bucket.put("a", "22").await;
    let restore = async || {
        let mut request = copy(("a", old.id()), "a");
        if let Request::Copy { condition, .. } = &mut request {
            *condition = Condition::Absent;
        }
        bucket.call(request).await.said()
    };
    story.see("onto what is visible", restore().await, "412 PreconditionFailed");
    story.see("which stays", bucket.stack("a").await, "2* 1");
    bucket.delete("a").await;
    let before = bucket.stack("a").await;
    story.see("onto a marker", restore().await, "ok");
    story.see(
        "it lies on top of it",
        bucket.stack("a").await,
        format!("1* {}", before.replace('*', "")),
    );
}

pub(crate) async fn a_copy_onto_itself_if_it_matches<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let old = bucket.put("a", "1").await;
    let etag = old.etag.clone().unwrap_or_default();
    let repair = async || {
        let mut request = copy(("a", old.id()), "a");
        if let Request::Copy {
            condition, metadata, ..
        } = &mut request
        {
            *condition = Condition::Matches(etag.clone());
            *metadata = Some(vec![("stayput-count", "1")]);
        }
        bucket.call(request).await.said()
    };
    story.see("onto itself", repair().await, "ok");
    story.see("it lies on top of its source", bucket.stack("a").await, "1* 1");
    story.see(
        "what it carries",
        pairs(&bucket.head("a").await.metadata),
        "stayput-count=1",
    );
    bucket.put("a", "22").await;
    story.see(
        "onto what somebody wrote",
        repair().await,
        "412 PreconditionFailed",
    );
    story.see("which stays", bucket.stack("a").await, "2* 1 1");
    bucket.delete("a").await;
    story.see("onto a marker", repair().await, "404 NoSuchKey");
    story.see("which stays on top", bucket.stack("a").await, "M* 2 1 1");
}

pub(crate) async fn a_copy_if_the_source_matches<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let source = bucket.put("a", "1").await;
    let copy_if = async |etag: &str| {
        let mut request = copy(Which::from(("a", source.id())), "b");
        if let Request::Copy { source_if_match, .. } = &mut request {
            *source_if_match = Some(etag.to_owned());
        }
        bucket.call(request).await.said()
    };
    let other = copy_if("\"00000000000000000000000000000000\"").await;
    story.see("another etag", other, "412 PreconditionFailed");
    story.see(
        "its own etag",
        copy_if(source.etag.as_deref().unwrap_or_default()).await,
        "ok",
    );
    story.see("the copy", bucket.stack("b").await, "1*");
}

pub(crate) async fn an_upload_completed_if_it_matches<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let old = bucket.put("a", "1").await;
    let complete = async || {
        let is_old = Condition::Matches(old.etag.clone().unwrap_or_default());
        complete_upload(&bucket, begin_upload(&bucket, b"333").await, is_old).await
    };
    story.see("over what is as it was", complete().await, "ok");
    story.see("it lies on top", bucket.stack("a").await, "3* 1");
    bucket.put("a", "22").await;
    let refused = complete().await;
    story.see("over what somebody wrote", refused, "412 PreconditionFailed");
    story.see("which stays", bucket.stack("a").await, "2* 3 1");
}

pub(crate) async fn an_upload_completed_if_absent<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    bucket.put("a", "1").await;
    let begun = begin_upload(&bucket, b"22").await;
    let complete = async || complete_upload(&bucket, begun.clone(), Condition::Absent).await;
    story.see("over what is visible", complete().await, "412 PreconditionFailed");
    story.see("which stays", bucket.stack("a").await, "1*");
    bucket.delete("a").await;
    let again = complete().await;
    let after = if again == "ok" {
        bucket.stack("a").await
    } else {
        again
    };
    story.see("over a marker, once it is hidden", after, "2* M 1");
}
