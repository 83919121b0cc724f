//! The program that people use, and that nothing outlives it.
#![allow(clippy::unwrap_used, reason = "the helpers of a test are part of it")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

fn cluster(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cluster"));
    command.args(arguments);
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Programs whose command line names the directory. A dead one that nobody has reaped has none.
fn processes_of(directory: &Path) -> Vec<String> {
    let directory = directory.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(directory)).map(|line| line.replace('\0', " ")).collect()
}

fn wait_until(what: &str, is_done: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_done() {
        assert!(started.elapsed() < Duration::from_secs(10), "not in time: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A `cluster run` whose command prints its kubeconfig and then waits for the end of its stdin.
struct Running {
    child: Child,
    // Held: to wait for a child would close it first, and end the command before the signal does.
    _stdin: ChildStdin,
    _stdout: BufReader<ChildStdout>,
    kubeconfig: String,
}

fn running() -> Running {
    let script = "trap 'exit 9' TERM; echo $KUBECONFIG; read -r _";
    let mut child = cluster(&["run", "--api-only", "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    Running { child, _stdin: stdin, _stdout: stdout, kubeconfig: line.trim().to_owned() }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn children_and_directory_of_a_killed_process_are_gone() {
    let mut running = running();
    let directory = Path::new(&running.kubeconfig).parent().unwrap();
    let alive = processes_of(directory);
    assert!(alive.iter().any(|line| line.contains("/kube-apiserver ")), "{alive:?}");
    assert!(alive.iter().any(|line| line.contains("/etcd ")), "{alive:?}");

    signal(&running.child, Signal::KILL);
    running.child.wait().unwrap();
    wait_until("no process is left", || processes_of(directory).is_empty());
    wait_until("the directory is removed", || !directory.exists());
}

#[test]
fn a_terminated_run_ends_its_command_and_its_cluster() {
    let mut running = running();
    signal(&running.child, Signal::TERM);
    assert_eq!(running.child.wait().unwrap().code(), Some(9), "the command saw the signal");
    let directory = Path::new(&running.kubeconfig).parent().unwrap();
    assert!(processes_of(directory).is_empty());
    assert!(!directory.exists());
}

#[test]
fn run_offers_a_cluster_to_the_command_and_passes_its_exit_code() {
    let script = "kubectl get nodes -o name && exit 7";
    let output = cluster(&["run", "--", "sh", "-c", script]).output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "node/fake-node-a\nnode/fake-node-b\nnode/fake-node-c\n"
    );
}

#[test]
fn up_and_down_are_safe_to_repeat() {
    let folder = tempfile::tempdir().unwrap();
    let run = |command: &str| {
        let output = cluster(&[command, "--dir", "it's a dir"]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        output
    };
    assert!(stderr(&run("down")).contains("no cluster runs in it's a dir"));

    let first = run("up");
    let export = String::from_utf8_lossy(&first.stdout).into_owned();
    assert!(stderr(&first).contains("stop it with: "), "{}", stderr(&first));
    let list = format!("{export}\nexec \"$1\" get nodes -o name");
    let program = stderr(&first).lines().find_map(|line| line.split("kubectl is ").nth(1).map(str::to_owned));
    let output = Command::new("sh").args(["-c", &list, "sh", &program.unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));

    let second = run("up");
    assert!(stderr(&second).contains("a cluster runs in it's a dir already"), "{}", stderr(&second));
    assert_eq!(second.stdout, first.stdout);

    run("down");
    assert!(!folder.path().join("it's a dir").exists());
    assert!(processes_of(folder.path()).is_empty());
    assert!(stderr(&run("down")).contains("no cluster runs in"));
}

#[test]
fn up_touches_no_directory_of_others() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "").unwrap();
    let output = cluster(&["up", "--dir"]).arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is not empty and holds no cluster"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_missing_go_says_what_to_install() {
    let empty = tempfile::tempdir().unwrap();
    let output = cluster(&["assets"])
        .env("PATH", empty.path())
        .env("XDG_CACHE_HOME", empty.path())
        .env_remove("KUBEBUILDER_ASSETS")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(message.contains("install Go 1.26 or newer (https://go.dev/dl)"), "{message}");
    assert!(message.contains("set KUBEBUILDER_ASSETS"), "{message}");
}

#[test]
fn an_unknown_command_is_told_apart_from_a_failed_one() {
    let output = cluster(&["run", "--api-only", "--", "no-such-command"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(stderr(&output).contains("cannot run no-such-command"), "{}", stderr(&output));
}
