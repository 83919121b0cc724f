//! What kubectl's own completion gets from the plugin.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::support::App;
use crate::support::app::with_image;
use crate::{cluster, run};

/// What kubectl would complete the line with, as its script for a shell asks for it.
fn completed(kubectl: &Path, kubeconfig: &Path, line: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let plugin = env!("CARGO_BIN_EXE_kubectl-egapp");
    for name in ["kubectl-egapp", "kubectl_complete-egapp"] {
        symlink(plugin, folder.path().join(name)).unwrap();
    }
    let mut command = Command::new(kubectl);
    command.env_clear().env("PATH", folder.path()).env("KUBECONFIG", kubeconfig);
    let ran = run(command.args(["__complete", "egapp"]).args(line), "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

#[tokio::test]
async fn kubectl_completes_commands_flags_and_the_names_of_apps() {
    let cluster = cluster().await;
    let app = App::named(cluster, "web").await;
    app.apply(&with_image(1)).await;
    app.sibling("worker").apply(&with_image(1)).await;
    let kubectl = cluster.assets().folder().join("kubectl");
    let completed = |line: &[&str]| completed(&kubectl, &cluster.kubeconfig(), line);
    assert_eq!(completed(&["explain", "-n", &app.namespace, ""]), "web\nworker\n:4\n");
    assert_eq!(completed(&["restart", "--namespace", &app.namespace, "wo"]), "worker\n:4\n");
    assert_eq!(completed(&["explain", "-n", &app.namespace, "web", ""]), ":4\n");
    assert!(completed(&["explain", "-n", "kube-sys"]).starts_with("kube-system\n:4"));
    assert_eq!(
        completed(&["rende"]),
        "render\tPrint the objects that an EGApp becomes, without any cluster\n:4\n"
    );
    assert_eq!(completed(&["explain", "web", "--output=j"]), "--output=json\tFor programs\n:4\n");
    assert_eq!(completed(&["render", "-f", ""]), ":0\n");
    assert_eq!(completed(&["nonsense", "-"]).lines().last(), Some(":4"));
}

#[test]
fn without_a_cluster_nothing_is_completed_and_nothing_complained_of() {
    let folder = tempfile::tempdir().unwrap();
    let called = folder.path().join("kubectl_complete-egapp");
    symlink(env!("CARGO_BIN_EXE_kubectl-egapp"), &called).unwrap();
    let ran = run(Command::new(called).env_clear().args(["explain", ""]), "");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, ":4\n", ""));
}
