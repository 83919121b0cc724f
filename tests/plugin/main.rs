//! `kubectl egapp`, run as its users run it: through kubectl, on a control plane with the operator at work, and without any.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its setting fails"
)]
#![allow(clippy::indexing_slicing, reason = "a missing field of JSON reads as null")]

#[path = "../support/mod.rs"]
mod support;

mod complete;
mod diff;
mod explain;
mod render;
mod restart;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cluster::{Cluster, Identity};
use serde_json::{Value, json};
use support::App;
use support::operator::SHIPPED;
use support::setting::Setting;

static SETTING: Setting = Setting::new(SHIPPED);

async fn cluster() -> &'static Cluster {
    SETTING.cluster().await
}

/// What a run of the plugin came to.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Runs a command with `input` on its standard input.
fn run(command: &mut Command, input: &str) -> Ran {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // Who does not read it all has ended.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code().unwrap(), stdout: text(stdout), stderr: text(stderr) }
}

/// The plugin by itself, with neither a home nor a kubeconfig.
fn alone() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-egapp"));
    command.env_clear();
    command
}

/// The plugin through kubectl, as an administrator in the namespace of an app.
fn through_kubectl(app: &App<'_>, arguments: &[&str], input: &str) -> Ran {
    run(&mut kubectl_egapp(app, arguments), input)
}

fn kubectl_egapp(app: &App<'_>, arguments: &[&str]) -> Command {
    let folder = Path::new(env!("CARGO_BIN_EXE_kubectl-egapp")).parent().unwrap();
    let kubectl = app.cluster.assets().folder().join("kubectl");
    let mut command = Command::new(kubectl);
    command.env_clear().env("PATH", folder).env("KUBECONFIG", app.cluster.kubeconfig());
    command.arg("egapp").args(arguments).args(["-n", &app.namespace]);
    command
}

/// The resource of EGApps, for a role.
const EGAPPS: &str = "egapps.egplatform.platform.evillgenius.com";

/// The kubeconfig of a user who has these rights in the namespace of an app: verbs on resources.
async fn with_rights(app: &App<'_>, rights: &[(&str, &str)]) -> PathBuf {
    app.kubectl(&["create", "serviceaccount", "dev"]).await;
    let account = format!("--serviceaccount={}:dev", app.namespace);
    for (number, (verbs, resources)) in rights.iter().enumerate() {
        let (name, verbs, resources) =
            (format!("dev-{number}"), format!("--verb={verbs}"), format!("--resource={resources}"));
        app.kubectl(&["create", "role", &name, &verbs, &resources]).await;
        app.kubectl(&["create", "rolebinding", &name, &format!("--role={name}"), &account]).await;
    }
    let identity = Identity::service_account(&app.namespace, "dev");
    app.cluster.kubeconfig_for(&identity).await.unwrap()
}

/// The manifest of an app.
fn manifest(app: &App<'_>, spec: &Value) -> String {
    let manifest = json!({
        "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp",
        "metadata": { "name": app.name, "namespace": app.namespace }, "spec": spec,
    });
    manifest.to_string()
}
