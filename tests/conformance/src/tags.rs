//! Tags.

use crate::request::Request;
use crate::story::{Server, Setup, Story, pairs, put, yes};

pub(crate) async fn each_version_has_its_own_tags<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let mut request = put("a", "1");
    if let Request::Put { tags, .. } = &mut request {
        tags.push(("class", "hot"));
        tags.push(("team", ""));
    }
    let old = bucket.call(request).await;
    bucket.put("a", "22").await;
    story.see(
        "the number of tags, in a head",
        bucket.head(("a", old.id())).await.tag_count.unwrap_or(0),
        2,
    );
    let of_old = bucket.call(Request::Tags(("a", old.id()).into())).await;
    story.see(
        "those of the older version",
        pairs(&of_old.tags),
        "class=hot team=",
    );
    let of_new = bucket.call(Request::Tags("a".into())).await;
    story.see("those of the newer one", pairs(&of_new.tags), "");
    bucket
        .call(Request::PutTags(("a", old.id()).into(), vec![("class", "cold")]))
        .await;
    let of_old = bucket.call(Request::Tags(("a", old.id()).into())).await;
    story.see(
        "new ones take the place of all",
        pairs(&of_old.tags),
        "class=cold",
    );
    bucket.call(Request::DeleteTags(("a", old.id()).into())).await;
    let of_old = bucket.call(Request::Tags(("a", old.id()).into())).await;
    story.see("until they are deleted", pairs(&of_old.tags), "");
    story.see(
        "versions come and go by none of this",
        bucket.stack("a").await,
        "2* 1",
    );
    let marker = bucket.delete("a").await;
    let of_marker = bucket.call(Request::Tags(("a", marker.id()).into())).await;
    story.see("a marker has none", yes(of_marker.error.is_some()), "yes");
    let said = bucket.call(Request::Tags("a".into())).await.said();
    story.see("nor has what it hides", said, "404 NoSuchKey");
}
