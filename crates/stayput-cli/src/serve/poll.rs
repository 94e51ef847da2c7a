//! Messages out of a queue of SQS, each answered by itself.

use std::sync::Arc;
use std::time::Duration;

use s3_documents::notification::parse_body;
use stayput_aws::queue::{AT_ONCE, Queue, Taken};
use tokio::sync::{mpsc, watch};

use super::asked_to_end;
use super::measures::Measures;
use super::tell;
use super::worker::{Fate, Job};

/// SQS waits at most so long for a message.
const WAIT: Duration = Duration::from_secs(20);
/// Nobody else gets a message for so long: longer than judging a batch takes.
const HIDDEN: Duration = Duration::from_secs(12 * 60);
/// A queue that can't be asked is asked again after this.
const PATIENCE: Duration = Duration::from_secs(15);
/// At most so many messages are taken for one batch.
const BATCH: usize = 200;

/// Takes messages until it is stopped. Those at hand are answered then.
pub(super) async fn run(
    queue: Queue,
    jobs: mpsc::Sender<Job>,
    measures: Arc<Measures>,
    mut stopped: watch::Receiver<bool>,
) {
    loop {
        let taken = tokio::select! {
            () = asked_to_end(&mut stopped) => return,
            taken = take(&queue) => taken,
        };
        match taken {
            Ok(messages) => {
                measures.heard(queue.url(), None);
                if !messages.is_empty() && !answer(&queue, messages, &jobs, &measures).await {
                    return;
                }
            }
            Err(why) => {
                measures.heard(queue.url(), Some(&why));
                tell::trouble(&why);
                tokio::select! {
                    () = asked_to_end(&mut stopped) => return,
                    () = tokio::time::sleep(PATIENCE) => {}
                }
            }
        }
    }
}

/// What is there, up to a batch.
async fn take(queue: &Queue) -> Result<Vec<Taken>, String> {
    let mut all = queue.take(WAIT, HIDDEN).await.map_err(|e| e.to_string())?;
    let mut full = all.len() >= AT_ONCE;
    while full && all.len() < BATCH {
        // What was taken is judged, whatever the next call says.
        let Ok(more) = queue.take(Duration::ZERO, HIDDEN).await else {
            break;
        };
        full = more.len() >= AT_ONCE;
        all.extend(more);
    }
    Ok(all)
}

/// Has messages judged. Whether anybody judges any more.
async fn answer(queue: &Queue, taken: Vec<Taken>, jobs: &mpsc::Sender<Job>, measures: &Measures) -> bool {
    let (mut good, mut records) = (Vec::new(), Vec::new());
    for message in &taken {
        match parse_body(message.body.as_bytes()) {
            Ok(read) => {
                good.push(message);
                records.push(read);
            }
            Err(error) => {
                // It comes again, until the queue's redrive policy takes it away.
                measures.refused("malformed");
                tell::trouble(&format!("message {} of {}: {error}", message.id, queue.url()));
            }
        }
    }
    if good.is_empty() {
        return true;
    }
    measures.took("queue", good.len() as u64);
    let (job, fates) = Job::asked(records);
    if jobs.send(job).await.is_err() {
        return false;
    }
    let Ok(fates) = fates.await else {
        return false;
    };
    let (mut done, mut again) = (Vec::new(), Vec::new());
    for (message, fate) in good.iter().zip(&fates) {
        match fate {
            Fate::Done => done.push(*message),
            Fate::Again(after) => again.push((*after, *message)),
        }
    }
    if let Err(error) = queue.done(&done).await {
        tell::trouble(&format!("messages that are done will come again: {error}"));
    }
    // Those that wait for the same look come back together.
    again.sort_by_key(|(after, _)| *after);
    while let Some((after, _)) = again.last().copied() {
        let from = again.partition_point(|(other, _)| *other + Duration::from_secs(1) < after);
        let together: Vec<&Taken> = again.drain(from..).map(|(_, message)| message).collect();
        if let Err(error) = queue.again(&together, after).await {
            tell::trouble(&format!(
                "messages will come again later than they are due: {error}"
            ));
        }
    }
    true
}
