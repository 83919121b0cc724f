//! The built manager where it cannot or need not start: one clear line and the right exit code. No cluster.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where its setting fails; a missing field of JSON reads as null"
)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The manager with a home without kubeconfig, outside of any pod.
fn manager(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manager"));
    command.env_clear().env("HOME", home);
    command
}

fn run(arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    manager(home.path()).args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The one line that the manager logged, and nothing else.
fn only_line(output: &Output) -> Value {
    let text = stderr(output);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(output.stdout, b"", "nothing goes to standard output");
    serde_json::from_str(&text).unwrap()
}

/// The error of the one line of a manager that could not start.
fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let line = only_line(&output);
    assert_eq!((&line["level"], &line["msg"]), (&"error".into(), &"problem running manager".into()));
    line["error"].as_str().unwrap().to_owned()
}

/// A kubeconfig for an API server that is not there.
fn kubeconfig(directory: &Path) -> String {
    let path = directory.join("kubeconfig");
    let text = "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], \
                clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: u, user: {}}]}";
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn without_a_cluster_one_line_says_what_was_tried_and_what_to_do() {
    let error = refusal(&[]);
    for part in ["found no Kubernetes cluster", "~/.kube/config", "--kubeconfig", "KUBECONFIG"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_missing_kubeconfig_is_named_together_with_its_flag() {
    let error = refusal(&["--kubeconfig=/does/not/exist"]);
    assert!(
        error.starts_with("cannot use the kubeconfig given by --kubeconfig=/does/not/exist: "),
        "{error}"
    );
    assert!(error.contains("No such file"), "{error}");
}

#[test]
fn a_broken_kubeconfig_is_one_line_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    std::fs::write(&path, "clusters: [\n: :").unwrap();
    let error = refusal(&[&format!("--kubeconfig={}", path.display())]);
    assert!(error.contains("cannot use the kubeconfig"), "{error}");
}

#[test]
fn the_kubeconfig_variable_is_named_where_it_is_at_fault() {
    let home = tempfile::tempdir().unwrap();
    let output = manager(home.path()).env("KUBECONFIG", "/does/not/exist").output().unwrap();
    let error = only_line(&output)["error"].to_string();
    assert!(error.contains("given by KUBECONFIG=/does/not/exist"), "{error}");
}

#[test]
fn secure_metrics_are_refused_rather_than_served_as_plain_text() {
    let error = refusal(&["--metrics-bind-address=:0"]);
    assert!(
        error.contains("--metrics-secure=false") && error.contains("--metrics-bind-address=0"),
        "{error}"
    );
}

#[test]
fn a_taken_port_is_one_line_that_names_its_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let address = format!("--health-probe-bind-address={}", taken.local_addr().unwrap());
    let kubeconfig = format!("--kubeconfig={}", kubeconfig(directory.path()));
    let output = run(&[&kubeconfig, &address]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert!(last["error"].as_str().unwrap().starts_with(&format!("cannot listen on {address}: ")), "{text}");
}

#[test]
fn a_bad_platform_file_is_one_line_with_all_that_is_wrong_by_file_line_and_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("platform.yaml");
    let text = "apiVersion: config.platform.evillgenius.com/v1alpha1\nkind: PlatformConfig\nsizes:\n  lowMem: {cpus: 1}\n";
    std::fs::write(&path, text).unwrap();
    let error = refusal(&[&format!("--platform-config={}", path.display())]);
    assert!(error.starts_with("cannot use the platform file, 6 errors: (1) "), "{error}");
    for wrong in [
        "3:1: sizes.highMem is missing",
        "4:12: sizes.lowMem.cpus is not a key of this file; allowed here: cpu, memory",
    ] {
        assert!(error.contains(&format!("{}:{wrong}", path.display())), "{wrong}: {error}");
    }
}

#[test]
fn a_bad_list_of_namespaces_is_one_line_with_the_variable_and_the_entry() {
    let home = tempfile::tempdir().unwrap();
    for (value, said) in [
        ("team-a, team-b", "\" team-b\" is no name of a namespace"),
        ("Team", "\"Team\" is no name of a namespace"),
        ("a,,b", "has an empty entry"),
        ("a,b,a", "names \"a\" twice"),
    ] {
        let output = manager(home.path()).env("WATCH_NAMESPACE", value).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let error = only_line(&output)["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with(&format!("WATCH_NAMESPACE={value:?}")) && error.contains(said), "{error}");
    }
}

#[test]
fn a_missing_platform_file_is_named_together_with_its_flag() {
    let error = refusal(&["-platform-config", "/does/not/exist"]);
    assert!(
        error.starts_with("cannot read the platform file /does/not/exist given by --platform-config: "),
        "{error}"
    );
}

#[test]
fn an_unknown_flag_ends_with_usage_and_exit_code_2() {
    let output = run(&["-metrics-bind-adress=:8080"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--metrics-bind-address"), "{}", stderr(&output));
}

#[test]
fn the_version_goes_to_standard_output() {
    let output = run(&["--version"]);
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("manager {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(output.stderr, b"");
}

#[test]
fn help_shows_every_flag_of_a_scaffolded_manager() {
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    for flag in [
        "--metrics-bind-address",
        "--health-probe-bind-address",
        "--leader-elect",
        "--metrics-secure",
        "--enable-http2",
        "--kubeconfig",
        "--platform-config",
        "--zap-devel",
        "--zap-encoder",
        "--zap-log-level",
        "--zap-stacktrace-level",
        "--zap-time-encoding",
        "WATCH_NAMESPACE",
    ] {
        assert!(help.contains(flag), "{flag} is missing in:\n{help}");
    }
}

#[test]
fn without_an_api_server_probes_answer_readiness_says_why_and_sigterm_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut manager = manager(directory.path())
        .args([
            &format!("--kubeconfig={}", kubeconfig(directory.path())),
            "-health-probe-bind-address=127.0.0.1:0",
            concat!("--platform-config=", env!("CARGO_MANIFEST_DIR"), "/config/manager/platform.yaml"),
        ])
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let address = serving(&log);
    assert!(get(&address, "/healthz").ends_with("ok"));
    let readiness = get(&address, "/readyz");
    assert!(readiness.starts_with("HTTP/1.1 500 ") && readiness.contains("[-]"), "{readiness}");
    let asked = Instant::now();
    let killed = Command::new("kill").arg(manager.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert!(manager.wait().unwrap().success(), "{}", std::fs::read_to_string(&log).unwrap());
    assert!(asked.elapsed() < Duration::from_secs(5), "it took {:?} to stop", asked.elapsed());
}

/// The address of the probes, once they are served.
fn serving(log: &Path) -> String {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let text = std::fs::read_to_string(log).unwrap();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        if let Some(line) = lines.into_iter().find(|line| line["msg"] == "Serving health probes") {
            return line["bindAddress"].as_str().unwrap().to_owned();
        }
        assert!(Instant::now() < deadline, "the probes are not served: {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
