//! Children as the controller sees them: identity, owner, state, and for its own the fields it may compare. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use kube::core::ObjectMeta;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Caches;
use super::managers::{Lost, Managers};
use crate::controller::egapp::names;
use crate::controller::key::ObjectKey;
use crate::controller::sentence::{QUOTED, line};
use crate::controller::slim;
use crate::controller::store::{Store, Versioned, parse_resource_version};
use crate::hash::fnv1a;
use egapp_api::labels;
use egapp_api::v1alpha1::EGApp;

/// Of a larger object no text is cached, in bytes: children of real apps take some kilobytes, and what others add to one
/// can be a megabyte.
const LARGEST: usize = 64 * 1024;

/// No time of RFC 3339 is longer, in bytes; what is longer in a place for one is no time.
const LONGEST_TIME: usize = 64;

/// No uid is longer.
const LONGEST_UID: usize = 64;

/// A kind of object that EGApps are made of.
pub trait ChildKind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Send + Sync + 'static
{
    /// The object's status as it is decoded.
    type Status: DeserializeOwned + Clone + Debug + Send + Sync + 'static;
    /// What is cached of the status.
    type State: From<Self::Status> + Clone + Default + PartialEq + Debug + Send + Sync + 'static;

    /// The kind in a sentence: `Deployment`.
    const TITLE: &'static str;

    /// The field of the spec that says which app the object serves.
    const SELECTION: &'static str;

    /// What that field says in an object that serves exactly the app of that name.
    fn selection(app: &str) -> Value;

    /// The local copies of this kind.
    fn store(caches: &Caches) -> &Store<Live<Self>>;

    /// The number of replicas that must have another owner before `wanted`, which does not name it, is applied over
    /// `live`: a field whose only owner drops it goes back to its default.
    #[must_use]
    fn hand_over(_wanted: &Self, _live: &Live<Self>) -> Option<i32> {
        None
    }
}

/// A child as it is decoded: of the managed fields only who owns the replicas and the mark of our applies, and the spec as
/// the text that came. Most
/// events change no spec, and a tree of it would cost more than all the rest of the event.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound = "")]
pub struct View<K: ChildKind> {
    #[serde(deserialize_with = "slim::metadata_with")]
    metadata: (ObjectMeta, Option<Managers>),
    spec: Option<Box<RawValue>>,
    status: Option<K::Status>,
}

impl<K: ChildKind> Resource for View<K> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata.0
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata.0
    }
}

impl<K: ChildKind> View<K> {
    /// The spec, decoded; `None` where there is none, or none of that type.
    pub(super) fn spec<S: DeserializeOwned>(&self) -> Option<S> {
        self.spec.as_deref().and_then(|spec| serde_json::from_str(spec.get()).ok())
    }
}

/// A child as it is cached. Of an object that belongs to no EGApp only the identity is kept: enough to leave it alone.
#[derive(Clone, Debug)]
pub struct Live<K: ChildKind> {
    key: ObjectKey,
    resource_version: u64,
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// The controlling owner, if there is one.
    pub controller: Option<Controller>,
    /// Everything else, where the object carries an EGApp's label or owner reference.
    pub details: Option<Box<Details<K::State>>>,
}

/// The owner reference with `controller: true`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// Kind and name, for people: `EGApp web`.
    pub title: Box<str>,
    /// The owner's uid.
    pub uid: Box<str>,
    /// Whether it is an EGApp of the child's own name.
    pub is_namesake: bool,
}

/// What is kept of an object that is ours, or may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details<S> {
    /// `metadata.generation`; 0 for kinds without.
    pub generation: i64,
    /// Whether `metadata.deletionTimestamp` is set.
    pub is_terminating: bool,
    /// Whether nobody controls it, and it selects exactly the pods of an EGApp of its name.
    pub is_orphan: bool,
    /// Its status.
    pub state: S,
    /// A number that changes with every field that may be compared, and when deletion begins or our ownership is lost.
    /// `metadata.generation` would not do: a Deployment's grows with any annotation, and the Deployment controller writes
    /// some.
    pub digest: u64,
    /// Whether our own field manager owns `spec.replicas`.
    pub owns_replicas: bool,
    /// Where the managed fields do not say any more what is ours, how they would.
    pub lost: Option<Box<Lost>>,
    /// Digest of the wish that was applied last, see [`names::APPLIED_DIGEST`]; 0 for none.
    pub applied: u64,
    /// Digest of the pod template that was applied last, see [`names::APPLIED_TEMPLATE`]; 0 for none.
    pub template: u64,
    /// See [`names::PLATFORM_CHANGE`].
    pub change: Option<u64>,
    text: Text,
}

/// The fields that may be compared with desired ones.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Text {
    /// JSON of `{metadata: {labels, annotations, ownerReferences}, spec}`. Text takes a tenth of the tree's memory, and
    /// is read only when the object is reconciled.
    Whole(Box<str>),
    /// They are read again where they are compared.
    Dropped(Rest),
}

/// What decisions need of a text that is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rest {
    replicas: Option<i32>,
    restarted_at: Option<Box<str>>,
}

impl<K: ChildKind> From<View<K>> for Live<K> {
    fn from(view: View<K>) -> Self {
        let View { metadata: (metadata, managers), spec, status } = view;
        let key = ObjectKey::of(&metadata);
        let controller = controller_of(&metadata);
        let label = metadata.labels.as_ref().and_then(|labels| labels.get(labels::EGAPP));
        let is_labelled = label.map(String::as_str) == Some(key.name());
        let is_candidate = is_labelled || controller.as_ref().is_some_and(|owner| owner.is_namesake);
        let state = status.map(K::State::from).unwrap_or_default();
        Self {
            resource_version: parse_resource_version(metadata.resource_version.as_deref()),
            uid: metadata.uid.clone().unwrap_or_default().into(),
            details: is_candidate.then(|| {
                let is_orphan = controller.is_none() && selects::<K>(spec.as_deref(), key.name());
                let details = Details::new(&metadata, spec.as_deref(), state);
                Box::new(Details { is_orphan, ..details }.owned_by(&managers.unwrap_or_default()))
            }),
            controller,
            key,
        }
    }
}

/// The parts of a child that may be compared with desired ones.
#[derive(Serialize)]
struct Comparable<'a> {
    metadata: ComparableMeta<'a>,
    spec: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ComparableMeta<'a> {
    labels: &'a Option<BTreeMap<String, String>>,
    annotations: BTreeMap<&'a str, &'a str>,
    owner_references: &'a Option<Vec<OwnerReference>>,
}

impl<S> Details<S> {
    fn new(metadata: &ObjectMeta, spec: Option<&RawValue>, state: S) -> Self {
        let annotation = |name: &str| metadata.annotations.as_ref()?.get(name).map(String::as_str);
        let annotations = metadata.annotations.iter().flatten().filter(|(name, _)| is_ours(name));
        let metadata_part = ComparableMeta {
            labels: &metadata.labels,
            annotations: annotations.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            owner_references: &metadata.owner_references,
        };
        // Text and maps of text always serialise; were it empty all the same, everything would differ.
        let comparable =
            serde_json::to_string(&Comparable { metadata: metadata_part, spec }).unwrap_or_default();
        let (is_terminating, digest) = (metadata.deletion_timestamp.is_some(), fnv1a(comparable.as_bytes()));
        Self {
            generation: metadata.generation.unwrap_or(0),
            is_terminating,
            is_orphan: false,
            state,
            digest: if is_terminating { !digest } else { digest },
            owns_replicas: false,
            lost: None,
            applied: annotation(names::APPLIED_DIGEST).map_or(0, |applied| fnv1a(applied.as_bytes())),
            template: annotation(names::APPLIED_TEMPLATE).and_then(hexadecimal).unwrap_or(0),
            change: annotation(names::PLATFORM_CHANGE).and_then(hexadecimal),
            text: Text::Whole(comparable.into()),
        }
    }

    fn owned_by(self, managers: &Managers) -> Self {
        let lost = managers.lost(self.applied != 0).map(Box::new);
        // Whoever was in sync is looked at again.
        let digest = if lost.is_some() { self.digest.rotate_left(1) } else { self.digest };
        Self { owns_replicas: managers.own_replicas(), digest, lost, ..self }
    }

    /// `spec.replicas`, of kinds that have it. Read anew each time: it is asked for rarely.
    #[must_use]
    pub fn replicas(&self) -> Option<i32> {
        #[derive(Deserialize)]
        struct Object {
            spec: Spec,
        }
        #[derive(Deserialize)]
        struct Spec {
            replicas: Option<i32>,
        }
        match &self.text {
            Text::Whole(text) => serde_json::from_str(text).ok().and_then(|Object { spec }| spec.replicas),
            Text::Dropped(rest) => rest.replicas,
        }
    }

    /// Annotation [`names::RESTARTED_AT`] of the pod template. Most have none, and learn so without a parser.
    #[must_use]
    pub fn restarted_at(&self) -> Option<String> {
        let text = match &self.text {
            Text::Whole(text) => text,
            Text::Dropped(rest) => return rest.restarted_at.as_deref().map(str::to_owned),
        };
        if !text.contains(names::RESTARTED_AT) {
            return None;
        }
        let path = ["/spec/template/metadata/annotations", &names::RESTARTED_AT.replace('/', "~1")].join("/");
        self.comparable().pointer(&path)?.as_str().filter(|at| at.len() <= LONGEST_TIME).map(str::to_owned)
    }

    /// The labels of the pods that a Deployment makes; none where its text is dropped. Read anew each time, too.
    #[must_use]
    pub fn pod_labels(&self) -> BTreeMap<String, String> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Level {
            spec: Option<Box<Level>>,
            template: Option<Box<Level>>,
            metadata: Option<Box<Level>>,
            labels: BTreeMap<String, String>,
        }
        let Text::Whole(text) = &self.text else { return BTreeMap::new() };
        let object = serde_json::from_str::<Level>(text).ok();
        let template = object.and_then(|object| object.spec?.template?.metadata);
        template.map(|metadata| metadata.labels).unwrap_or_default()
    }

    /// The fields that may be compared with desired ones.
    #[must_use]
    pub fn comparable(&self) -> Value {
        match &self.text {
            // It was JSON when it came; were it unreadable all the same, everything would differ and be applied.
            Text::Whole(text) => serde_json::from_str(text).unwrap_or_default(),
            Text::Dropped(_) => Value::Null,
        }
    }
}

impl<K: ChildKind> Live<K> {
    /// `metadata.resourceVersion`.
    #[must_use]
    pub fn version(&self) -> String {
        self.resource_version.to_string()
    }

    /// As it is cached: without the text of what no pass compares, an object that nobody owns and that carries our label,
    /// and without that of an object of any size. A pass that needs it asks the API server.
    #[must_use]
    pub fn kept(mut self) -> Self {
        let is_owned = self.controller.as_ref().is_some_and(|owner| owner.is_namesake);
        if let Some(details) = &mut self.details {
            let is_small = matches!(&details.text, Text::Whole(text) if text.len() <= LARGEST);
            if !(is_owned && is_small) {
                let restarted_at = details.restarted_at().map(Into::into);
                details.text = Text::Dropped(Rest { replicas: details.replicas(), restarted_at });
            }
        }
        self
    }

    /// Whether there is nothing to compare, or all of it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.details.as_ref().is_none_or(|details| matches!(details.text, Text::Whole(_)))
    }

    /// Whether all that is cached of `other`, its version aside, is as in this one.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.uid == other.uid && self.controller == other.controller && self.details == other.details
    }

    /// The digest of the fields that may be compared; 0 for an object that is not ours.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.details.as_ref().map_or(0, |details| details.digest)
    }
}

impl<K: ChildKind> Versioned for Live<K> {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }
    fn resource_version(&self) -> u64 {
        self.resource_version
    }
}

/// Whether a child's spec serves exactly the EGApp `name`.
fn selects<K: ChildKind>(spec: Option<&RawValue>, name: &str) -> bool {
    let spec: Option<BTreeMap<String, Value>> = spec.and_then(|spec| serde_json::from_str(spec.get()).ok());
    spec.is_some_and(|spec| spec.get(K::SELECTION) == Some(&K::selection(name)))
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

pub(super) fn controller_of(metadata: &ObjectMeta) -> Option<Controller> {
    let owner = metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let group = owner.api_version.split('/').next();
    let is_egapp = owner.kind == EGApp::kind(&()) && group == Some(&*EGApp::group(&()));
    Some(Controller {
        title: line(&format!("{} {}", owner.kind, owner.name), QUOTED).into(),
        uid: owner.uid.chars().take(LONGEST_UID).collect(),
        is_namesake: is_egapp && metadata.name.as_deref() == Some(&owner.name),
    })
}

/// Whether a label or annotation key stands under our group.
fn is_ours(key: &str) -> bool {
    key.strip_prefix(egapp_api::GROUP).is_some_and(|rest| rest.starts_with('/'))
}
