//! The API server's audit log: which requests it got, from whom. Parsing and filters; [`crate::Cluster`] reads it.

use serde::Deserialize;

use crate::{Error, Result};

/// A place in the audit log, to look only at what came after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditMark(pub(crate) u64);

/// One request to the API server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "RawEvent")]
pub struct AuditEvent {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or the HTTP method in
    /// lower case for paths that are no objects.
    pub verb: String,
    /// Name of the user, as in [`crate::Identity::user_name`].
    pub user: String,
    /// The client's `User-Agent`.
    pub user_agent: String,
    /// Group of the object's API; empty for the core group and for paths that are no objects.
    pub api_group: String,
    /// Plural name of the resource; empty for paths that are no objects.
    pub resource: String,
    /// `status`, `scale`, …; empty for the object itself.
    pub subresource: String,
    /// Namespace of the object; empty if it has none.
    pub namespace: String,
    /// Name of the object; empty for lists and for creates that leave it to the server.
    pub name: String,
    /// HTTP status of the answer; 0 if there was none.
    pub code: u16,
    /// `ResponseComplete`; `ResponseStarted` for long-running requests; `Panic`.
    pub stage: String,
    /// Path and query.
    pub uri: String,
}

impl AuditEvent {
    /// Whether it asked for a change.
    #[must_use]
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// A long-running request has two events, of which the first is taken: the second may never come.
    fn counts_as_request(&self) -> bool {
        let long_running = self.verb == "watch"
            || matches!(self.subresource.as_str(), "attach" | "exec" | "log" | "portforward" | "proxy");
        !(long_running && self.stage == "ResponseComplete")
    }
}

/// Requests of the audit log, each once, in the order of their answers; each filter keeps those that match.
#[derive(Clone, Debug, Default)]
pub struct AuditEvents(Vec<AuditEvent>);

impl AuditEvents {
    /// Parses whole lines of the log. A last line that is still being written is left out.
    pub(crate) fn parse(log: &str) -> Result<Self> {
        let complete = log.rfind('\n').map_or("", |end| log.get(..end).unwrap_or_default());
        let mut events = Vec::new();
        for line in complete.lines() {
            let event: AuditEvent = serde_json::from_str(line)
                .map_err(|source| Error::Json { origin: format!("the audit log's line {line:?}"), source })?;
            if event.counts_as_request() {
                events.push(event);
            }
        }
        Ok(Self(events))
    }

    /// Keeps requests of this user, by full name.
    #[must_use]
    pub fn user(self, user: &str) -> Self {
        self.filter(|event| event.user == user)
    }

    /// Keeps requests whose `User-Agent` contains this text.
    #[must_use]
    pub fn user_agent(self, text: &str) -> Self {
        self.filter(|event| event.user_agent.contains(text))
    }

    /// Keeps requests for this resource by plural name; `deployments` without its subresources, or one of them
    /// as `deployments/scale`.
    #[must_use]
    pub fn resource(self, resource: &str) -> Self {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        self.filter(|event| event.resource == resource && event.subresource == subresource)
    }

    /// Keeps requests with this verb.
    #[must_use]
    pub fn verb(self, verb: &str) -> Self {
        self.filter(|event| event.verb == verb)
    }

    /// Keeps requests for objects of this namespace.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        self.filter(|event| event.namespace == namespace)
    }

    /// Keeps requests that asked for a change.
    #[must_use]
    pub fn writes(self) -> Self {
        self.filter(AuditEvent::is_write)
    }

    /// Keeps requests that match.
    #[must_use]
    pub fn filter(mut self, keep: impl Fn(&AuditEvent) -> bool) -> Self {
        self.0.retain(keep);
        self
    }

    /// What is left.
    #[must_use]
    pub fn events(self) -> Vec<AuditEvent> {
        self.0
    }

    /// How many are left.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// An event as audit.k8s.io/v1 has it, as far as it is of use.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEvent {
    stage: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    user: RawUser,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: RawObject,
    #[serde(default)]
    response_status: RawStatus,
}

#[derive(Deserialize)]
struct RawUser {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawObject {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawStatus {
    code: u16,
}

impl From<RawEvent> for AuditEvent {
    fn from(raw: RawEvent) -> Self {
        let object = raw.object_ref;
        Self {
            verb: raw.verb,
            user: raw.user.username,
            user_agent: raw.user_agent,
            api_group: object.api_group,
            resource: object.resource,
            subresource: object.subresource,
            namespace: object.namespace,
            name: object.name,
            code: raw.response_status.code,
            stage: raw.stage,
            uri: raw.request_uri,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn line(verb: &str, stage: &str, object: &Value) -> String {
        let event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata",
            "stage": stage, "requestURI": "/apis/apps/v1", "verb": verb,
            "user": {"username": "alice", "groups": ["system:authenticated"]},
            "userAgent": "manager/v1", "objectRef": object, "responseStatus": {"metadata": {}, "code": 200},
        });
        format!("{event}\n")
    }

    fn deployment(subresource: Option<&str>) -> Value {
        let mut object =
            json!({"resource": "deployments", "namespace": "shop", "name": "web", "apiGroup": "apps"});
        if let Some(subresource) = subresource {
            object["subresource"] = subresource.into();
        }
        object
    }

    #[test]
    fn a_resource_without_a_slash_leaves_out_its_subresources() {
        let log = line("patch", "ResponseComplete", &deployment(None))
            + &line("patch", "ResponseComplete", &deployment(Some("status")));
        let events = AuditEvents::parse(&log).unwrap();
        assert_eq!(events.clone().resource("deployments").count(), 1);
        assert_eq!(events.clone().resource("deployments/status").count(), 1);
        assert_eq!(events.user("alice").user_agent("manager").namespace("shop").writes().count(), 2);
    }

    #[test]
    fn a_watch_counts_once_however_it_ends() {
        let watch = json!({"resource": "pods"});
        let log = line("watch", "ResponseStarted", &watch) + &line("watch", "ResponseComplete", &watch);
        assert_eq!(AuditEvents::parse(&log).unwrap().count(), 1);
    }

    #[test]
    fn a_line_that_is_still_being_written_is_left_out() {
        let log = line("get", "ResponseComplete", &deployment(None)) + r#"{"kind":"Ev"#;
        assert_eq!(AuditEvents::parse(&log).unwrap().count(), 1);
    }

    #[test]
    fn requests_that_are_no_objects_have_empty_names() {
        let mut event: Value = serde_json::from_str(&line("get", "ResponseComplete", &json!({}))).unwrap();
        event.as_object_mut().unwrap().remove("objectRef");
        let events = AuditEvents::parse(&format!("{event}\n")).unwrap().events();
        assert_eq!(events[0].resource, "");
        assert_eq!(events[0].code, 200);
    }
}
