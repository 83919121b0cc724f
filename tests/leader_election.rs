//! Two managers and one lease on a real API server: who leads, who takes over, and when; and what a manager asks the API
//! server for before it leads.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where its setting fails; a missing field of JSON reads as null"
)]

mod support;

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use cluster::{Cluster, Companion, Identity, Options, Part, Shared};
use serde_json::{Value, json};

use support::app::five_fields;
use support::http::get;
use support::{App, eventually, holds, project};

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
        self.manager(name, &self.cluster.kubeconfig(), "--leader-elect").await
    }

    async fn manager(&self, name: &str, kubeconfig: &Path, elect: &str) -> Contender {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manager"));
        command
            .args([elect, "--health-probe-bind-address=127.0.0.1:0"])
            .args(["--metrics-bind-address=127.0.0.1:0", "--metrics-secure=false"])
            .arg(format!("--leader-election-id={LEASE}"))
            .arg(format!("--leader-election-namespace={}", self.namespace))
            .arg(format!("--kubeconfig={}", kubeconfig.display()));
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
        self.metric(&format!("leader_election_master_status{{name=\"{LEASE}\"}}")) == Some(1.0)
    }

    fn metric(&self, series: &str) -> Option<f64> {
        let (_, text) = get(&self.metrics, "/metrics");
        let line = text.lines().find(|line| line.starts_with(series))?;
        line.rsplit_once(' ')?.1.parse().ok()
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

#[tokio::test]
async fn a_standby_queues_nothing_and_works_on_what_is_there_once_it_leads() {
    // Nobody else works on the EGApps of this one.
    let cluster = api_with_crd().start().await.unwrap();
    let election = Election::on(&cluster).await;
    let (mut leader, standby) = election.leader_and_standby().await;
    let first = App::named(&cluster, "app-0").await;
    let apps: Vec<_> = (0..20).map(|number| first.sibling(&format!("app-{number}"))).collect();
    for app in &apps {
        app.apply(&five_fields("go", "dev")).await;
    }
    let deployments = async |wanted: usize| {
        eventually("the Deployments", async || {
            let count = first.items("deployments").await.len();
            holds(count == wanted, || count.to_string())
        })
        .await;
    };
    deployments(20).await;
    for app in &apps[10..] {
        app.kubectl(&["delete", "egapp", &app.name]).await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    for series in ["workqueue_depth{", "workqueue_adds_total{"] {
        assert_eq!(standby.metric(series), Some(0.0), "{series}");
    }
    first.kubectl(&["delete", "deployments", "--all"]).await;
    deployments(10).await;
    leader.send("-KILL");
    leader.ended().await;
    first.kubectl(&["delete", "deployments", "--all"]).await;
    standby.until_leading().await;
    deployments(10).await;
    let waited = standby.metric("workqueue_queue_duration_seconds_sum{").unwrap();
    assert!(waited < 20.0, "{waited} s");
    eventually("the queue is empty", async || {
        let depth = standby.metric("workqueue_depth{");
        holds(depth == Some(0.0), || format!("{depth:?}"))
    })
    .await;
}

#[tokio::test]
async fn a_list_is_as_new_as_its_request() {
    let election = Election::on(CLUSTER.get().await.unwrap()).await;
    let mark = election.cluster.audit_mark().unwrap();
    let contender = election.contender("reader").await;
    contender.until_leading().await;
    let lists = eventually("six kinds are listed", async || {
        // Other tests have managers of their own, that began before or after; none asks otherwise.
        let watches = election.cluster.audit_since(mark).unwrap().user_agent("pe-app/").verb("watch");
        let lists = watches.filter(|event| event.uri.contains("sendInitialEvents=true")).events();
        let answered = lists.iter().filter(|list| list.code == 200).count();
        holds(answered >= 6, || format!("{lists:#?}")).map(|()| lists)
    })
    .await;
    let is_of_any_age = |uri: &str| uri.split(['?', '&']).any(|pair| pair == "resourceVersion=0");
    assert!(lists.iter().all(|list| !is_of_any_age(&list.uri)), "{lists:#?}");
}

#[tokio::test]
async fn a_kind_that_may_be_listed_and_not_watched_costs_ever_fewer_lists_and_is_told_once() {
    let options = api_with_crd().api_server_flag("--feature-gates=WatchList=false");
    let cluster = options.start().await.unwrap();
    let election = Election::on(&cluster).await;
    let rights = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({ "apiGroups": groups, "resources": resources, "verbs": verbs });
    let others =
        ["egapps", "deployments", "poddisruptionbudgets", "horizontalpodautoscalers", "pods", "leases"];
    let role = |verbs: &[&str]| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "lister" },
            "rules": [rights(&["*"], &others, &["*"]), rights(&[""], &["services"], verbs)],
        })
    };
    cluster.apply(&role(&["list", "watch"]).to_string()).await.unwrap();
    let bind = ["create", "clusterrolebinding", "lister", "--clusterrole=lister", "--user=lister"];
    cluster.kubectl(bind).await.unwrap();
    let kubeconfig = cluster.kubeconfig_for(&Identity::user("lister")).await.unwrap();
    let contender = election.manager("lister", &kubeconfig, "--leader-elect=false").await;
    eventually("it is ready", async || {
        let (code, text) = get(&contender.probes, "/readyz?verbose");
        holds(code == 200, || text)
    })
    .await;
    cluster.apply(&role(&["list"]).to_string()).await.unwrap();
    // Ends the watches that are open.
    cluster.kill(Part::ApiServer).unwrap();
    cluster.start(Part::ApiServer).await.unwrap();
    let forbidden = "egapp_watch_forbidden{kind=\"Service\"";
    eventually("it is refused", async || holds(contender.metric(forbidden) == Some(1.0), || contender.log()))
        .await;
    let mark = cluster.audit_mark().unwrap();
    for _ in 0..200 {
        assert_eq!(contender.metric(forbidden), Some(1.0));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let lists = cluster.audit_since(mark).unwrap().user("lister").resource("services").verb("list");
    assert!((1..=5).contains(&lists.count()), "{lists:#?}");
    let all = cluster.audit().unwrap().user("lister").verb("list");
    let of_some_age = all.filter(|list| list.uri.contains("resourceVersion="));
    assert_eq!(of_some_age.count(), 0, "{of_some_age:#?}");
    let told = contender.log().matches("the operator may not list or watch Services").count();
    assert_eq!(told, 1, "{}", contender.log());
    cluster.apply(&role(&["list", "watch"]).to_string()).await.unwrap();
    eventually("the right is back", async || {
        let value = contender.metric(forbidden);
        holds(value == Some(0.0), || format!("{value:?}"))
    })
    .await;
}
