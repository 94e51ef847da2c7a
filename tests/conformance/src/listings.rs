//! Listings of versions and of objects.

use crate::request::{Answer, ItemKind, Request};
use crate::story::{Server, Setup, Story, Tried, row, versions_below};

/// `key row` of each item.
fn items(answer: &Answer) -> String {
    if answer.error.is_some() {
        return answer.said();
    }
    let rows = answer.items.iter().map(|item| match item.kind {
        ItemKind::Prefix => item.key.clone(),
        _ => format!("{} {}", item.key, row(item)),
    });
    rows.collect::<Vec<_>>().join(", ")
}

fn keys(answer: &Answer) -> String {
    if answer.error.is_some() {
        return answer.said();
    }
    answer
        .items
        .iter()
        .map(|item| item.key.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

async fn fill<S: Server>(bucket: &Tried<'_, S>) {
    bucket.put("b", "1").await;
    bucket.put("a", "1").await;
    bucket.delete("a").await;
    bucket.put("a", "22").await;
    bucket.delete("c").await;
    bucket.put("b", "333").await;
}

pub(crate) async fn versions_come_newest_first_in_the_order_of_keys<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    fill(&bucket).await;
    let all = bucket.call(versions_below("")).await;
    story.see("all", items(&all), "a 2*, a M, a 1, b 3*, b 1, c M*");
    story.see("it is the last page", all.next.is_none(), true);
    story.see(
        "below a prefix",
        items(&bucket.call(versions_below("b")).await),
        "b 3*, b 1",
    );
    story.see(
        "below one that fits nothing",
        items(&bucket.call(versions_below("x")).await),
        "",
    );
}

pub(crate) async fn pages_of_versions_go_on_where_the_last_ended<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    fill(&bucket).await;
    let mut after = None;
    let mut pages = Vec::new();
    // More pages than there can be rows.
    for _ in 0..9 {
        let request = Request::ListVersions {
            prefix: String::new(),
            by_directory: false,
            after,
            at_most: 2,
        };
        let page = bucket.call(request).await;
        pages.push(items(&page));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    story.see(
        "pages of two",
        pages.join("; "),
        "a 2*, a M; a 1, b 3*; b 1, c M*",
    );
    let request = Request::ListVersions {
        prefix: String::new(),
        by_directory: false,
        after: Some(("a".to_owned(), None)),
        at_most: 1000,
    };
    story.see(
        "after a key",
        items(&bucket.call(request).await),
        "b 3*, b 1, c M*",
    );
}

pub(crate) async fn directories_of_versions_and_of_what_is_visible<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    for key in ["d/chk-1/_metadata", "d/chk-2/_metadata", "d/file", "e"] {
        bucket.put(key, "1").await;
    }
    bucket.delete("d/chk-1/_metadata").await;
    let versions = Request::ListVersions {
        prefix: "d/".to_owned(),
        by_directory: true,
        after: None,
        at_most: 1000,
    };
    let mut answer = bucket.call(versions).await;
    // Their order among rows isn't told by every client.
    answer.items.sort_by(|a, b| a.key.cmp(&b.key));
    story.see("of versions", items(&answer), "d/chk-1/, d/chk-2/, d/file 1*");
    let list = |prefix: &str| Request::List {
        prefix: prefix.to_owned(),
        by_directory: true,
        after: None,
        at_most: 1000,
    };
    let mut answer = bucket.call(list("d/")).await;
    answer.items.sort_by(|a, b| a.key.cmp(&b.key));
    story.see("of what is visible", keys(&answer), "d/chk-2/ d/file");
    story.see(
        "of the beginning of a name",
        keys(&bucket.call(list("d/chk-")).await),
        "d/chk-2/",
    );
}

pub(crate) async fn pages_of_objects<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    for key in ["a", "a-b", "a/x", "a0", "Z", "\u{e4}"] {
        bucket.put(key, "1").await;
    }
    bucket.put("hidden", "1").await;
    bucket.delete("hidden").await;
    let list = |after: Option<&str>, at_most| Request::List {
        prefix: String::new(),
        by_directory: false,
        after: after.map(str::to_owned),
        at_most,
    };
    let all = bucket.call(list(None, 1000)).await;
    story.see(
        "all, in the order of their bytes",
        keys(&all),
        "Z a a-b a/x a0 \u{e4}",
    );
    let first = bucket.call(list(None, 4)).await;
    story.see("the first page", keys(&first), "Z a a-b a/x");
    story.see("it isn't the last", first.next.is_some(), true);
    story.see(
        "after a key",
        keys(&bucket.call(list(Some("a-b"), 2)).await),
        "a/x a0",
    );
    story.see(
        "after a key that isn't there",
        keys(&bucket.call(list(Some("a."), 2)).await),
        "a/x a0",
    );
}
