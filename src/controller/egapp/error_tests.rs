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

#[test]
fn every_class_of_error_has_its_disposition_and_reason() {
    let deny = "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no";
    let right = "deployments.apps \"web\" is forbidden: User \"u\" cannot patch resource \"deployments\" in the namespace \"team\"";
    let quota =
        "deployments.apps \"web\" is forbidden: exceeded quota: q, requested: a=1, used: a=1, limited: a=1";
    let terminating =
        json!({ "causes": [{ "reason": "NamespaceTerminating", "field": "metadata.namespace" }] });
    let bad_image = json!({ "causes": [{ "reason": "FieldValueRequired", "field": "spec.template.spec.containers[0].image" }] });
    let bad_env = json!({ "causes": [{ "reason": "FieldValueInvalid", "field": "spec.template.spec.containers[0].env[0].valueFrom" }] });
    let none = || json!({});
    let cases = [
        (Error::Spec(SpecError::NegativeReplicas(-1)), Disposition::TerminalSpec, Reason::InvalidSpec),
        (
            Error::NameConflict { kind: "Deployment", key: key(), owner: None },
            Disposition::TerminalCluster,
            Reason::NameConflict,
        ),
        (
            Error::Overridden { kind: "Deployment", key: key(), field: "spec.replicas".into() },
            Disposition::TerminalCluster,
            Reason::Overridden,
        ),
        (
            Error::NoAnswer {
                call: Call::new("apply", "Deployment", &key()),
                after: Duration::from_secs(20),
            },
            TRANSIENT,
            Reason::Retrying,
        ),
        (answer(401, "Unauthorized", &none()), Disposition::Blocked, Reason::Forbidden),
        (answer(403, right, &none()), Disposition::Blocked, Reason::Forbidden),
        (answer(403, quota, &none()), Disposition::Blocked, Reason::QuotaExceeded),
        (
            answer(403, "it is being terminated", &terminating),
            Disposition::Blocked,
            Reason::NamespaceTerminating,
        ),
        (answer(403, deny, &none()), Disposition::Blocked, Reason::AdmissionDenied),
        (
            answer(404, "namespaces \"team\" not found", &none()),
            Disposition::Gone,
            Reason::NamespaceTerminating,
        ),
        (
            answer(
                422,
                "web is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
                &none(),
            ),
            Disposition::Blocked,
            Reason::AdmissionDenied,
        ),
        (answer(409, "conflict", &none()), TRANSIENT, Reason::Retrying),
        (answer(413, "too large", &none()), Disposition::TerminalCluster, Reason::AdmissionDenied),
        (answer(422, "invalid", &bad_image), Disposition::TerminalSpec, Reason::InvalidSpec),
        (answer(422, "invalid", &bad_env), Disposition::TerminalCluster, Reason::AdmissionDenied),
        (answer(500, "broken", &none()), TRANSIENT, Reason::Retrying),
        (answer(504, "timed out", &none()), TRANSIENT, Reason::Retrying),
        (
            answer(429, "too many requests", &json!({ "retryAfterSeconds": 7 })),
            Disposition::Transient { at_least: Duration::from_secs(7) },
            Reason::Retrying,
        ),
    ];
    for (error, disposition, reason) in cases {
        assert_is(&error, disposition, reason);
    }
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
    let message = answer(403, "User \"op\" cannot patch resource \"deployments\"", &json!({})).message();
    assert_eq!(
        message,
        "cannot apply Deployment team/web: User \"op\" cannot patch resource \"deployments\"; grant the operator that \
         right (config/rbac/role.yaml lists all it needs)"
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
        Disposition::Blocked,
        TRANSIENT,
        Disposition::Gone,
        Disposition::Defect,
    ];
    assert_eq!(all.map(Disposition::class), Disposition::CLASSES);
}
