//! DeleteObjects.

use crate::request::{Answer, Request, Which};
use crate::story::{Server, Setup, Story, yes};

fn told(answer: &Answer) -> String {
    if answer.error.is_some() {
        return answer.said();
    }
    let mut told: Vec<String> = answer
        .batch
        .iter()
        .map(|of| {
            let what = match (&of.error, of.is_marker) {
                (Some(code), _) => code.clone(),
                (None, true) => "marker".to_owned(),
                (None, false) => "version".to_owned(),
            };
            format!("{} {what}", of.key)
        })
        .collect();
    told.sort();
    told.join(", ")
}

pub(crate) async fn a_batch_hides_keys_and_removes_versions<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    bucket.put("hidden", "1").await;
    let old = bucket.put("purged", "1").await;
    bucket.put("purged", "22").await;
    bucket.put("shown", "1").await;
    let marker = bucket.delete("shown").await;
    let all: Vec<Which> = vec![
        "hidden".into(),
        "never-there".into(),
        ("purged", old.id()).into(),
        ("shown", marker.id()).into(),
    ];
    let answer = bucket.call(Request::DeleteAll { all, quiet: false }).await;
    story.see(
        "what it tells",
        told(&answer),
        "hidden marker, never-there marker, purged version, shown marker",
    );
    let of = |key: &str| {
        answer
            .batch
            .iter()
            .find(|of| of.key == key)
            .cloned()
            .unwrap_or_default()
    };
    story.see(
        "the id of a marker that it made",
        yes(of("hidden").marker.is_some()),
        "yes",
    );
    story.see(
        "the id of a marker that it removed",
        yes(of("shown").marker == marker.version),
        "yes",
    );
    story.see(
        "the id of a version that it removed",
        yes(of("purged").version == old.version),
        "yes",
    );
    story.see("what it hid", bucket.stack("hidden").await, "M* 1");
    story.see("where nothing was", bucket.stack("never-there").await, "M*");
    story.see("what it removed", bucket.stack("purged").await, "2*");
    story.see("what it showed", bucket.stack("shown").await, "1*");
}

pub(crate) async fn a_quiet_batch_tells_errors_only<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    bucket.put("a", "1").await;
    let all = vec!["a".into(), "b".into()];
    let answer = bucket.call(Request::DeleteAll { all, quiet: true }).await;
    story.see("what it tells", told(&answer), "");
    story.see("what it hid", bucket.stack("a").await, "M* 1");
}

pub(crate) async fn a_batch_of_more_than_a_thousand<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let all = |of: &str, n: u32| (0..n).map(|n| format!("{of}/{n}").as_str().into()).collect();
    let request = Request::DeleteAll {
        all: all("too-many", 1001),
        quiet: true,
    };
    story.see(
        "it is refused",
        bucket.call(request).await.said(),
        "400 MalformedXML",
    );
    story.see("and does nothing", bucket.stack("too-many/7").await, "");
    let request = Request::DeleteAll {
        all: all("just-so", 1000),
        quiet: true,
    };
    story.see("one of a thousand", bucket.call(request).await.said(), "ok");
    story.see("hides all", bucket.stack("just-so/999").await, "M*");
}
