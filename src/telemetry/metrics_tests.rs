//! The exposition text against what dashboards for kubebuilder's managers query. Pure.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Request, Response};
use tower::{Layer, ServiceExt, service_fn};

use super::queue_metrics::Running;
use super::{Metrics, Outcome};

fn metrics() -> Arc<Metrics> {
    Metrics::new().unwrap()
}

fn text(metrics: &Metrics) -> String {
    metrics.encode().unwrap()
}

/// The value of the series spelled exactly so.
fn value(metrics: &Metrics, series: &str) -> Option<f64> {
    text(metrics).lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn every_series_exists_at_zero_before_anything_happened() {
    let metrics = metrics();
    let _controller = metrics.controller("egapp", 32);
    let _queue = metrics.queue("egapp");
    let _leader = metrics.leader("0000.example.com");
    let _watch = metrics.watch("EGApp");
    let _access = metrics.access("Pod", "team");
    for series in [
        r#"controller_runtime_reconcile_total{controller="egapp",result="success"}"#,
        r#"controller_runtime_reconcile_total{controller="egapp",result="error"}"#,
        r#"controller_runtime_reconcile_total{controller="egapp",result="requeue"}"#,
        r#"controller_runtime_reconcile_total{controller="egapp",result="requeue_after"}"#,
        r#"controller_runtime_reconcile_errors_total{controller="egapp"}"#,
        r#"controller_runtime_terminal_reconcile_errors_total{controller="egapp"}"#,
        r#"controller_runtime_reconcile_panics_total{controller="egapp"}"#,
        r#"controller_runtime_reconcile_timeouts_total{controller="egapp"}"#,
        r#"controller_runtime_reconcile_time_seconds_count{controller="egapp"}"#,
        r#"controller_runtime_active_workers{controller="egapp"}"#,
        r#"workqueue_depth{controller="egapp",name="egapp"}"#,
        r#"workqueue_adds_total{controller="egapp",name="egapp"}"#,
        r#"workqueue_retries_total{controller="egapp",name="egapp"}"#,
        r#"workqueue_queue_duration_seconds_count{controller="egapp",name="egapp"}"#,
        r#"workqueue_work_duration_seconds_count{controller="egapp",name="egapp"}"#,
        r#"workqueue_unfinished_work_seconds{controller="egapp",name="egapp"}"#,
        r#"workqueue_longest_running_processor_seconds{controller="egapp",name="egapp"}"#,
        r#"leader_election_master_status{name="0000.example.com"}"#,
        r#"egapp_undecodable_objects{kind="EGApp"}"#,
        r#"egapp_watch_errors_total{kind="EGApp"}"#,
        r#"egapp_watch_forbidden{kind="Pod",namespace="team"}"#,
    ] {
        assert_eq!(value(&metrics, series), Some(0.0), "{series}");
    }
    assert_eq!(
        value(&metrics, r#"controller_runtime_max_concurrent_reconciles{controller="egapp"}"#),
        Some(32.0)
    );
}

#[test]
fn histograms_have_the_buckets_of_controller_runtime() {
    let metrics = metrics();
    let _controller = metrics.controller("egapp", 1);
    let _queue = metrics.queue("egapp");
    assert_eq!(
        bounds(&metrics, "controller_runtime_reconcile_time_seconds"),
        "0.005 0.01 0.025 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.6 0.7 0.8 0.9 1 1.25 1.5 1.75 2 2.5 3 3.5 4 4.5 5 \
         6 7 8 9 10 15 20 25 30 40 50 60 +Inf"
    );
    for family in ["workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"] {
        assert_eq!(
            bounds(&metrics, family),
            "0.00000001 0.0000001 0.000001 0.00001 0.0001 0.001 0.01 0.1 1 10 100 1000 +Inf"
        );
    }
}

fn bounds(metrics: &Metrics, family: &str) -> String {
    let bucket = format!("{family}_bucket{{");
    let text = text(metrics);
    let lines = text.lines().filter(|line| line.starts_with(&bucket));
    lines
        .map(|line| line.split("le=\"").nth(1).unwrap().split('"').next().unwrap())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
#[cfg(target_os = "linux")]
fn the_process_reports_what_the_stock_boards_ask_for() {
    let metrics = metrics();
    assert!(value(&metrics, "process_resident_memory_bytes").unwrap() > 0.0);
    assert!(value(&metrics, "process_cpu_seconds_total").is_some());
}

#[test]
fn each_outcome_counts_where_controller_runtime_counts_it() {
    let result =
        |result| format!(r#"controller_runtime_reconcile_total{{controller="c",result="{result}"}}"#);
    let family = |family| format!(r#"controller_runtime_{family}_total{{controller="c"}}"#);
    let failure = |own: Option<&'static str>| {
        let mut series = vec![result("error"), family("reconcile_errors")];
        series.extend(own.map(family));
        series
    };
    for (outcome, expected) in [
        (Outcome::Success, vec![result("success")]),
        (Outcome::Requeue, vec![result("requeue")]),
        (Outcome::RequeueAfter, vec![result("requeue_after")]),
        (Outcome::Error, failure(None)),
        (Outcome::TerminalError, failure(Some("terminal_reconcile_errors"))),
        (Outcome::Panic, failure(Some("reconcile_panics"))),
        (Outcome::Timeout, failure(Some("reconcile_timeouts"))),
    ] {
        let metrics = metrics();
        metrics.controller("c", 1).finished(outcome, Duration::from_millis(20));
        let text = text(&metrics);
        let counted: Vec<_> = text
            .lines()
            .filter_map(|line| line.strip_suffix(" 1"))
            .filter(|s| s.contains("_total{controller"))
            .collect();
        let mut expected: Vec<_> = expected.iter().map(String::as_str).collect();
        expected.sort_unstable();
        let mut counted_sorted = counted;
        counted_sorted.sort_unstable();
        assert_eq!(counted_sorted, expected, "{outcome:?}");
        assert_eq!(
            value(&metrics, r#"controller_runtime_reconcile_time_seconds_sum{controller="c"}"#),
            Some(0.02)
        );
    }
}

#[test]
fn a_worker_is_active_while_its_guard_lives() {
    let metrics = metrics();
    let controller = metrics.controller("c", 2);
    let series = r#"controller_runtime_active_workers{controller="c"}"#;
    let first = controller.started();
    let second = controller.started();
    assert_eq!(value(&metrics, series), Some(2.0));
    drop(first);
    assert_eq!(value(&metrics, series), Some(1.0));
    drop(second);
    assert_eq!(value(&metrics, series), Some(0.0));
}

#[test]
fn declared_error_classes_start_at_zero() {
    let metrics = metrics();
    let controller = metrics.controller("c", 1);
    controller.declare_error_classes(&["blocked", "transient"]);
    controller.error_class("transient");
    let class = |class| format!(r#"egapp_reconcile_errors_total{{class="{class}",controller="c"}}"#);
    assert_eq!(value(&metrics, &class("blocked")), Some(0.0));
    assert_eq!(value(&metrics, &class("transient")), Some(1.0));
}

#[test]
fn work_in_progress_shows_at_scrape_time_and_moves_to_work_duration_when_done() {
    let metrics = metrics();
    let queue = metrics.queue("c");
    queue.added();
    queue.depth(1);
    let item = queue.taken(Duration::from_millis(5));
    let labels = r#"{controller="c",name="c"}"#;
    assert!(value(&metrics, &format!("workqueue_unfinished_work_seconds{labels}")).unwrap() > 0.0);
    assert!(value(&metrics, &format!("workqueue_longest_running_processor_seconds{labels}")).unwrap() > 0.0);
    assert_eq!(value(&metrics, &format!("workqueue_work_duration_seconds_count{labels}")), Some(0.0));
    drop(item);
    assert_eq!(value(&metrics, &format!("workqueue_unfinished_work_seconds{labels}")), Some(0.0));
    assert_eq!(value(&metrics, &format!("workqueue_work_duration_seconds_count{labels}")), Some(1.0));
    assert_eq!(value(&metrics, &format!("workqueue_queue_duration_seconds_sum{labels}")), Some(0.005));
    assert_eq!(value(&metrics, &format!("workqueue_depth{labels}")), Some(1.0));
}

#[test]
fn unfinished_work_is_the_sum_and_the_longest_is_the_oldest() {
    let queue = metrics().queue("c");
    let in_flight = queue.in_flight();
    let start = Instant::now();
    in_flight.begin(start);
    let second = in_flight.begin(start + Duration::from_secs(4));
    let now = start + Duration::from_secs(10);
    assert_eq!(
        in_flight.running(now),
        Running { total: Duration::from_secs(16), longest: Duration::from_secs(10) }
    );
    in_flight.end(second);
    assert_eq!(
        in_flight.running(now),
        Running { total: Duration::from_secs(10), longest: Duration::from_secs(10) }
    );
}

#[test]
fn a_watch_counts_its_errors_and_shows_what_it_cannot_read() {
    let metrics = metrics();
    let watch = metrics.watch("EGApp");
    watch.error();
    watch.undecodable(3);
    watch.undecodable(2);
    assert_eq!(value(&metrics, r#"egapp_watch_errors_total{kind="EGApp"}"#), Some(1.0));
    assert_eq!(value(&metrics, r#"egapp_undecodable_objects{kind="EGApp"}"#), Some(2.0));
}

#[test]
fn a_missing_right_shows_by_what_and_where() {
    let metrics = metrics();
    let access = metrics.access("Pod", "team");
    let forbidden = || value(&metrics, r#"egapp_watch_forbidden{kind="Pod",namespace="team"}"#);
    access.refused();
    access.refused();
    assert_eq!(forbidden(), Some(1.0));
    access.granted();
    assert_eq!(forbidden(), Some(0.0));
    metrics.denials().denied("patch", "deployments", "team");
    let series = r#"egapp_forbidden_requests_total{namespace="team",resource="deployments",verb="patch"}"#;
    assert_eq!(value(&metrics, series), Some(1.0));
}

#[tokio::test]
async fn requests_count_by_code_host_and_method_and_unanswered_ones_as_error() {
    let metrics = metrics();
    let layer = metrics.client_layer("api:6443");
    let answering = layer.layer(service_fn(|_: Request<()>| async {
        Ok::<_, Infallible>(Response::builder().status(409).body(()).unwrap())
    }));
    answering.oneshot(Request::put("/").body(()).unwrap()).await.unwrap();
    let silent =
        layer.layer(service_fn(|_: Request<()>| async { Err::<Response<()>, _>("connection refused") }));
    silent.oneshot(Request::get("/").body(()).unwrap()).await.unwrap_err();
    let series = |code, method| {
        format!(r#"rest_client_requests_total{{code="{code}",host="api:6443",method="{method}"}}"#)
    };
    assert_eq!(value(&metrics, &series("409", "PUT")), Some(1.0));
    assert_eq!(value(&metrics, &series("<error>", "GET")), Some(1.0));
}
