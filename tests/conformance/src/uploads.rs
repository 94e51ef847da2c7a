//! Multipart uploads.

use std::time::Duration;

use crate::request::{Answer, Condition, Request};
use crate::story::{Server, Setup, Story, Tried, copy, pairs, text, yes};

/// The least that a part has which isn't the last: 5 MiB.
const PART: usize = 5 << 20;

/// An upload that is under way.
struct Upload<'b, 's, S: Server> {
    bucket: &'b Tried<'s, S>,
    key: &'static str,
    id: String,
}

impl<'b, 's, S: Server> Upload<'b, 's, S> {
    async fn begin(bucket: &'b Tried<'s, S>, key: &'static str) -> Self {
        let request = Request::BeginUpload {
            key: key.to_owned(),
            metadata: vec![("owner", "team")],
            tags: vec![("class", "hot")],
        };
        let answer = bucket.call(request).await;
        Self {
            bucket,
            key,
            id: answer.upload.unwrap_or_default(),
        }
    }

    async fn part(&self, number: u16, body: Vec<u8>) -> Answer {
        let request = Request::UploadPart {
            key: self.key.to_owned(),
            upload: self.id.clone(),
            number,
            body,
        };
        self.bucket.call(request).await
    }

    async fn complete(&self, parts: &[(u16, &Answer)]) -> Answer {
        let parts = parts
            .iter()
            .map(|(n, part)| (*n, part.etag.clone().unwrap_or_default()));
        let request = Request::CompleteUpload {
            key: self.key.to_owned(),
            upload: self.id.clone(),
            parts: parts.collect(),
            condition: Condition::None,
        };
        self.bucket.call(request).await
    }

    /// With one part.
    async fn complete_with(&self, body: &[u8]) -> Answer {
        let part = self.part(1, body.to_vec()).await;
        self.complete(&[(1, &part)]).await
    }

    async fn abort(&self) -> Answer {
        let request = Request::AbortUpload {
            key: self.key.to_owned(),
            upload: self.id.clone(),
        };
        self.bucket.call(request).await
    }
}

pub(crate) async fn parts_become_one_object<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let upload = Upload::begin(&bucket, "a").await;
    let last = upload.part(2, b"end".to_vec()).await;
    upload.part(1, vec![b'1'; 3]).await;
    let first = upload.part(1, vec![b'2'; PART]).await;
    story.see("until then nothing is there", bucket.stack("a").await, "");
    let uploads = bucket.call(Request::ListUploads).await.uploads;
    story.see(
        "but the upload",
        yes(uploads == [("a".to_owned(), upload.id.clone())]),
        "yes",
    );
    let done = upload.complete(&[(1, &first), (2, &last)]).await;
    story.see("completing it", done.said(), "ok");
    story.see("tells the version", yes(done.version.is_some()), "yes");
    let etag = done.etag.unwrap_or_default();
    story.see(
        "and an etag that tells the number of parts",
        yes(etag.trim_matches('"').ends_with("-2")),
        "yes",
    );
    story.see("the versions", bucket.stack("a").await, format!("{}*", PART + 3));
    let head = bucket.head("a").await;
    story.see("the metadata", pairs(&head.metadata), "owner=team");
    story.see("the number of tags", head.tag_count.unwrap_or(0), 1);
    let request = Request::Get {
        which: "a".into(),
        condition: Condition::None,
        range: Some((PART as u64 - 1, PART as u64 + 2)),
    };
    story.see(
        "the bytes where the parts meet",
        text(&bucket.call(request).await),
        "2end",
    );
    let uploads = bucket.call(Request::ListUploads).await.uploads;
    story.see("the upload is gone", yes(uploads.is_empty()), "yes");
    bucket.call(copy("a", "b")).await;
    let copied = bucket.head("b").await.etag.unwrap_or_default();
    story.see(
        "a copy of it has the etag of one part",
        yes(!copied.contains('-') && copied.len() > 2),
        "yes",
    );
}

pub(crate) async fn an_upload_is_as_old_as_its_beginning<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let upload = Upload::begin(&bucket, "a").await;
    let slow = Upload::begin(&bucket, "raced").await;
    let late = Upload::begin(&bucket, "deleted").await;
    story.wait(Duration::from_secs(3)).await;
    bucket.put("between", "1").await;
    upload.complete_with(b"1").await;
    let between = bucket.head("between").await.last_modified;
    let of_upload = bucket.head("a").await.last_modified;
    let is_older = of_upload.is_some() && of_upload < between;
    story.see("it is older than what was written since", yes(is_older), "yes");
    let quick = Upload::begin(&bucket, "raced").await;
    quick.complete_with(b"22").await;
    slow.complete_with(b"1").await;
    story.see(
        "the one that began last is current",
        bucket.stack("raced").await,
        "2* 1",
    );
    bucket.delete("deleted").await;
    let done = late.complete_with(b"1").await;
    story.see("completing one whose key was deleted since", done.said(), "ok");
    story.see("it lies below the marker", bucket.stack("deleted").await, "M* 1");
}

pub(crate) async fn what_cannot_be_completed<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let small = Upload::begin(&bucket, "a").await;
    let one = small.part(1, b"1".to_vec()).await;
    let two = small.part(2, b"22".to_vec()).await;
    let said = small.complete(&[(1, &one), (2, &two)]).await.said();
    story.see("a small part that isn't the last", said, "400 EntityTooSmall");
    let upload = Upload::begin(&bucket, "b").await;
    let one = upload.part(1, b"1".to_vec()).await;
    let two = upload.part(2, b"22".to_vec()).await;
    let said = upload.complete(&[(2, &two), (1, &one)]).await.said();
    story.see("parts out of order", said, "400 InvalidPartOrder");
    let said = upload.complete(&[(1, &two)]).await.said();
    story.see("a part with another etag", said, "400 InvalidPart");
    let said = upload.complete(&[(3, &one)]).await.said();
    story.see("a part that isn't there", said, "400 InvalidPart");
    story.see("nothing was written", bucket.stack("b").await, "");
    story.see(
        "one part of several",
        upload.complete(&[(2, &two)]).await.said(),
        "ok",
    );
    story.see("is the object", bucket.stack("b").await, "2*");
}

pub(crate) async fn an_aborted_upload_is_gone<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let upload = Upload::begin(&bucket, "a").await;
    let part = upload.part(1, b"1".to_vec()).await;
    story.see("the abort", upload.abort().await.said(), "ok");
    let uploads = bucket.call(Request::ListUploads).await.uploads;
    story.see("it is listed no more", yes(uploads.is_empty()), "yes");
    let said = upload.part(2, b"1".to_vec()).await.said();
    story.see("another part", said, "404 NoSuchUpload");
    story.see(
        "completing it",
        upload.complete(&[(1, &part)]).await.said(),
        "404 NoSuchUpload",
    );
    story.see("nothing is there", bucket.stack("a").await, "");
}

pub(crate) async fn a_part_is_copied_from_an_older_version<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let old = bucket.put("source", "0123456789").await;
    bucket.delete("source").await;
    let upload = Upload::begin(&bucket, "a").await;
    let request = Request::UploadPartCopy {
        key: "a".to_owned(),
        upload: upload.id.clone(),
        number: 1,
        from: ("source", old.id()).into(),
        range: Some((2, 5)),
    };
    let part = bucket.call(request).await;
    story.see("the part", part.said(), "ok");
    upload.complete(&[(1, &part)]).await;
    story.see("the object", text(&bucket.get("a").await), "2345");
}
