//! CopyObject.

use crate::request::{Request, Which};
use crate::story::{Server, Setup, Story, Tried, copy, pairs, put, text, yes};

/// Puts an object that has everything.
async fn put_all<S: Server>(bucket: &Tried<'_, S>, key: &str) -> crate::Answer {
    let mut request = put(key, "1");
    if let Request::Put { metadata, tags, .. } = &mut request {
        metadata.push(("owner", "team"));
        tags.push(("class", "hot"));
    }
    bucket.call(request).await
}

async fn tags_of<S: Server>(bucket: &Tried<'_, S>, key: &str) -> String {
    let answer = bucket.call(Request::Tags(key.into())).await;
    if answer.error.is_some() {
        answer.said()
    } else {
        pairs(&answer.tags)
    }
}

pub(crate) async fn a_hidden_version_comes_back_by_a_copy_onto_its_key<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let source = put_all(&bucket, "a").await;
    bucket.delete("a").await;
    let mut request = copy(("a", source.id()), "a");
    if let Request::Copy { metadata, .. } = &mut request {
        *metadata = Some(vec![("owner", "team"), ("stayput-count", "1")]);
    }
    let copied = bucket.call(request).await;
    story.see("the copy", copied.said(), "ok");
    story.see("the copy tells its version", yes(copied.version.is_some()), "yes");
    story.see("the versions", bucket.stack("a").await, "1* M 1");
    let head = bucket.head("a").await;
    story.see(
        "its metadata",
        pairs(&head.metadata),
        "owner=team stayput-count=1",
    );
    story.see(
        "it has an id of its own",
        yes(head.version != source.version),
        "yes",
    );
    story.see(
        "its etag is that of its source",
        yes(head.etag == source.etag),
        "yes",
    );
    story.see("its bytes", text(&bucket.get("a").await), "1");
}

pub(crate) async fn a_copy_keeps_metadata_and_tags<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let source = put_all(&bucket, "a").await;
    bucket.call(copy(("a", source.id()), "b")).await;
    let head = bucket.head("b").await;
    story.see("the metadata", pairs(&head.metadata), "owner=team");
    story.see("the tags", tags_of(&bucket, "b").await, "class=hot");
}

pub(crate) async fn a_copy_with_new_metadata_keeps_its_tags<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let source = put_all(&bucket, "a").await;
    let mut request = copy(("a", source.id()), "b");
    if let Request::Copy { metadata, .. } = &mut request {
        *metadata = Some(vec![("new", "yes")]);
    }
    bucket.call(request).await;
    story.see("the metadata", pairs(&bucket.head("b").await.metadata), "new=yes");
    story.see("the tags", tags_of(&bucket, "b").await, "class=hot");
    let mut request = copy(("a", source.id()), "c");
    if let Request::Copy { tags, .. } = &mut request {
        *tags = Some(vec![("other", "tag")]);
    }
    bucket.call(request).await;
    story.see(
        "the metadata of a copy with new tags",
        pairs(&bucket.head("c").await.metadata),
        "owner=team",
    );
    story.see("its tags", tags_of(&bucket, "c").await, "other=tag");
}

pub(crate) async fn a_copy_goes_to_standard<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let mut request = put("a", "1");
    if let Request::Put { class, .. } = &mut request {
        *class = Some("STANDARD_IA");
    }
    bucket.call(request).await;
    bucket.call(copy("a", "b")).await;
    let class = |answer: crate::Answer| answer.class.unwrap_or_else(|| "not said".to_owned());
    story.see("the source", class(bucket.head("a").await), "STANDARD_IA");
    story.see("the copy", class(bucket.head("b").await), "not said");
    let mut request = copy("b", "c");
    if let Request::Copy { class, .. } = &mut request {
        *class = Some("STANDARD_IA");
    }
    bucket.call(request).await;
    story.see(
        "unless it is told to",
        class(bucket.head("c").await),
        "STANDARD_IA",
    );
}

pub(crate) async fn what_cannot_be_copied<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let gone = bucket.put("a", "1").await;
    bucket.delete(("a", gone.id())).await;
    bucket.put("a", "22").await;
    let onto_itself = bucket.call(copy("a", "a")).await.said();
    story.see(
        "an object onto itself, unchanged",
        onto_itself,
        "400 InvalidRequest",
    );
    let marker = bucket.delete("a").await;
    let said = async |from: Which| bucket.call(copy(from, "b")).await.said();
    story.see(
        "a version that is gone",
        said(("a", gone.id()).into()).await,
        "404 NoSuchVersion",
    );
    story.see("what a marker hides", said("a".into()).await, "404 NoSuchKey");
    story.see(
        "a marker by its id",
        said(("a", marker.id()).into()).await,
        "400 InvalidRequest",
    );
    story.see(
        "what was never there",
        said("never".into()).await,
        "404 NoSuchKey",
    );
    story.see("nothing was written", bucket.stack("b").await, "");
}
