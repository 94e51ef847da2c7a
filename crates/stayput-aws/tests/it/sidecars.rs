//! Sidecars on real servers: their ETags, lengths and bytes come as they were written.

use std::time::Duration;

use stayput_aws::s3::S3;
use stayput_guard::batch::Done;
use stayput_guard::port::{Journal, Reading, VersionsOf};

use crate::server::{Server, on_servers};
use crate::world::{JOB, Who, World, verdict_on};

on_servers! {
    [MiniStack, Ceph, SeaweedFs]
    what_one_process_read_the_next_one_reads_by_its_sidecar;
}

/// Keys and versions of all sidecars: one that is refused is written again.
async fn sidecars(world: &World) -> Vec<(String, String)> {
    let of = VersionsOf {
        bucket: &world.bucket.name,
        prefix: "stayput/sidecar/",
        by_directory: false,
        after_key: None,
        pages: None,
    };
    let listing = S3::new(&world.bucket.connection).versions(of).await.unwrap();
    let rows = listing.entries.into_iter();
    rows.map(|row| (row.key, row.id.as_str().to_owned())).collect()
}

async fn what_one_process_read_the_next_one_reads_by_its_sidecar(server: Server) {
    let Some(url) = server.url() else { return };
    let world = World::at(&url).await;
    world.upload(|_| true).await;
    let needed: Vec<String> = world.named_by("chk-5").into_iter().take(2).collect();
    let mut written = Vec::new();
    for key in &needed {
        let marker = world.bucket.delete(key).await;
        let at = S3::new(&world.bucket.connection);
        let at = world
            .bucket
            .history(&at, key)
            .await
            .hidden()
            .expect("a marker")
            .above_data
            .last_modified;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let told = world.told(Who::Somebody, key, &marker, at);
        let report = world.guard(Duration::from_secs(1)).handle(&[told]).await;
        let done = &verdict_on(&report, &world.bucket.at(key)).done;
        assert!(matches!(done, Done::Copied { .. }), "{done:?}");
        written.push(sidecars(&world).await);
    }
    assert!(!written[0].is_empty(), "{JOB}");
    assert_eq!(written[0], written[1], "none was written again");

    // One that is damaged is, by the next process.
    let (place, _) = &written[0][0];
    let name = place.strip_prefix("stayput/").expect("below the control prefix");
    world.journal().write(name, b"STAYREFS".to_vec()).await.unwrap();
    let marker = world.bucket.delete(&needed[0]).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let history = world
        .bucket
        .history(&S3::new(&world.bucket.connection), &needed[0])
        .await;
    let at = history.hidden().expect("a marker").above_data.last_modified;
    let told = world.told(Who::Somebody, &needed[0], &marker, at);
    world.guard(Duration::from_secs(1)).handle(&[told]).await;
    let again = sidecars(&world).await;
    assert_eq!(again.len(), written[0].len() + 2, "{again:?}");
}
