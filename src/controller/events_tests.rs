use std::sync::Arc;

use super::*;
use crate::telemetry::Metrics;

fn events() -> (Arc<Metrics>, Events) {
    let metrics = Metrics::new().unwrap();
    let events = Events::new("reporter", metrics.events("c"));
    (metrics, events)
}

fn dropped(metrics: &Metrics) -> String {
    let text = metrics.encode().unwrap();
    let line = text.lines().find(|line| line.contains("egapp_events_total") && line.contains("\"dropped\""));
    line.unwrap().rsplit(' ').next().unwrap().to_owned()
}

fn news(type_: Type) -> News {
    News { type_, reason: "Reason".to_owned(), action: "Acting", note: "note".to_owned() }
}

fn regarding(name: &str) -> ObjectReference {
    ObjectReference {
        namespace: Some("team".to_owned()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}

fn told(name: &str, note: &str) -> Told {
    let news = News { note: note.to_owned(), ..news(Type::Normal) };
    Told { regarding: regarding(name), news, at: Timestamp::UNIX_EPOCH }
}

fn writer() -> Writer {
    let nobody = tower::service_fn(async |_: http::Request<kube::client::Body>| {
        Err::<http::Response<kube::client::Body>, _>("nobody answers")
    });
    Writer::new(Client::new(nobody, "team"), "reporter")
}

#[test]
fn a_bucket_gives_its_burst_at_once_and_then_one_at_a_time() {
    let (mut bucket, start) = (Bucket::default(), Instant::now());
    let rate = Rate { burst: 3, every: Duration::from_secs(10) };
    for _ in 0..3 {
        assert_eq!(bucket.take(rate, start), Ok(()));
    }
    assert_eq!(bucket.take(rate, start), Err(rate.every));
    assert_eq!(bucket.take(rate, start + rate.every / 2), Err(rate.every / 2));
    assert_eq!(bucket.take(rate, start + rate.every), Ok(()));
    assert_eq!(bucket.take(rate, start + rate.every), Err(rate.every));
    let later = start + rate.every * 100;
    let burst = (0..10).filter(|_| bucket.take(rate, later).is_ok()).count();
    assert_eq!(burst, 3, "rest saves up no more than a burst");
}

#[test]
fn an_object_that_never_comes_to_rest_is_told_of_no_more_after_a_burst() {
    let ((metrics, events), mut limit) = (events(), Bucket::default());
    for _ in 0..30 {
        events.tell(regarding("web"), &mut limit, news(Type::Warning));
    }
    assert_eq!(events.lock().len(), 25);
    assert_eq!(dropped(&metrics), "5");
    events.tell(regarding("other"), &mut Bucket::default(), news(Type::Normal));
    assert_eq!(events.lock().len(), 26, "others have their own limit");
}

#[test]
fn when_many_wait_the_warnings_have_room_left() {
    let (metrics, events) = events();
    for _ in 0..WAITING {
        events.tell(regarding("web"), &mut Bucket::default(), news(Type::Normal));
    }
    assert_eq!(events.lock().len(), WAITING / 2);
    for _ in 0..WAITING {
        events.tell(regarding("web"), &mut Bucket::default(), news(Type::Warning));
    }
    assert_eq!(events.lock().len(), WAITING);
    assert_eq!(dropped(&metrics), WAITING.to_string());
}

#[tokio::test]
async fn no_two_events_have_the_same_name_and_none_is_too_long_for_the_api_server() {
    let mut writer = writer();
    let (first, second) = (writer.event(told("web", "a")), writer.event(told("web", "b")));
    assert_ne!(first.metadata.name, second.metadata.name);
    let long = writer.event(told(&"a-".repeat(120), &"→".repeat(1000)));
    let (name, note) = (long.metadata.name.unwrap(), long.note.unwrap());
    assert!(name.len() <= 253 && !name.contains("-."), "{name}");
    assert_eq!(note.len(), 1023, "the last whole character within 1024 bytes");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_sent_is_counted_and_does_not_hold_up_the_next() {
    let (metrics, events) = events();
    for _ in 0..12 {
        events.tell(regarding("web"), &mut Bucket::default(), news(Type::Normal));
    }
    let client = writer().client;
    let run = events.publish(client, CancellationToken::new());
    assert!(timeout(Duration::from_secs(1), run).await.is_err(), "it goes on until it is stopped");
    let text = metrics.encode().unwrap();
    assert!(text.contains(r#"egapp_events_total{controller="c",result="failed"} 12"#), "{text}");
}
