//! One tenant against all: what a namespace suffers is no other's business.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cluster::Options;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::calls::without_controllers;
use crate::support::operator::install;
use crate::support::{App, Operator, eventually, holds, project};
use crate::{GOOD, PLATFORM, running};

const HANGING: usize = 200;

/// Half of what one call may take: none of those that hang can have ended by then.
const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn two_hundred_apps_behind_a_hanging_webhook_hold_up_no_app_elsewhere() {
    let (cluster, operator) = without_controllers().await;
    let slow = App::named(&cluster, "slow").await;
    let webhook = Hanging::listen();
    cluster.apply(&webhook.configuration(&slow.namespace)).await.unwrap();
    eventually("the webhook is in force", async || {
        let probe = ["create", "deployment", "probe", "--image=x:1", "--dry-run=server"];
        let arguments = [&["-n", slow.namespace.as_str(), "--request-timeout=1s"], &probe[..]].concat();
        let answer = cluster.kubectl(arguments).await;
        holds(webhook.asked() > 0, || format!("{answer:?}"))
    })
    .await;
    let before = webhook.asked();
    let (fast, others) = (App::named(&cluster, "web").await, App::named(&cluster, "web").await);

    cluster.apply(&list(&slow, HANGING)).await.unwrap();
    for app in [fast, others] {
        let (start, names) = (Instant::now(), 20);
        cluster.apply(&list(&app, names)).await.unwrap();
        eventually("every app elsewhere has its Deployment", async || {
            let made = app.items("deployments").await.len();
            holds(made == names, || format!("{made} of {names}"))
        })
        .await;
        let took = start.elapsed();
        assert!(took < SOON, "an app elsewhere waited: {took:?}");
    }
    assert!(webhook.asked() > before, "nothing hung");
    assert_eq!(slow.items("deployments").await.len(), 0);
    assert_eq!(operator.probe("/readyz").0, 200);
    operator.stop().await;
}

#[tokio::test]
async fn an_app_from_before_the_bounds_of_its_spec_lives_on() {
    let cluster = Options::api().start().await.unwrap();
    let (folder, file) = ("config/crd/bases", "egplatform.platform.evillgenius.com_egapps.yaml");
    let crd = std::fs::read_to_string(project(folder).join(file)).unwrap();
    cluster.apply(&crd.replace("16384", "32000")).await.unwrap();
    let app = App::named(&cluster, "web").await;
    let mut spec = running(GOOD, 1);
    spec["args"] = json!(vec!["a".repeat(1000); 30]);
    eventually("the CRD is served", async || {
        let served = cluster.kubectl(["-n", &app.namespace, "get", "egapps"]).await;
        served.map_err(|error| error.to_string())
    })
    .await;
    app.apply(&spec).await;

    install(&cluster).await;
    let other = app.sibling("other");
    eventually("the bounds are in force", async || {
        let manifest = other.manifest(&spec).to_string();
        let arguments = ["create", "--dry-run=server", "-f", "-"];
        let answer = cluster.admin().run_with_input(arguments, &manifest).await;
        holds(answer.is_err(), || "it is accepted".to_owned())
    })
    .await;
    let operator = Operator::start_on(&cluster, "manager", PLATFORM).await;
    app.until("it is told", |app| app["status"]["observedGeneration"] == 1).await;
    app.patch(&json!({ "spec": { "replicaCount": 2 } })).await;
    app.until_deployment("it is scaled", |deployment| deployment["spec"]["replicas"] == 2).await;
    app.until("it is told", |app| app["status"]["observedGeneration"] == 2).await;
    let more = json!({ "spec": { "args": vec!["b".repeat(1000); 30] } }).to_string();
    let arguments = ["-n", &app.namespace, "patch", "egapp", "web", "--type=merge", "-p", &more];
    let refused = cluster.kubectl(arguments).await.unwrap_err().to_string();
    assert!(refused.contains("must have no more than 16384 bytes together"), "{refused}");
    operator.stop().await;
}

/// So many apps in the namespace of that one.
fn list(app: &App<'_>, count: usize) -> String {
    let one = |number| app.sibling(&format!("{}-{number}", app.name)).manifest(&running(GOOD, 1));
    let items: Vec<Value> = (0..count).map(one).collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()
}

/// A webhook that takes every call and never answers.
struct Hanging {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Hanging {
    fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, asked) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming() {
                held.push(stream);
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn configuration(&self, namespace: &str) -> String {
        let rule = |group: &str, resources: &[&str]| {
            json!({
                "apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": resources,
            })
        };
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": namespace },
            "webhooks": [{
                "name": "hanging.test.example.com",
                "clientConfig": { "url": format!("https://127.0.0.1:{}/", self.port) },
                "rules": [rule("apps", &["deployments"]), rule("", &["services"]), rule("policy", &["poddisruptionbudgets"])],
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
                "failurePolicy": "Fail",
                "timeoutSeconds": 30,
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }],
        })
        .to_string()
    }
}
