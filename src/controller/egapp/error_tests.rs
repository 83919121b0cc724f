use std::time::Duration;

use kube::core::Status;
use serde_json::{Value, json};

use super::{Call, Disposition, Error};
use crate::controller::egapp::validate::SpecError;
use crate::controller::key::ObjectKey;
use egapp_api::v1alpha1::Reason;

const TRANSIENT: Disposition = Disposition::Transient { at_least: Duration::ZERO };

fn key() -> ObjectKey {
    ObjectKey::new("team", "web")
}

/// An error as the client makes it of an API server's answer.
fn answer(code: u16, message: &str, details: &Value) -> Error {
    let status: Status = serde_json::from_value(json!({
        "status": "Failure", "code": code, "message": message, "reason": "", "details": details,
    }))
    .unwrap();
    Error::Call {
        call: Call::new("apply", "Deployment", &key()),
        source: Box::new(kube::Error::Api(Box::new(status))),
    }
}

fn assert_is(error: &Error, disposition: Disposition, reason: Reason) {
    assert_eq!((error.disposition(), error.reason()), (disposition, reason), "{error:?}");
}

fn assert_all(cases: impl IntoIterator<Item = (Error, Disposition, Reason)>) {
    for (error, disposition, reason) in cases {
        assert_is(&error, disposition, reason);
    }
}

const PAUSE: Duration = Duration::from_secs(4);

#[test]
fn what_we_find_ourselves_has_its_disposition_and_reason() {
    let kind = "Deployment";
    let call = || Call::new("apply", kind, &key());
    assert_all([
        (Error::Spec(SpecError::NegativeReplicas(-1)), Disposition::TerminalSpec, Reason::InvalidSpec),
        (
            Error::NameConflict { kind, key: key(), owner: None },
            Disposition::TerminalCluster,
            Reason::NameConflict,
        ),
        (
            Error::Overridden { kind, key: key(), field: "spec.replicas".into() },
            Disposition::TerminalCluster,
            Reason::Overridden,
        ),
        (
            Error::Contested { kind, key: key(), field: "spec.replicas".into(), wait: PAUSE },
            Disposition::Contested { after: PAUSE },
            Reason::Overridden,
        ),
        (Error::Moved { kind, key: key() }, TRANSIENT, Reason::Retrying),
        (Error::NoAnswer { call: call(), after: Duration::from_secs(20) }, TRANSIENT, Reason::Retrying),
    ]);
}

#[test]
fn refusals_without_details_have_their_disposition_and_reason() {
    let deny = "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no";
    let right = "deployments.apps \"web\" is forbidden: User \"u\" cannot patch resource \"deployments\" in the namespace \"team\"";
    let quota =
        "deployments.apps \"web\" is forbidden: exceeded quota: q, requested: a=1, used: a=1, limited: a=1";
    let cases = [
        (401, "Unauthorized", Disposition::Blocked, Reason::Forbidden),
        (403, right, Disposition::Blocked, Reason::Forbidden),
        (403, quota, Disposition::Blocked, Reason::QuotaExceeded),
        (403, deny, Disposition::Blocked, Reason::AdmissionDenied),
        (404, "namespaces \"team\" not found", Disposition::Gone, Reason::NamespaceTerminating),
        (409, "conflict", TRANSIENT, Reason::Retrying),
        (413, "too large", Disposition::TerminalCluster, Reason::AdmissionDenied),
        (422, deny, Disposition::Blocked, Reason::AdmissionDenied),
        (500, "broken", TRANSIENT, Reason::Retrying),
        (504, "timed out", TRANSIENT, Reason::Retrying),
    ];
    assert_all(cases.map(|(code, message, disposition, reason)| {
        (answer(code, message, &json!({})), disposition, reason)
    }));
}

#[test]
fn refusals_with_details_have_their_disposition_and_reason() {
    let invalid = |field: &str| json!({ "causes": [{ "reason": "FieldValueInvalid", "field": field }] });
    let container = "spec.template.spec.containers[0]";
    let terminating =
        json!({ "causes": [{ "reason": "NamespaceTerminating", "field": "metadata.namespace" }] });
    let retry_after = Disposition::Transient { at_least: Duration::from_secs(7) };
    let longest = Disposition::Transient { at_least: Duration::from_mins(5) };
    assert_all([
        (
            answer(403, "it is being terminated", &terminating),
            Disposition::Blocked,
            Reason::NamespaceTerminating,
        ),
        (
            answer(422, "invalid", &invalid(&format!("{container}.image"))),
            Disposition::TerminalSpec,
            Reason::InvalidSpec,
        ),
        (
            answer(422, "invalid", &invalid(&format!("{container}.env[0].valueFrom"))),
            Disposition::TerminalCluster,
            Reason::AdmissionDenied,
        ),
        (answer(429, "too many", &json!({ "retryAfterSeconds": 7 })), retry_after, Reason::Retrying),
        (
            answer(429, "go away", &json!({ "retryAfterSeconds": 4_000_000_000_u32 })),
            longest,
            Reason::Retrying,
        ),
    ]);
}

#[test]
fn a_broken_reply_is_our_own_defect() {
    let source = serde_json::from_str::<Value>("{").unwrap_err();
    let error = Error::Call {
        call: Call::new("apply", "Deployment", &key()),
        source: Box::new(kube::Error::SerdeError(source)),
    };
    assert_is(&error, Disposition::Defect, Reason::Retrying);
}

#[test]
fn pauses_follow_the_disposition() {
    let minute = Duration::from_mins(1);
    assert_eq!(Disposition::TerminalSpec.requeue(1, "s"), None);
    assert_eq!(Disposition::Gone.requeue(1, "s"), None);
    for disposition in [Disposition::TerminalCluster, Disposition::Defect] {
        let wait = disposition.requeue(1, "s").unwrap();
        assert!(wait >= 10 * minute && wait <= 12 * minute, "{wait:?}");
    }
    for disposition in [Disposition::Blocked, TRANSIENT] {
        assert!(disposition.requeue(1, "s").unwrap() <= Duration::from_secs(1));
        let late = disposition.requeue(30, "s").unwrap();
        assert!(late >= 2 * minute && late <= 5 * minute, "{late:?}");
    }
    let asked = Disposition::Transient { at_least: Duration::from_secs(30) };
    assert_eq!(asked.requeue(1, "s"), Some(Duration::from_secs(30)));
}

#[test]
fn messages_say_what_was_tried_on_what_and_why_it_failed() {
    let sentence = "deployments.apps \"web\" is forbidden: User \"op\" cannot patch resource \"deployments\"";
    let message = answer(403, sentence, &json!({})).message();
    assert_eq!(
        message,
        "cannot apply Deployment team/web: deployments.apps \"web\" is forbidden: User \"op\" cannot patch resource \
         \"deployments\"; grant the operator that right (config/rbac/role.yaml lists all it needs)"
    );
    let taken = Error::NameConflict { kind: "Deployment", key: key(), owner: Some("StatefulSet db".into()) }
        .message();
    assert!(taken.contains("team/web") && taken.contains("belongs to StatefulSet db"), "{taken}");
}

#[test]
fn every_class_has_a_word_for_metrics() {
    let all = [
        Disposition::TerminalSpec,
        Disposition::TerminalCluster,
        Disposition::Contested { after: PAUSE },
        Disposition::Blocked,
        TRANSIENT,
        Disposition::Gone,
        Disposition::Defect,
    ];
    assert_eq!(all.map(Disposition::class), Disposition::CLASSES);
}
