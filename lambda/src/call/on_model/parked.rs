//! Messages that wait, with a queue to park them in.

use super::*;

/// As the queue delivers what was parked.
fn parked_message(id: &str, body: &str, times: u32) -> Value {
    json!({"messageId": id, "eventSource": "aws:sqs", "body": body,
           "messageAttributes": {"stayput-parked": {"stringValue": times.to_string(), "dataType": "Number"}}})
}

fn of_messages(messages: &[Value]) -> Vec<u8> {
    json!({"Records": messages}).to_string().into_bytes()
}

#[tokio::test]
async fn what_waits_is_parked_as_it_came_until_it_is_due_and_then_comes_back() {
    let world = World::with_a_job();
    let mut function = world.function_that(true);
    let body = world.delete(FLINK, NEEDED).to_string();
    world.model.advance(Duration::from_secs(40));
    listen();
    let answer = function.call(&queue(&[("early", body.clone())]), "r").await;
    assert_eq!(answer, Ok(batch(Vec::new())));
    assert!(!world.is_visible(NEEDED));
    let parked = PARKED.take();
    assert_eq!(parked, [(body.clone(), 260, 1)]);
    let lines = logged();
    let summary = lines.iter().find_map(|l| l.get("summary")).unwrap();
    assert_eq!((&summary["parked"], &summary["again"]), (&json!(1), &json!(0)));
    assert!(lines.iter().any(|l| l["Parked"] == 1), "{lines:#?}");

    world.model.advance(Duration::from_secs(260));
    let answer = function
        .call(&of_messages(&[parked_message("m2", &body, 1)]), "r")
        .await;
    assert_eq!(answer, Ok(batch(Vec::new())));
    assert!(world.is_visible(NEEDED));
    assert!(PARKED.take().is_empty());
}

#[tokio::test]
async fn what_the_parked_queue_does_not_take_fails_and_the_message_beside_it_is_parked() {
    let world = World::with_a_job();
    let mut function = world.function_that(true);
    let needed = world.delete(FLINK, NEEDED).to_string();
    world.model.plan(
        Fault::answers(PortErrorKind::Throttled)
            .on("ListObjectsV2")
            .always(),
    );
    let other = world.delete(FLINK, UNNEEDED).to_string();
    REFUSED.set(UNNEEDED.to_owned());
    listen();
    let payload = queue(&[
        ("taken", needed.clone()),
        ("refused", other),
        ("poison", "{".to_owned()),
    ]);
    let answer = function.call(&payload, "r").await.unwrap();
    assert_eq!(answer, batch(["poison", "refused"].map(str::to_owned).to_vec()));
    assert_eq!(PARKED.take(), [(needed, 300, 1)]);
    let lines = logged();
    let summary = lines.iter().find_map(|l| l.get("summary")).unwrap();
    assert_eq!((&summary["parked"], &summary["again"]), (&json!(1), &json!(1)));
    assert!(
        lines
            .iter()
            .any(|l| l["level"] == "ERROR"
                && l["message"].as_str().is_some_and(|m| m.contains("access denied"))),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn after_the_sixth_time_the_sweep_takes_it_and_nothing_is_parked_any_more() {
    let world = World::with_a_job();
    let mut function = world.function_that(true);
    let body = world.delete(FLINK, NEEDED).to_string();
    listen();
    let payload = of_messages(&[
        parked_message("once more", &body, 5),
        parked_message("enough", &body, 6),
    ]);
    assert_eq!(function.call(&payload, "r").await, Ok(batch(Vec::new())));
    assert_eq!(PARKED.take(), [(body, 300, 6)]);
    let lines = logged();
    let summary = lines.iter().find_map(|l| l.get("summary")).unwrap();
    assert_eq!(
        (&summary["parked"], &summary["left_to_sweep"]),
        (&json!(1), &json!(1))
    );
    assert!(
        lines.iter().any(|l| l["message"]
            .as_str()
            .is_some_and(|m| m.contains("left to the sweep") && m.contains("6 times"))),
        "{lines:#?}"
    );

    // And the sweep does.
    assert!(!world.is_visible(NEEDED));
    world.model.advance(Duration::from_secs(3600));
    let schedule = json!({"detail-type": "Scheduled Event", "source": "aws.scheduler", "detail": {}});
    let schedule = schedule.to_string().into_bytes();
    assert_eq!(function.call(&schedule, "r").await, Ok(Value::Null));
    assert!(world.is_visible(NEEDED));
}
