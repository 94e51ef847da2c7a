//! Versions and delete markers.

use crate::request::{Condition, Request};
use crate::story::{Server, Setup, Story, put, text, versions_below, yes};

pub(crate) async fn a_write_keeps_what_was_there<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let old = bucket.put("a", "1").await;
    let new = bucket.put("a", "22").await;
    story.see("the write tells the version", yes(new.version.is_some()), "yes");
    story.see(
        "each write has an id of its own",
        yes(old.version != new.version),
        "yes",
    );
    story.see("the versions", bucket.stack("a").await, "2* 1");
    story.see("what is visible", text(&bucket.get("a").await), "22");
    story.see(
        "the old one by its id",
        text(&bucket.get(("a", old.id())).await),
        "1",
    );
    let head = bucket.head(("a", old.id())).await;
    story.see(
        "the version that a head is about",
        yes(head.version == old.version),
        "yes",
    );
    story.see("the etag is that of the write", yes(head.etag == old.etag), "yes");
}

pub(crate) async fn a_delete_hides_and_the_version_stays_readable<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let data = bucket.put("a", "1").await;
    let marker = bucket.delete("a").await;
    story.see(
        "the delete says that it made a marker",
        yes(marker.is_marker == Some(true)),
        "yes",
    );
    story.see("and tells its id", yes(marker.version.is_some()), "yes");
    story.see("the versions", bucket.stack("a").await, "M* 1");
    let hidden = bucket.get("a").await;
    story.see("a get", hidden.said(), "404 NoSuchKey");
    story.see(
        "says that a marker hides it",
        yes(hidden.is_marker == Some(true)),
        "yes",
    );
    story.see("a head", bucket.head("a").await.said(), "404");
    story.see(
        "the version by its id",
        text(&bucket.get(("a", data.id())).await),
        "1",
    );
    let of_marker = bucket.get(("a", marker.id())).await;
    story.see(
        "a get of the marker by its id",
        of_marker.said(),
        "405 MethodNotAllowed",
    );
    let of_marker = bucket.head(("a", marker.id())).await;
    story.see("a head of the marker by its id", of_marker.said(), "405");
    let never = bucket.get("never").await;
    story.see("a get of what was never there", never.said(), "404 NoSuchKey");
    story.see("which no marker hides", yes(never.is_marker == Some(true)), "no");
}

pub(crate) async fn a_second_delete_puts_a_second_marker<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    bucket.put("a", "1").await;
    let first = bucket.delete("a").await;
    let second = bucket.delete("a").await;
    story.see(
        "it has an id of its own",
        yes(first.version != second.version),
        "yes",
    );
    story.see("the versions", bucket.stack("a").await, "M* M 1");
}

pub(crate) async fn a_delete_of_nothing_leaves_a_lone_marker<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let marker = bucket.delete("a").await;
    story.see("the delete", marker.said(), "ok");
    story.see("the versions", bucket.stack("a").await, "M*");
}

pub(crate) async fn deleting_the_marker_shows_the_object_again<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let data = bucket.put("a", "1").await;
    let marker = bucket.delete("a").await;
    let removed = bucket.delete(("a", marker.id())).await;
    story.see(
        "the delete says that it was a marker",
        yes(removed.is_marker == Some(true)),
        "yes",
    );
    story.see("and tells its id", yes(removed.version == marker.version), "yes");
    story.see("the versions", bucket.stack("a").await, "1*");
    let head = bucket.head("a").await;
    story.see(
        "the version is the old one",
        yes(head.version == data.version),
        "yes",
    );
}

pub(crate) async fn deleting_a_version_is_for_good<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let old = bucket.put("a", "1").await;
    let new = bucket.put("a", "22").await;
    let removed = bucket.delete(("a", new.id())).await;
    story.see(
        "the delete says that it was no marker",
        yes(removed.is_marker != Some(true)),
        "yes",
    );
    story.see("the older one is current", bucket.stack("a").await, "1*");
    story.see(
        "a get by the id that is gone",
        bucket.get(("a", new.id())).await.said(),
        "404 NoSuchVersion",
    );
    story.see(
        "a second delete of it",
        bucket.delete(("a", new.id())).await.said(),
        "ok",
    );
    story.see("which changes nothing", bucket.stack("a").await, "1*");
    bucket.delete(("a", old.id())).await;
    story.see("nothing is left", bucket.stack("a").await, "");
}

pub(crate) async fn keys_are_kept_as_they_are<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let keys = [
        ("a space and a plus", "team a+b/50% done"),
        ("escapes that are none", "a%2Fb%20c"),
        ("letters of other scripts", "k\u{e4}se/\u{1f9c0}"),
        ("signs of markup", "a<b>&\"c'"),
        ("two slashes in a row", "a//b"),
        ("a slash at the end", "directory/"),
        ("dots", "a/./b..c"),
    ];
    for (what, key) in keys {
        let written = bucket.put(key, "1").await;
        let seen = if written.error.is_some() {
            written.said()
        } else {
            let listed = bucket.call(versions_below(key)).await;
            let read = bucket.get((key, written.id())).await;
            let is_same = listed.items.len() == 1 && listed.items[0].key == key && text(&read) == "1";
            (if is_same { "kept" } else { "changed" }).to_owned()
        };
        story.see(what, seen, "kept");
    }
}

pub(crate) async fn ranges_of_a_version_are_read<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let old = bucket.put("a", "0123456789").await;
    bucket.put("a", "other").await;
    let range = async |which, range| {
        let request = Request::Get {
            which,
            condition: Condition::None,
            range: Some(range),
        };
        bucket.call(request).await
    };
    story.see(
        "of what is visible",
        text(&range("a".into(), (1, 3)).await),
        "the",
    );
    let old = || ("a", old.id()).into();
    story.see("of an older version", text(&range(old(), (2, 4)).await), "234");
    story.see("over its end", text(&range(old(), (8, 99)).await), "89");
    story.see(
        "beyond it",
        range(old(), (10, 12)).await.said(),
        "416 InvalidRange",
    );
    let empty = bucket.call(put("empty", "")).await;
    story.see(
        "an object of no bytes",
        text(&bucket.get(("empty", empty.id())).await),
        "",
    );
}
