//! The text of the probes against controller-runtime's. Pure.

use axum::http::StatusCode;

use super::gates::{Gates, Position};
use super::health::{Checks, Report, report, report_one};

fn checks(failing: Option<&str>) -> Checks {
    let caches = failing.map_or(Position::Open, |reason| Position::Shut(reason.to_owned()));
    Checks::from([("caches-synced", caches), ("crd-established", Position::Open)])
}

fn ok(body: &str) -> Report {
    Report { status: StatusCode::OK, body: body.to_owned() }
}

fn failed(body: &str) -> Report {
    Report { status: StatusCode::INTERNAL_SERVER_ERROR, body: body.to_owned() }
}

#[test]
fn passing_checks_answer_ok() {
    assert_eq!(report(&checks(None), ""), ok("ok"));
}

#[test]
fn verbose_names_each_check() {
    let body = "[+]caches-synced ok\n[+]crd-established ok\nhealthz check passed\n";
    assert_eq!(report(&checks(None), "verbose"), ok(body));
    assert_eq!(report(&checks(None), "verbose=true"), ok(body));
}

#[test]
fn a_failing_check_is_named_with_its_reason_without_being_asked() {
    let body = "[-]caches-synced failed: no list yet\n[+]crd-established ok\nhealthz check failed\n";
    assert_eq!(report(&checks(Some("no list yet")), ""), failed(body));
}

#[test]
fn a_degraded_check_passes_and_says_what_is_amiss_to_who_asks() {
    let checks = Checks::from([("caches-synced", Position::Degraded("namespace b".to_owned()))]);
    assert_eq!(report(&checks, ""), ok("ok"));
    let body = "[+]caches-synced ok, degraded: namespace b\nhealthz check passed\n";
    assert_eq!(report(&checks, "verbose"), ok(body));
    assert_eq!(report_one(&checks, "caches-synced"), ok("ok"));
}

#[test]
fn an_excluded_check_cannot_fail_the_whole() {
    let body = "[+]caches-synced excluded: ok\n[+]crd-established ok\nhealthz check passed\n";
    assert_eq!(report(&checks(Some("no list yet")), "verbose&exclude=caches-synced"), ok(body));
}

#[test]
fn an_unknown_exclusion_is_pointed_out() {
    let body = "[+]caches-synced ok\n[+]crd-established ok\n\
                warn: some health checks cannot be excluded: no matches for \"a\",\"b\"\nhealthz check passed\n";
    assert_eq!(report(&checks(None), "verbose&exclude=b&exclude=a"), ok(body));
}

#[test]
fn one_check_can_be_asked_alone() {
    let checks = checks(Some("no list yet"));
    assert_eq!(report_one(&checks, "crd-established"), ok("ok"));
    assert_eq!(report_one(&checks, "caches-synced"), failed("internal server error: no list yet\n"));
    assert_eq!(report_one(&checks, "other").status, StatusCode::NOT_FOUND);
}

#[test]
fn a_gate_is_shut_until_it_reports_and_its_clones_are_the_same_gate() {
    let gates = Gates::default();
    let gate = gates.add("crd-established");
    let position = |gates: &Gates| gates.snapshot().gates["crd-established"].clone();
    assert_eq!(position(&gates), Position::Shut("nothing is known yet".to_owned()));
    gate.clone().ready();
    assert_eq!(position(&gates), Position::Open);
    gate.not_ready("the CRD is gone");
    assert_eq!(position(&gates), Position::Shut("the CRD is gone".to_owned()));
    gate.degraded("half of it is back");
    assert_eq!(position(&gates), Position::Degraded("half of it is back".to_owned()));
}
