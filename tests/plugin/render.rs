//! What an EGApp becomes, without a cluster; and that the operator makes the same of it.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use serde_json::{Map, Value};

use crate::support::{App, eventually, holds, project};
use crate::{alone, cluster, run};

/// The objects of a rendered file, by kind.
fn rendered(arguments: &[&str], input: &str) -> BTreeMap<String, Value> {
    let ran = run(alone().arg("render").args(arguments).args(["-f", "-", "-o", "json"]), input);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    let objects = list["items"].as_array().cloned().unwrap_or_else(|| vec![list]);
    objects.into_iter().map(|object| (object["kind"].as_str().unwrap().to_owned(), object)).collect()
}

/// The part of `live` that the manager owns, by the tree of its managed fields.
fn owned(live: &Value, fields: &Value) -> Value {
    let Value::Object(fields) = fields else { return live.clone() };
    let inner: Vec<_> = fields.iter().filter(|(key, _)| *key != ".").collect();
    match live {
        Value::Object(object) if !inner.is_empty() => {
            let named = inner.into_iter().filter_map(|(key, fields)| {
                let name = key.strip_prefix("f:")?;
                Some((name.to_owned(), owned(object.get(name)?, fields)))
            });
            Value::Object(named.collect::<Map<_, _>>())
        }
        Value::Array(entries) if !inner.is_empty() => {
            let of_entry = |entry: &Value| {
                inner.iter().find_map(|(key, fields)| {
                    let keys: Value = serde_json::from_str(key.strip_prefix("k:")?).unwrap();
                    let is_entry = keys.as_object().unwrap().iter().all(|(key, value)| entry[key] == *value);
                    is_entry.then(|| owned(entry, fields))
                })
            };
            Value::Array(entries.iter().filter_map(of_entry).collect())
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => live.clone(),
    }
}

/// The same in a form in which equal amounts are equal texts, and without what only a cluster knows.
fn plain(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["ownerReferences", "name", "namespace"] {
        metadata.remove(field);
    }
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.retain(|name, _| !name.contains(".platform.evillgenius.com/applied-"));
    }
    if metadata.get("annotations").is_some_and(|annotations| annotations == &serde_json::json!({})) {
        metadata.remove("annotations");
    }
    for field in ["apiVersion", "kind", "status"] {
        object.as_object_mut().unwrap().remove(field);
    }
    zeroes_go(&mut object);
    object
}

/// The API server leaves out what is empty, and keeps `false` where it means something: neither side is held to that.
fn zeroes_go(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(zeroes_go);
            fields.retain(|_, value| !pe_app::controller::compare::is_zero(value));
        }
        Value::Array(items) => items.iter_mut().for_each(zeroes_go),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

#[tokio::test]
async fn what_is_rendered_of_each_sample_is_what_the_operator_applies() {
    let cluster = cluster().await;
    let mut count = 0;
    for entry in fs::read_dir(project("config/samples")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        if !text.contains("kind: EGApp") {
            continue;
        }
        count += 1;
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        let sample = documents.iter().find(|document| document["kind"] == "EGApp").unwrap();
        let app = App::named(cluster, sample["metadata"]["name"].as_str().unwrap()).await;
        cluster.kubectl(["-n", &app.namespace, "apply", "-f", path.to_str().unwrap()]).await.unwrap();
        let objects = rendered(&["-n", &app.namespace], &text);
        let wanted: Vec<_> = objects.keys().map(|kind| kind.to_lowercase()).collect();
        assert!(wanted.contains(&"deployment".to_owned()), "{wanted:?}");
        for (kind, object) in &objects {
            eventually("the operator has applied the same", async || {
                let arguments =
                    ["get", kind, &app.name, "--ignore-not-found", "-o", "json", "--show-managed-fields"];
                let live = app.kubectl(&arguments).await;
                let Ok(live) = serde_json::from_str::<Value>(&live) else { return Err(format!("no {kind}")) };
                let managers = live["metadata"]["managedFields"].as_array().unwrap();
                let ours =
                    managers.iter().find(|one| one["manager"] == "egapp-controller").ok_or("not ours")?;
                let (found, wanted) = (plain(owned(&live, &ours["fieldsV1"])), plain(object.clone()));
                holds(found == wanted, || {
                    format!("{}: {found:#}\nis not what was rendered: {wanted:#}", path.display())
                })
            })
            .await;
        }
        let kinds = ["deployment", "service", "poddisruptionbudget", "horizontalpodautoscaler"];
        for kind in kinds.iter().filter(|kind| !wanted.contains(&(**kind).to_owned())) {
            assert_eq!(app.object(kind).await, None, "{kind} of {}", path.display());
        }
    }
    assert_eq!(count, 7, "every sample");
}

#[test]
fn without_a_cluster_the_objects_are_printed_as_documents() {
    let sample = project("config/samples/egplatform_v1alpha1_egapp.yaml");
    let ran = run(alone().args(["render", "-f", sample.to_str().unwrap()]), "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let documents: Vec<Value> = serde_saphyr::from_multiple(&ran.stdout).unwrap();
    let kinds: Vec<_> = documents.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Deployment", "Service"]);
    assert!(!ran.stdout.contains("uid") && !ran.stdout.contains("applied-"), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'), "no colours in a file");
}

#[test]
fn a_platform_file_gives_other_values_and_a_bad_one_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("platform.yaml");
    let shipped = fs::read_to_string(project("config/manager/platform.yaml")).unwrap();
    fs::write(&file, shipped.replace("memory: 256Mi", "memory: 384Mi")).unwrap();
    let app = "{apiVersion: egplatform.platform.evillgenius.com/v1alpha1, kind: EGApp, metadata: {name: web}, \
               spec: {framework: go, environment: dev}}";
    let objects = rendered(&["--platform-config", file.to_str().unwrap()], app);
    let container = &objects["Deployment"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["resources"]["limits"]["memory"], "384Mi");
    fs::write(&file, shipped.replace("memory: 256Mi", "memory: lots")).unwrap();
    let ran = run(alone().args(["render", "-f", "-", "--platform-config", file.to_str().unwrap()]), app);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(
        ran.stderr.starts_with("error: ") && ran.stderr.contains("sizes.lowMem.memory"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_file_that_the_schema_refuses_is_told_with_every_path() {
    let app = "{apiVersion: egplatform.platform.evillgenius.com/v1alpha1, kind: EGApp, metadata: {name: web}, \
               spec: {framework: cobol, environment: dev, replicas: 3}}";
    let ran = run(alone().args(["render", "-f", "-"]), app);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let start = "error: standard input: EGApp web is not valid: spec.framework is \"cobol\"; use one of java, python, go; \
                 spec.replicas is not a field";
    assert!(ran.stderr.starts_with(start), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let sample = project("config/samples/egplatform_v1alpha1_egapp.yaml");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = alone();
    command.args(["render", "-f", sample.to_str().unwrap()]).stdout(full).stderr(Stdio::piped());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("error: cannot write the output: No space left on device"), "{told}");
}

#[test]
fn a_name_that_would_lead_elsewhere_is_refused() {
    for (arguments, start) in [
        (&["explain", "web/status"][..], "error: invalid value 'web/status'"),
        (&["restart", "a?b"], "error: invalid value 'a?b'"),
        (&["explain", "web", "-n", "../x"], "error: invalid value '../x'"),
    ] {
        let ran = run(alone().args(arguments), "");
        assert!(ran.code == 2 && ran.stderr.starts_with(start), "{}", ran.stderr);
    }
    let app = "{apiVersion: egplatform.platform.evillgenius.com/v1alpha1, kind: EGApp, metadata: {name: ../web, \
               namespace: ../x}, spec: {framework: go, environment: dev}}";
    let ran = run(alone().args(["render", "-f", "-"]), app);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("metadata.name must be") && ran.stderr.contains("metadata.namespace must be")
    );
}

#[test]
fn a_file_of_another_namespace_than_the_chosen_one_is_refused_as_kubectl_refuses_it() {
    let app = "{apiVersion: egplatform.platform.evillgenius.com/v1alpha1, kind: EGApp, metadata: {name: web, \
               namespace: shop}, spec: {framework: go, environment: dev}}";
    let ran = run(alone().args(["render", "-f", "-", "-n", "team"]), app);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(
        ran.stderr.contains("namespace shop") && ran.stderr.contains("--namespace shop"),
        "{}",
        ran.stderr
    );
    assert_eq!(run(alone().args(["render", "-f", "-", "-n", "shop"]), app).code, 0);
    assert_eq!(run(alone().args(["render", "-f", "-"]), app).code, 0);
}

#[test]
fn more_documents_than_a_stream_mostly_has_are_read() {
    let app = "---\n{apiVersion: egplatform.platform.evillgenius.com/v1alpha1, kind: EGApp, metadata: {name: web}, \
               spec: {framework: go, environment: dev}}\n";
    let ran = run(alone().args(["render", "-f", "-"]), &app.repeat(1500));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout.matches("kind: Deployment").count(), 1500);
}

#[test]
fn a_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = run(alone().args(["completion", shell]), "");
        assert!(ran.code == 0 && ran.stdout.contains("kubectl-egapp"), "{shell}: {}", ran.stderr);
    }
}

#[test]
fn folders_and_several_files_are_taken_as_kubectl_takes_them() {
    let render = |paths: &[&str]| {
        let mut command = alone();
        command.args(["render", "-o", "json"]);
        for path in paths {
            command.arg("-f").arg(project(path));
        }
        run(&mut command, "")
    };
    let count = |paths: &[&str]| {
        let ran = render(paths);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let list: Value = serde_json::from_str(&ran.stdout).unwrap();
        list["items"].as_array().unwrap().iter().filter(|object| object["kind"] == "Deployment").count()
    };
    let sample = "config/samples/egplatform_v1alpha1_egapp.yaml";
    assert_eq!(count(&[sample, "config/samples/egplatform_v1alpha1_egapp_worker.yaml"]), 2);
    assert_eq!(count(&["config/samples", sample]), 8);
    let ran = render(&["config/rbac", "config/network-policy"]);
    assert_eq!(ran.code, 2);
    let holds_none = "holds no EGApp of egplatform.platform.evillgenius.com/v1alpha1";
    assert!(ran.stderr.contains("config/rbac, ") && ran.stderr.contains(holds_none), "{}", ran.stderr);
}
