//! `kubectl egapp diff`: what applying a file would change. I/O: reads and dry runs.

use std::collections::BTreeSet;
use std::process::ExitCode;

use egapp_api::v1alpha1::EGApp;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use pe_app::controller::compare::{first_difference, is_zero};
use pe_app::controller::egapp::names;
use pe_app::controller::egapp::observe::Observed;
use pe_app::controller::egapp::replicas::Scaling;
use pe_app::platform::Platform;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::args::Diff;
use crate::cluster::{Cluster, is_forbidden};
use crate::core::{self, Child};
use crate::error::Error;
use crate::facts::taken;
use crate::input::{self, Document};
use crate::output;

/// Where `kubectl apply` keeps the file that it applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

pub(crate) async fn run(arguments: &Diff) -> Result<ExitCode, Error> {
    let cluster = Cluster::find(&arguments.cluster).await?;
    let documents =
        input::read(&arguments.filename, arguments.cluster.namespace.as_deref(), &cluster.namespace)?;
    let platform = cluster.platform(&arguments.platform).await?.unwrap_or_else(Platform::built_in);
    let mut found = Found::default();
    for document in &documents {
        let comparison =
            Comparison { cluster: &cluster, namespace: document.namespace(), name: document.name() };
        comparison.whole((document, &platform), &arguments.field_manager, &mut found).await?;
    }
    if found.is_different {
        return Ok(ExitCode::from(1));
    }
    if found.unseen.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Error::Untold { unseen: found.unseen.into_iter().collect::<Vec<_>>().join(", ") })
}

/// What came of all comparisons.
#[derive(Default)]
struct Found {
    is_different: bool,
    /// Kinds of children that are wanted and may not be read.
    unseen: BTreeSet<String>,
}

/// One EGApp and its children.
struct Comparison<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
    name: &'a str,
}

impl Comparison<'_> {
    /// Prints all differences.
    async fn whole(
        &self,
        (document, platform): (&Document, &Platform),
        manager: &str,
        found: &mut Found,
    ) -> Result<(), Error> {
        let resource = ApiResource::erase::<EGApp>(&());
        let live = self.live(&resource).await?;
        let merged = self.apply_app(document, live.as_ref(), manager).await?;
        found.is_different |= show(&resource, self.namespace, self.name, live.as_ref(), Some(&merged));
        let mut app: EGApp = serde_json::from_value(merged).map_err(|error| Error::Invalid {
            origin: "the API server's answer".to_owned(),
            name: self.name.to_owned(),
            problems: vec![error.to_string()],
        })?;
        app.metadata.namespace.get_or_insert_with(|| self.namespace.to_owned());
        if app.spec.suspend {
            output::note(&format!("EGApp {} is suspended: nothing becomes of it until it is not", self.name));
            return Ok(());
        }
        let observed = self.cluster.observed(&app).await?;
        let scaling =
            if live.is_some() { Scaling::of(&app.spec, &observed) } else { core::scaling_of_new(&app) };
        let children = core::children(&app, platform, scaling, observed.restarted_at())?;
        for (child, taken) in children.into_iter().zip(taken(&observed)) {
            match taken.filter(|_| child.wanted.is_some()) {
                Some(taken) => output::note(&format!(
                    "{taken}: the operator leaves it alone, and EGApp {} is not Ready while it is there",
                    self.name
                )),
                None => self.child(child, &app, &observed, found).await?,
            }
        }
        Ok(())
    }

    /// The EGApp as it would be, as `kubectl apply` would make it: by a three-way merge where that was used for it before,
    /// else by a server-side apply.
    async fn apply_app(
        &self,
        document: &Document,
        live: Option<&Value>,
        manager: &str,
    ) -> Result<Value, Error> {
        let api = self.cluster.objects(self.namespace, &ApiResource::erase::<EGApp>(&()));
        let mut file = document.raw.clone();
        without_server_side(&mut file);
        overlay(&mut file, &json!({ "metadata": { "namespace": self.namespace } }));
        let last = live.and_then(|live| live.pointer("/metadata/annotations")?.get(LAST_APPLIED)?.as_str());
        let last: Option<Value> = last.and_then(|text| serde_json::from_str(text).ok());
        let params = PatchParams { dry_run: true, ..PatchParams::default() };
        let answer = if let Some(last) = last {
            api.patch(self.name, &params, &Patch::Merge(three_way(&last, &file))).await
        } else {
            let params = PatchParams { dry_run: true, ..PatchParams::apply(manager).force() };
            api.patch(self.name, &params, &Patch::Apply(file)).await
        };
        let what = format!("apply EGApp {}/{} in a dry run", self.namespace, self.name);
        answer.map(|object| json!(object)).map_err(Error::call(what))
    }

    async fn child(
        &self,
        child: Child,
        app: &EGApp,
        observed: &Observed,
        found: &mut Found,
    ) -> Result<(), Error> {
        let Child { resource, wanted } = child;
        let Some(live) = seen(self.live(&resource).await)? else {
            // What may not be read was noted as such.
            found.unseen.extend(wanted.map(|_| resource.plural));
            return Ok(());
        };
        let merged = match (wanted, &live) {
            (Some(wanted), live) => Some(self.apply_child(&resource, wanted, live.as_ref(), observed).await?),
            (None, Some(live)) if !is_controlled_by(live, app) => return Ok(()),
            (None, _) => None,
        };
        found.is_different |= show(&resource, self.namespace, self.name, live.as_ref(), merged.as_ref());
        Ok(())
    }

    /// The child as the operator would leave it.
    async fn apply_child(
        &self,
        resource: &ApiResource,
        mut wanted: Value,
        live: Option<&Value>,
        observed: &Observed,
    ) -> Result<Value, Error> {
        if resource.kind == "Deployment" {
            // The operator hands replicas over before it drops them; a dry run cannot.
            let details = observed.deployment.live.as_ref().and_then(|live| live.details.as_ref());
            let replicas =
                details.filter(|details| details.owns_replicas).and_then(|details| details.replicas());
            if let (Some(replicas), None) = (replicas, wanted.pointer("/spec/replicas")) {
                overlay(&mut wanted, &json!({ "spec": { "replicas": replicas } }));
            }
        }
        let api: Api<DynamicObject> = self.cluster.objects(self.namespace, resource);
        let params = PatchParams { dry_run: true, ..PatchParams::apply(names::FIELD_MANAGER).force() };
        match api.patch(self.name, &params, &Patch::Apply(&wanted)).await {
            Ok(object) => Ok(json!(object)),
            Err(error) if is_forbidden(&error) => {
                let kind = &resource.kind;
                output::note(&format!(
                    "you may not patch a {kind}: what the operator would drop from it, and what the API server would add, is not shown"
                ));
                Ok(expected(live, wanted))
            }
            Err(error) => {
                let what = format!("apply {} {}/{} in a dry run", resource.kind, self.namespace, self.name);
                Err(Error::call(what)(error))
            }
        }
    }

    async fn live(&self, resource: &ApiResource) -> Result<Option<Value>, Error> {
        let what = format!("read {} {}/{}", resource.kind, self.namespace, self.name);
        let found = self.cluster.objects(self.namespace, resource).get_opt(self.name).await;
        Ok(found.map_err(Error::call(what))?.map(|object| json!(object)))
    }
}

/// What was read; `None` where it may not be.
fn seen<T>(read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Err(Error::Call { source, .. }) if is_forbidden(&source) => Ok(None),
        read => read.map(Some),
    }
}

/// The child as it is to be expected, by what the operator compares.
fn expected(live: Option<&Value>, mut wanted: Value) -> Value {
    core::without_bookkeeping(&mut wanted);
    let mut merged = live.cloned().unwrap_or_default();
    if first_difference(&wanted, &merged).is_some() {
        overlay(&mut merged, &wanted);
    }
    merged
}

/// The merge patch of `kubectl apply`: what the file says, and the end of what it said last and says no more.
fn three_way(last: &Value, file: &Value) -> Value {
    let (Value::Object(last), Value::Object(file)) = (last, file) else { return file.clone() };
    let mut patch = file.clone();
    for (name, value) in &mut patch {
        if let Some(last) = last.get(name) {
            *value = three_way(last, value);
        }
    }
    for name in last.keys().filter(|name| !file.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// Puts the fields of `wanted` over `live`; lists whose entries have names, entry by entry.
fn overlay(live: &mut Value, wanted: &Value) {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            for (name, value) in wanted {
                // The API server leaves out what is empty or off.
                if live.contains_key(name) || !is_zero(value) {
                    overlay(live.entry(name).or_insert(Value::Null), value);
                }
            }
        }
        (Value::Array(live), Value::Array(wanted))
            if wanted.iter().all(|entry| entry.get("name").is_some()) =>
        {
            for entry in wanted {
                match live.iter_mut().find(|other| other.get("name") == entry.get("name")) {
                    Some(other) => overlay(other, entry),
                    None => live.push(entry.clone()),
                }
            }
        }
        (live, wanted) => live.clone_from(wanted),
    }
}

fn is_controlled_by(object: &Value, app: &EGApp) -> bool {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let uid = app.metadata.uid.as_deref();
    owners.into_iter().flatten().any(|owner| {
        owner.get("controller") == Some(&json!(true)) && owner.get("uid").and_then(Value::as_str) == uid
    })
}

/// Prints how one object would change; whether it would.
fn show(
    resource: &ApiResource,
    namespace: &str,
    name: &str,
    live: Option<&Value>,
    merged: Option<&Value>,
) -> bool {
    let text = |object: Option<&Value>| {
        let mut object = object.map(comparable).unwrap_or_default();
        // A dry run gives every new Service the same address, and the real one another.
        if let (None, Some(spec)) = (live, object.get_mut("spec").and_then(Value::as_object_mut)) {
            spec.retain(|field, _| !matches!(field.as_str(), "clusterIP" | "clusterIPs"));
        }
        if object.is_null() { String::new() } else { output::yaml(&object) }
    };
    let (before, after) = (text(live), text(merged));
    if before == after {
        return false;
    }
    let title = format!("{} {namespace}/{name}", resource.kind);
    let side = |object: Option<&Value>, word: &str| match object {
        Some(_) => format!("{word}: {title}"),
        None => "/dev/null".to_owned(),
    };
    let diff = TextDiff::from_lines(&before, &after);
    let text =
        diff.unified_diff().context_radius(3).header(&side(live, "live"), &side(merged, "after")).to_string();
    output::difference(&text);
    true
}

/// Takes out what the API server alone writes.
fn without_server_side(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"] {
            metadata.remove(field);
        }
    }
}

/// Without what changes with every write, and what only the operator reads.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    without_server_side(&mut object);
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
        annotations.remove("deployment.kubernetes.io/revision");
    }
    core::without_bookkeeping(&mut object);
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_the_file_said_last_and_says_no_more_ends() {
        let last = json!({ "spec": { "image": "a", "env": [1], "service": { "port": 80 } } });
        let file = json!({ "spec": { "env": [2], "service": {} } });
        assert_eq!(
            three_way(&last, &file),
            json!({ "spec": { "image": null, "env": [2], "service": { "port": null } } })
        );
    }

    #[test]
    fn an_overlay_keeps_what_others_have_added() {
        let mut live = json!({ "a": 1, "containers": [{ "name": "sidecar" }, { "name": "app", "image": "old", "x": 1 }] });
        overlay(&mut live, &json!({ "containers": [{ "name": "app", "image": "new" }], "args": ["b"] }));
        assert_eq!(
            live,
            json!({
                "a": 1, "args": ["b"],
                "containers": [{ "name": "sidecar" }, { "name": "app", "image": "new", "x": 1 }],
            })
        );
    }

    #[test]
    fn only_what_somebody_could_care_for_is_compared() {
        let object = json!({
            "kind": "Deployment", "status": {}, "spec": { "replicas": 1 },
            "metadata": {
                "name": "web", "uid": "u", "resourceVersion": "1", "managedFields": [],
                "annotations": { LAST_APPLIED: "{}", names::APPLIED_DIGEST: "1" },
            },
        });
        let wanted =
            json!({ "kind": "Deployment", "spec": { "replicas": 1 }, "metadata": { "name": "web" } });
        assert_eq!(comparable(&object), wanted);
    }
}
