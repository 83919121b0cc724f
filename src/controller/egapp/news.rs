//! What is worth an event: changes of state, each once. Pure.
//!
//! What was done to a child is told when it was done. What became of the app is told when a status says so that did
//! not before, and only after that status was written: what was told stands in the cluster, and a restart, or a second
//! try to write, repeats nothing.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use serde_json::Value;

use super::cluster::{ChildKind, Live};
use super::ensure::Found;
use super::names;
use super::validate::Workload;
use crate::controller::events::{News, Type};
use crate::controller::key::ObjectKey;
use crate::hash::fnv1a;
use egapp_api::labels;
use egapp_api::v1alpha1::{ConditionStatus, ConditionType, EGApp, EGAppStatus, Environment, LastFailure};

/// `reason` of an event that is not the reason of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The Deployment was made.
    Created,
    /// The number of replicas was changed.
    Scaled,
    /// All replicas run a new version.
    RolledOut,
    /// A child that somebody else had changed or deleted was put right.
    Repaired,
    /// A child that the app no longer asks for was deleted.
    Deleted,
    /// The platform's values, or the operator itself, ask for other pods.
    PlatformChanged,
    /// A failure is over.
    Recovered,
    /// What runs in prod is an image without a tag, or of the tag `latest`.
    UntaggedImage,
    /// What runs outside dev is the framework's starter.
    StarterImage,
}

impl Topic {
    /// Every topic.
    pub const ALL: [Self; 9] = [
        Self::Created,
        Self::Scaled,
        Self::RolledOut,
        Self::Repaired,
        Self::Deleted,
        Self::PlatformChanged,
        Self::Recovered,
        Self::UntaggedImage,
        Self::StarterImage,
    ];

    /// `reason`, `action` and `type` of the event.
    #[must_use]
    pub const fn words(self) -> (&'static str, &'static str, Type) {
        match self {
            Self::Created => ("Created", "Creating", Type::Normal),
            Self::Scaled => ("Scaled", "Scaling", Type::Normal),
            Self::RolledOut => ("RolledOut", "RollingOut", Type::Normal),
            Self::Repaired => ("Repaired", "Repairing", Type::Normal),
            Self::Deleted => ("Deleted", "Deleting", Type::Normal),
            Self::PlatformChanged => ("PlatformChanged", "RollingOut", Type::Normal),
            Self::Recovered => ("Recovered", "Observing", Type::Normal),
            Self::UntaggedImage => ("UntaggedImage", "Checking", Type::Warning),
            Self::StarterImage => ("StarterImage", "Checking", Type::Warning),
        }
    }

    fn news(self, note: String) -> News {
        let (reason, action, type_) = self.words();
        News { type_, reason: reason.to_owned(), action, note }
    }
}

/// What was done to a child.
#[derive(Clone, Debug)]
pub struct Change {
    kind: &'static str,
    /// What it was before; `None` where it was not there.
    before: Option<Facts>,
    after: Facts,
    /// What somebody else had changed; `None` where the wish is a new one.
    drift: Option<String>,
}

/// The parts of a child that events speak of; those that its kind does not have are absent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    replicas: Option<i64>,
    template: u64,
    image: Option<String>,
    environment: Option<String>,
}

impl Change {
    /// A child was applied; see the fields.
    #[must_use]
    pub fn new<K: ChildKind>(before: Option<&Live<K>>, after: &Live<K>, drift: Option<String>) -> Self {
        Self { kind: K::TITLE, before: before.map(Facts::of), after: Facts::of(after), drift }
    }

    fn is_of_new_template(&self) -> bool {
        self.after.image.is_some()
            && self.drift.is_none()
            && self.before.as_ref().is_none_or(|before| before.template != self.after.template)
    }

    fn is_of_new_image(&self) -> bool {
        let named = |facts: &Facts| (facts.image.clone(), facts.environment.clone());
        self.is_of_new_template() && self.before.as_ref().map(named) != Some(named(&self.after))
    }
}

impl Facts {
    fn of<K: ChildKind>(live: &Live<K>) -> Self {
        let object = live.details.as_ref().map(|details| details.comparable()).unwrap_or_default();
        let template = object.pointer("/spec/template").unwrap_or(&Value::Null);
        let containers = template.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten();
        let container = containers.into_iter().find(|one| text(one.get("name")) == Some(names::CONTAINER));
        let environment =
            object.pointer("/metadata/labels").and_then(|labels| labels.get(labels::ENVIRONMENT));
        Self {
            replicas: object.pointer("/spec/replicas").and_then(Value::as_i64),
            template: fnv1a(template.to_string().as_bytes()),
            image: text(container.and_then(|container| container.get("image"))).map(str::to_owned),
            environment: text(environment).map(str::to_owned),
        }
    }
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str)
}

/// Whether pods of a new version are on their way after this. A new app's first pods are none: that it was made has been
/// told, and a flood of new apps is one event for each of them.
#[must_use]
pub fn rolls(found: &[Found]) -> bool {
    let is_rollout = |change: &Change| change.before.is_some() && change.is_of_new_template();
    found.iter().any(|found| matches!(found, Found::Applied(change) if is_rollout(change)))
}

/// The news in a platform change that reaches an app, if it replaces the pods.
#[must_use]
pub fn of_platform(found: &[Found]) -> Option<News> {
    let note = "the EGApp is as it was, and the platform's values, or the operator, are others: new pods come as they say";
    rolls(found).then(|| Topic::PlatformChanged.news(note.to_owned()))
}

/// The news in what was done to the children.
#[must_use]
pub fn of_children(found: &[Found], workload: &Workload<'_>) -> Vec<News> {
    let name = &workload.name;
    let news = found.iter().map(|found| match found {
        Found::Applied(change) => of_change(change, workload),
        Found::Deleted(kind) => {
            vec![Topic::Deleted.news(format!("deleted {kind} {name}, which is not wanted any more"))]
        }
        Found::InSync | Found::Moving | Found::Waiting(_) | Found::Unseen | Found::Failed(_) => Vec::new(),
    });
    news.flatten().collect()
}

fn of_change(change: &Change, workload: &Workload<'_>) -> Vec<News> {
    let (name, Change { kind, before, after, drift }) = (&workload.name, change);
    let done = match (drift, before) {
        (Some(_), None) => {
            Some(Topic::Repaired.news(format!("{kind} {name} was gone, and has been made anew")))
        }
        (Some(field), Some(_)) => Some(
            Topic::Repaired
                .news(format!("{kind} {name} was changed by somebody else, and is put right: {field}")),
        ),
        (None, None) if after.image.is_some() => Some(Topic::Created.news(format!("made {kind} {name}"))),
        (None, None) => None,
        (None, Some(before)) => match (before.replicas, after.replicas) {
            (Some(was), Some(is)) if was != is => Some(Topic::Scaled.news(format!("replicas {was} → {is}"))),
            _ => None,
        },
    };
    let image = if change.is_of_new_image() { of_image(workload) } else { None };
    done.into_iter().chain(image).collect()
}

/// What people should know of the image that is put to work.
fn of_image(workload: &Workload<'_>) -> Option<News> {
    let (image, environment) = (&workload.image, workload.spec.environment);
    if image.is_starter && environment != Environment::Dev {
        let note = format!(
            "{environment} gets the framework's starter, {}, and not an app: set spec.image",
            image.reference
        );
        return Some(Topic::StarterImage.news(note));
    }
    (environment == Environment::Prod && !is_pinned(&image.reference)).then(|| {
        let note = format!(
            "image {} names no version: its pods may differ, and a rollback brings nothing back; give it a tag",
            image.reference
        );
        Topic::UntaggedImage.news(note)
    })
}

/// Whether an image reference has a digest, or a tag other than `latest`. A port of the registry is no tag.
fn is_pinned(reference: &str) -> bool {
    let last = reference.rsplit('/').next().unwrap_or(reference);
    reference.contains('@') || last.split_once(':').is_some_and(|(_, tag)| tag != "latest")
}

/// The news in a status that was written over `before`. `is_rolling`: a new version was on its way.
#[must_use]
pub fn of_status(before: Option<&EGAppStatus>, after: &EGAppStatus, is_rolling: bool) -> Option<News> {
    let was = before.and_then(|before| before.last_failure.as_ref());
    let words = |failure: &LastFailure| (failure.reason.clone(), failure.message.clone());
    let ready = after.condition(ConditionType::Ready)?;
    match (was, &after.last_failure) {
        (was, Some(is)) if was.map(words) != Some(words(is)) => Some(failure(&is.reason, &is.message)),
        (Some(was), None) => {
            Some(Topic::Recovered.news(format!("{} is over: {}", was.reason, ready.message)))
        }
        (None, None) if is_rolling && is_up(after) => {
            let image = after.image.as_deref().unwrap_or_default();
            Some(Topic::RolledOut.news(format!("all replicas are available, and run {image}")))
        }
        (None | Some(_), _) => None,
    }
}

/// The news in a status that tells of an override where the one before told of none.
#[must_use]
pub fn of_override(before: Option<&EGAppStatus>, after: &EGAppStatus) -> Option<News> {
    let told = after.condition(ConditionType::Overridden)?;
    let is_known = before.is_some_and(|before| before.condition(ConditionType::Overridden).is_some());
    (!is_known).then(|| failure(&told.reason, &told.message))
}

/// Something is in the way of an app.
#[must_use]
pub fn failure(reason: &str, message: &str) -> News {
    let (reason, note) = (reason.to_owned(), message.to_owned());
    News { type_: Type::Warning, reason, action: "Observing", note }
}

/// Whether a status says that the app is Ready, with at least one replica.
#[must_use]
pub fn is_up(status: &EGAppStatus) -> bool {
    let ready = status.condition(ConditionType::Ready);
    ready.is_some_and(|ready| ready.status == ConditionStatus::True.as_str())
        && status.desired_replicas.is_some_and(|replicas| replicas > 0)
}

/// Which EGApp an event is about. Without a resource version: a reference to one version would be another object.
#[must_use]
pub fn regarding(key: &ObjectKey, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(EGApp::api_version(&()).into_owned()),
        kind: Some(EGApp::kind(&()).into_owned()),
        namespace: Some(key.namespace().to_owned()),
        name: Some(key.name().to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
#[path = "news_tests.rs"]
mod tests;
