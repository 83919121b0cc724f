//! Two managers and one lease on a real API server: who leads, who takes over, and when.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where its setting fails; a missing field of JSON reads as null"
)]

mod support;

use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use cluster::{Cluster, Companion, Options, Part, Shared};
use serde_json::Value;

use support::http::get;
use support::{eventually, holds, project};

const LEASE: &str = "test.platform.evillgenius.com";

static CLUSTER: Shared = Shared::new(api_with_crd);

fn api_with_crd() -> Options {
    Options::api().manifest(project("config/crd/bases"))
}

/// A place for one election.
struct Election<'a> {
    cluster: &'a Cluster,
    namespace: String,
}

/// A manager that takes part in it.
struct Contender {
    process: Companion,
    probes: String,
    metrics: String,
}

impl<'a> Election<'a> {
    async fn on(cluster: &'a Cluster) -> Self {
        let namespace = cluster.namespace("election").await.unwrap();
        Self { cluster, namespace }
    }

    async fn contender(&self, name: &str) -> Contender {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manager"));
        command
            .args(["--leader-elect", "--health-probe-bind-address=127.0.0.1:0"])
            .args(["--metrics-bind-address=127.0.0.1:0", "--metrics-secure=false"])
            .arg(format!("--leader-election-id={LEASE}"))
            .arg(format!("--leader-election-namespace={}", self.namespace))
            .arg(format!("--kubeconfig={}", self.cluster.kubeconfig().display()));
        let process = self.cluster.companion(&format!("{}-{name}", self.namespace), &mut command).unwrap();
        let probes = address(&process, "Serving health probes").await;
        let metrics = address(&process, "Serving metrics server").await;
        Contender { process, probes, metrics }
    }

    /// Starts one, waits until it leads, and starts a second one that stands by.
    async fn leader_and_standby(&self) -> (Contender, Contender) {
        let leader = self.contender("leader").await;
        leader.until_leading().await;
        let standby = self.contender("standby").await;
        standby.until_standing_by().await;
        (leader, standby)
    }

    async fn lease(&self) -> Value {
        let lease = self.cluster.kubectl_json(["-n", &self.namespace, "get", "lease", LEASE]).await.unwrap();
        lease["spec"].clone()
    }

    async fn holder(&self) -> String {
        self.lease().await["holderIdentity"].as_str().unwrap_or_default().to_owned()
    }
}

impl Contender {
    fn leads(&self) -> bool {
        let (_, text) = get(&self.metrics, "/metrics");
        text.contains(&format!("leader_election_master_status{{name=\"{LEASE}\"}} 1\n"))
    }

    async fn until_leading(&self) {
        eventually("it leads", async || holds(self.leads(), || self.log())).await;
    }

    async fn until_standing_by(&self) {
        eventually("it stands by", async || holds(self.log().contains("standing by"), || self.log())).await;
        eventually("a standby is ready", async || {
            let (code, text) = get(&self.probes, "/readyz");
            holds(code == 200, || text)
        })
        .await;
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.process.log()).unwrap()
    }

    fn send(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    async fn ended(&mut self) -> ExitStatus {
        self.process.wait(Duration::from_secs(30)).await.unwrap()
    }
}

async fn address(process: &Companion, message: &str) -> String {
    eventually(message, async || {
        let text = std::fs::read_to_string(process.log()).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let line = lines.into_iter().find(|line| line["msg"] == message).ok_or(text.clone())?;
        Ok(line["bindAddress"].as_str().unwrap().to_owned())
    })
    .await
}

#[tokio::test]
async fn of_two_managers_that_race_one_leads_and_the_other_stays_ready() {
    let election = Election::on(CLUSTER.get().await.unwrap()).await;
    let (a, b) = tokio::join!(election.contender("a"), election.contender("b"));
    eventually("one leads", async || holds(a.leads() || b.leads(), || a.log() + &b.log())).await;
    let standby = if a.leads() { &b } else { &a };
    standby.until_standing_by().await;
    for _ in 0..30 {
        assert!(!(a.leads() && b.leads()), "both lead");
        assert_eq!(get(&standby.probes, "/healthz").0, 200);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let lease = election.lease().await;
    assert_eq!((&lease["leaseDurationSeconds"], &lease["leaseTransitions"]), (&15.into(), &0.into()));
    assert_ne!(lease["acquireTime"], lease["renewTime"], "the lease is renewed");
}

#[tokio::test]
async fn sigterm_hands_the_lease_over_within_two_seconds() {
    let election = Election::on(CLUSTER.get().await.unwrap()).await;
    let (mut leader, standby) = election.leader_and_standby().await;
    leader.send("-TERM");
    let status = leader.ended().await;
    let ended = Instant::now();
    assert!(status.success(), "{}", leader.log());
    assert!(leader.log().contains("released the leader lease"), "{}", leader.log());
    standby.until_leading().await;
    let took = ended.elapsed();
    assert!(took < Duration::from_secs(2), "the lease was free for {took:?}");
    assert_eq!(election.lease().await["leaseTransitions"], 1);
}

#[tokio::test]
async fn after_kill_9_the_standby_leads_once_the_lease_has_expired() {
    let election = Election::on(CLUSTER.get().await.unwrap()).await;
    let (mut leader, standby) = election.leader_and_standby().await;
    leader.send("-KILL");
    let killed = Instant::now();
    leader.ended().await;
    standby.until_leading().await;
    let took = killed.elapsed();
    // The last renewal is up to two seconds older than the kill, and seen up to two seconds later than made.
    assert!((Duration::from_secs(12)..Duration::from_secs(19)).contains(&took), "taken over after {took:?}");
}

#[tokio::test]
async fn a_leader_writes_its_lease_every_two_seconds_and_does_not_read_it() {
    let election = Election::on(CLUSTER.get().await.unwrap()).await;
    let leader = election.contender("leader").await;
    leader.until_leading().await;
    let mark = election.cluster.audit_mark().unwrap();
    tokio::time::sleep(Duration::from_secs(7)).await;
    let requests =
        || election.cluster.audit_since(mark).unwrap().resource("leases").namespace(&election.namespace);
    let writes = requests().writes().count();
    assert!((2..=4).contains(&writes), "{writes} writes in 7 s");
    assert_eq!(requests().count(), writes, "{:?}", requests().events());
}

#[tokio::test]
async fn a_leader_whose_lease_names_another_ends_with_an_error_and_leaves_the_lease_alone() {
    let election = Election::on(CLUSTER.get().await.unwrap()).await;
    let mut leader = election.contender("leader").await;
    leader.until_leading().await;
    let patch = r#"{"spec":{"holderIdentity":"somebody-else"}}"#;
    let arguments = ["-n", &election.namespace, "patch", "lease", LEASE, "--type=merge", "-p", patch];
    election.cluster.kubectl(arguments).await.unwrap();
    let status = leader.ended().await;
    assert_eq!(status.code(), Some(1));
    let log = leader.log();
    let last = log.lines().last().unwrap();
    assert!(last.contains("leader election lost") && last.contains("is held by somebody-else now"), "{log}");
    assert_eq!(election.holder().await, "somebody-else");
}

#[tokio::test]
async fn a_leader_that_was_frozen_ends_once_thawed_and_the_new_leader_keeps_the_lease() {
    let election = Election::on(CLUSTER.get().await.unwrap()).await;
    let (mut leader, standby) = election.leader_and_standby().await;
    leader.send("-STOP");
    standby.until_leading().await;
    let holder = election.holder().await;
    leader.send("-CONT");
    assert_eq!(leader.ended().await.code(), Some(1), "{}", leader.log());
    assert!(leader.log().contains("leader election lost"), "{}", leader.log());
    assert_eq!(election.holder().await, holder);
    assert!(standby.leads());
}

#[tokio::test]
async fn a_leader_that_cannot_renew_ends_by_its_deadline_while_a_standby_waits_and_takes_over() {
    let cluster = api_with_crd().start().await.unwrap();
    let election = Election::on(&cluster).await;
    let (mut leader, standby) = election.leader_and_standby().await;
    cluster.pause(Part::ApiServer).unwrap();
    let paused = Instant::now();
    assert_eq!(leader.ended().await.code(), Some(1), "{}", leader.log());
    let took = paused.elapsed();
    assert!((Duration::from_secs(7)..Duration::from_secs(12)).contains(&took), "it ended after {took:?}");
    assert!(leader.log().contains("could not be renewed for 10 s"), "{}", leader.log());
    assert_eq!(get(&standby.probes, "/healthz").0, 200);
    cluster.resume(Part::ApiServer).unwrap();
    standby.until_leading().await;
    drop((leader, standby));
    cluster.shutdown().await.unwrap();
}
