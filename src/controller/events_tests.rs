use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::time::timeout;

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
        uid: Some(format!("uid of {name}")),
        ..ObjectReference::default()
    }
}

fn nobody() -> Client {
    let nobody = tower::service_fn(async |_: http::Request<kube::client::Body>| {
        Err::<http::Response<kube::client::Body>, _>("nobody answers")
    });
    Client::new(nobody, "team")
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
    assert_eq!(events.lock().warnings.len(), 25);
    assert_eq!(dropped(&metrics), "5");
    events.tell(regarding("other"), &mut Bucket::default(), news(Type::Normal));
    assert_eq!(events.lock().normal.len(), 1, "others have their own limit");
}

#[test]
fn good_news_takes_no_room_from_warnings_and_is_told_after_them() {
    let (metrics, events) = events();
    for type_ in [Type::Normal, Type::Warning] {
        for _ in 0..=WAITING {
            events.tell(regarding("web"), &mut Bucket::default(), news(type_));
        }
    }
    assert_eq!(dropped(&metrics), "2", "one of each type");
    let types: Vec<_> = std::iter::from_fn(|| events.lock().pop()).map(|told| told.news.type_).collect();
    assert_eq!(types, [[Type::Warning; WAITING], [Type::Normal; WAITING]].concat());
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_a_thousand_is_sent_within_ten_seconds_four_at_a_time() {
    let (metrics, events) = events();
    for number in 0..1000 {
        events.tell(regarding(&format!("web-{number}")), &mut Bucket::default(), news(Type::Normal));
    }
    let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let slow = {
        let (open, most) = (Arc::clone(&open), Arc::clone(&most));
        tower::service_fn(move |_: http::Request<kube::client::Body>| {
            let (open, most) = (Arc::clone(&open), Arc::clone(&most));
            async move {
                most.fetch_max(open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                sleep(Duration::from_millis(30)).await;
                open.fetch_sub(1, Ordering::Relaxed);
                let answer =
                    http::Response::builder().status(201).body(kube::client::Body::from(b"{}".to_vec()));
                Ok::<_, http::Error>(answer.unwrap())
            }
        })
    };
    let run = events.publish(Client::new(slow, "team"), CancellationToken::new());
    assert!(timeout(Duration::from_secs(10), run).await.is_err(), "it goes on until it is stopped");
    let text = metrics.encode().unwrap();
    assert!(text.contains(r#"egapp_events_total{controller="c",result="published"} 1000"#), "{text}");
    assert_eq!(most.load(Ordering::Relaxed), REQUESTS);
}

#[tokio::test]
async fn no_two_events_have_the_same_name_and_none_is_too_long_for_the_api_server() {
    let (_, events) = events();
    for note in ["a", "b"] {
        let news = News { note: note.to_owned(), ..news(Type::Normal) };
        events.tell(regarding("web"), &mut Bucket::default(), news);
    }
    let long = News { note: "→".repeat(1000), ..news(Type::Normal) };
    events.tell(regarding(&"a-".repeat(120)), &mut Bucket::default(), long);
    let writer = Writer::new(nobody(), "reporter");
    let next = || writer.event(events.lock().pop().unwrap());
    assert_ne!(next().metadata.name, next().metadata.name);
    let long = next();
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
    let run = events.publish(nobody(), CancellationToken::new());
    assert!(timeout(Duration::from_secs(1), run).await.is_err(), "it goes on until it is stopped");
    let text = metrics.encode().unwrap();
    assert!(text.contains(r#"egapp_events_total{controller="c",result="failed"} 12"#), "{text}");
}
