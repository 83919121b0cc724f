//! What an answer of the API server other than success means. Pure.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::time::Duration;

use kube::core::Status;

use super::error::Disposition;
use super::names;
use super::rbac;
use crate::controller::sentence::{QUOTED, line};
use egapp_api::v1alpha1::Reason;

/// A refusal in our terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What follows from it.
    pub disposition: Disposition,
    /// The reason for conditions.
    pub reason: Reason,
    /// The server's sentence, or what became of the connection.
    pub sentence: String,
    /// What a person can do, to be put behind the sentence.
    pub advice: &'static str,
}

/// What to do about a quota, to be put behind the sentence.
pub const QUOTA_ADVICE: &str = "; free some of the quota or ask for a larger one";

/// Whether the sentence is that of a `ResourceQuota` without room.
#[must_use]
pub fn is_quota(sentence: &str) -> bool {
    sentence.contains("exceeded quota")
}

/// What a refusal of new pods means, and what a person can do, to be put behind the sentence.
#[must_use]
pub fn of_pods(sentence: &str) -> (Reason, String) {
    let is_size = [" usage per Container is ", " usage per Pod is ", " max limit to request ratio per "];
    if is_quota(sentence) {
        (Reason::QuotaExceeded, QUOTA_ADVICE.to_owned())
    } else if let Some(demands) = demands(sentence) {
        (Reason::ResourcesRequired, demands)
    } else if is_size.iter().any(|words| sentence.contains(words)) {
        (Reason::PodsRefused, "; change spec.instanceType or spec.resources".to_owned())
    } else {
        (Reason::PodsRefused, String::new())
    }
}

/// What to set where a quota demands amounts of each container. Its sentence is
/// `… failed quota: NAME: must specify limits.cpu for: app,proxy; requests.memory for: proxy`.
fn demands(sentence: &str) -> Option<String> {
    let (_, list) = sentence.split_once("failed quota: ")?.1.split_once("must specify ")?;
    let (mut fields, mut others) = (Vec::new(), BTreeSet::new());
    for (resource, containers) in list.split("; ").filter_map(|demand| demand.split_once(" for: ")) {
        let half = if resource.contains('.') { "" } else { "requests." };
        for container in containers.split(',').map(str::trim) {
            if container == names::CONTAINER {
                fields.push(format!("spec.resources.{half}{resource}"));
            } else {
                others.insert(format!("container {container}"));
            }
        }
    }
    let own = (!fields.is_empty()).then(|| format!("; set {}", fields.join(" and ")));
    let others: Vec<_> = others.into_iter().collect();
    let foreign = (!others.is_empty()).then(|| {
        format!("; {} is not the app's own: whoever adds it can put it right", others.join(" and "))
    });
    Some([own, foreign].into_iter().flatten().collect())
}

/// A right that the authorizer found missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingRight<'a> {
    /// `patch`, ….
    pub verb: &'a str,
    /// Plural of the kind, with the subresource: `egapps/status`.
    pub resource: &'a str,
    /// Where; empty for the whole cluster.
    pub namespace: &'a str,
}

/// The right that a request was refused for; `None` where it failed otherwise. The API server says it in its sentence
/// alone: `User "…" cannot patch resource "deployments" in API group "apps" in the namespace "team"`.
///
/// Webhooks and policies answer in words of their own, which may quote what a user has written: those are told in other
/// sentences, and what is no right that the controller uses is none here.
#[must_use]
pub fn missing_right(error: &kube::Error) -> Option<MissingRight<'_>> {
    let kube::Error::Api(status) = error else { return None };
    let (verb, rest) = authorizers_word(status)?.split_once(" cannot ")?.1.split_once(" resource \"")?;
    let (resource, rest) = rest.split_once('"')?;
    let namespace = rest.split_once("in the namespace \"").and_then(|(_, rest)| rest.split_once('"'));
    let is_used = rbac::rules().into_iter().any(|rule| {
        rule.verbs.iter().any(|used| used == verb)
            && rule.resources.iter().flatten().any(|used| used == resource)
    });
    is_used.then_some(MissingRight { verb, resource, namespace: namespace.map_or("", |(name, _)| name) })
}

/// What the authorizer says, from the user's name on: `deployments.apps "web" is forbidden: User "…`. No other admission
/// step begins so, nor is there a quotation mark or a colon in a name.
fn authorizers_word(status: &Status) -> Option<&str> {
    let (object, word) = status.message.split_once(" is forbidden: ")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '/' | ' ' | '"');
    word.strip_prefix("User \"").filter(|_| status.code == 403 && object.chars().all(is_name))
}

/// The fields of the status that the schema of the CRD does not have, as JSON pointers, where a server-side apply failed
/// for them. The API server answers 500: `… .status.replicas: field not declared in schema`.
#[must_use]
pub fn undeclared_fields(error: &kube::Error) -> Vec<String> {
    let kube::Error::Api(status) = error else { return Vec::new() };
    let mut pieces: Vec<_> = status.message.split(": field not declared in schema").collect();
    pieces.pop();
    let paths = pieces.into_iter().filter_map(|piece| piece.split_whitespace().next_back());
    let of_status = paths.filter(|path| path.starts_with(".status.") && !path.contains('['));
    of_status.map(|path| path.replace('.', "/")).collect()
}

const TRANSIENT: Disposition = Disposition::Transient { at_least: Duration::ZERO };

/// No `Retry-After` is honoured for longer: a webhook can say what it likes.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// Classifies a failed request.
#[must_use]
pub fn classify(error: &kube::Error) -> Refusal {
    if let kube::Error::Api(status) = error {
        return classify_status(status);
    }
    let is_ours = matches!(error, kube::Error::SerdeError(_) | kube::Error::BuildRequest(_));
    // Everything else is a connection, TLS or credentials problem.
    let disposition = if is_ours { Disposition::Defect } else { TRANSIENT };
    Refusal { disposition, reason: Reason::Retrying, sentence: innermost(error), advice: "" }
}

fn classify_status(status: &Status) -> Refusal {
    let (disposition, reason, advice) = match status.code {
        401 => (Disposition::Blocked, Reason::Forbidden, "; the operator's credentials are not accepted"),
        403 => classify_forbidden(status),
        404 => (Disposition::Gone, Reason::NamespaceTerminating, ""),
        409 => (TRANSIENT, Reason::Retrying, ""),
        400 | 405 | 413 | 415 | 422 => classify_invalid(status),
        _ => {
            let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
            let at_least = Duration::from_secs(u64::from(seconds)).min(LONGEST_WAIT);
            (Disposition::Transient { at_least }, Reason::Retrying, "")
        }
    };
    Refusal { disposition, reason, sentence: sentence(status), advice }
}

/// 403 is the answer of the authorizer, of the quota, of a namespace in deletion and of every other admission step.
fn classify_forbidden(status: &Status) -> (Disposition, Reason, &'static str) {
    let has_cause = |reason: &str| {
        status
            .details
            .as_ref()
            .is_some_and(|details| details.causes.iter().any(|cause| cause.reason == reason))
    };
    let (reason, advice) = if has_cause("NamespaceTerminating") {
        (Reason::NamespaceTerminating, "")
    } else if is_quota(&status.message) {
        (Reason::QuotaExceeded, QUOTA_ADVICE)
    } else if authorizers_word(status).is_some() {
        (Reason::Forbidden, "; grant the operator that right (config/rbac/role.yaml lists all it needs)")
    } else {
        (Reason::AdmissionDenied, "")
    };
    (Disposition::Blocked, reason, advice)
}

/// 422 and its relatives: on a value of the user's they end with an edit; on ours, somebody changed the live object
/// into something that our fields do not fit into.
fn classify_invalid(status: &Status) -> (Disposition, Reason, &'static str) {
    let is_users = |field: &str| field == "spec.replicas" || field.rsplit('.').next() == Some("image");
    if status.message.contains("ValidatingAdmissionPolicy") || status.message.contains("denied the request") {
        return (Disposition::Blocked, Reason::AdmissionDenied, "");
    }
    let names_users_value = status
        .details
        .as_ref()
        .is_some_and(|details| details.causes.iter().any(|cause| is_users(&cause.field)));
    if names_users_value {
        return (Disposition::TerminalSpec, Reason::InvalidSpec, "");
    }
    let advice = "; where a change by hand is the cause, delete the object: it is made anew";
    (Disposition::TerminalCluster, Reason::AdmissionDenied, advice)
}

fn sentence(status: &Status) -> String {
    if status.message.is_empty() {
        return format!("HTTP status {}", status.code);
    }
    line(&status.message, QUOTED)
}

/// The last link of a chain of errors is the one that says what happened.
fn innermost(error: &kube::Error) -> String {
    let mut last = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        last = inner.to_string();
        source = inner.source();
    }
    line(&last, QUOTED)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(code: u16, message: &str) -> kube::Error {
        let status = json!({ "status": "Failure", "code": code, "message": message, "reason": "" });
        kube::Error::Api(Box::new(serde_json::from_value(status).unwrap()))
    }

    #[test]
    fn a_missing_right_is_read_from_the_servers_sentence() {
        let sentence = "egapps.egplatform.platform.evillgenius.com \"web\" is forbidden: User \"u\" cannot patch resource \
                        \"egapps/status\" in API group \"egplatform.platform.evillgenius.com\" in the namespace \"team\"";
        let right = MissingRight { verb: "patch", resource: "egapps/status", namespace: "team" };
        assert_eq!(missing_right(&answer(403, sentence)), Some(right));
        let wide = "pods is forbidden: User \"u\" cannot list resource \"pods\" in API group \"\" at the cluster scope";
        let right = MissingRight { verb: "list", resource: "pods", namespace: "" };
        assert_eq!(missing_right(&answer(403, wide)), Some(right));
    }

    #[test]
    fn other_refusals_are_no_missing_right() {
        for (code, sentence) in [
            (403, "deployments.apps \"web\" is forbidden: exceeded quota: q"),
            (403, "denied: the User \"u\" is on leave"),
            (
                403,
                "admission webhook \"w\" denied the request: pods is forbidden: User \"u\" cannot get resource \"pods\" in",
            ),
            (
                403,
                "deployments.apps \"web\" is forbidden: policy: User \"u\" cannot patch resource \"deployments\" in",
            ),
            (
                403,
                "deployments.apps \"web\" is forbidden: User \"u\" cannot patch resource \"any-8f2\" in API group",
            ),
            (
                403,
                "deployments.apps \"web\" is forbidden: User \"u\" cannot any-8f2 resource \"deployments\" in",
            ),
            (409, "User \"u\" cannot patch resource \"deployments\""),
        ] {
            assert_eq!(missing_right(&answer(code, sentence)), None, "{sentence}");
        }
    }
}
