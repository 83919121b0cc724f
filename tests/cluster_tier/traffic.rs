//! Where traffic goes while an app's port changes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster;
use crate::support::app::{reason, with_image};
use crate::support::operator::requests;
use crate::support::watch::Watch;
use crate::support::{App, eventually, holds};

/// The last state of each object by its name.
fn latest(states: &[Value]) -> BTreeMap<&str, &Value> {
    states.iter().map(|state| (state["metadata"]["name"].as_str().unwrap(), state)).collect()
}

/// Ready endpoints of a slice with another port than their pod's.
fn wrong_endpoints<'a>(slice: &'a Value, pods: &BTreeMap<&str, &Value>) -> Vec<&'a str> {
    let ports = slice["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let endpoints = slice["endpoints"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ready = endpoints.iter().filter(|endpoint| endpoint["conditions"]["ready"] == true);
    let names = ready.map(|endpoint| endpoint["targetRef"]["name"].as_str().unwrap());
    let is_right = |name: &&str| {
        // A pod that the other watch has not shown yet is judged when it has.
        pods.get(name).is_none_or(|pod| {
            let own = &pod["spec"]["containers"][0]["ports"][0]["containerPort"];
            ports.len() == 1 && ports[0]["port"] == *own
        })
    };
    names.filter(|name| !is_right(name)).collect()
}

/// Follows the rollout to that port to its end; for how many endpoint-seconds traffic went to a wrong port.
async fn wrong_until(app: &App<'_>, port: i32, slices: &Watch, pods: &Watch) -> f64 {
    let (mut wrong, mut last) = (0.0, Instant::now());
    eventually("all endpoints have the new port", async || {
        let (slices, pods) = (slices.states(), pods.states());
        let (slices, pods) = (latest(&slices), latest(&pods));
        let count = slices.values().map(|slice| wrong_endpoints(slice, &pods).len()).sum::<usize>();
        wrong += f64::from(u32::try_from(count).unwrap()) * last.elapsed().as_secs_f64();
        last = Instant::now();
        let app = app.get().await;
        let is_told = app["status"]["observedGeneration"] == app["metadata"]["generation"];
        let is_done = is_told && reason(&app) == "Available" && app["status"]["replicas"] == 3;
        let with = |slice: &Value| slice["ports"][0]["port"] == port;
        let ready =
            slices.values().filter(|slice| with(slice)).filter_map(|slice| slice["endpoints"].as_array());
        let ready = ready.flatten().filter(|endpoint| endpoint["conditions"]["ready"] == true).count();
        holds(is_done && ready == 3, || format!("{ready} ready: {app:#}"))
    })
    .await;
    wrong
}

/// By one write. Traffic goes to the port that it went to before.
async fn a_service_of_a_former_release_is_brought_up_to_date(app: &App<'_>) {
    let mut service = app.object("service").await.unwrap();
    assert_eq!(service["spec"]["ports"][0]["targetPort"], "http");
    service["spec"]["ports"][0]["targetPort"] = json!(8080);
    for field in ["managedFields", "resourceVersion", "creationTimestamp"] {
        service["metadata"].as_object_mut().unwrap().remove(field);
    }
    service.as_object_mut().unwrap().remove("status");
    let mark = app.cluster.audit_mark().unwrap();
    let apply =
        ["apply", "--server-side", "--field-manager=egapp-controller", "--force-conflicts", "-f", "-"];
    app.cluster.admin().run_with_input(apply, &service.to_string()).await.unwrap();
    eventually("the Service leads to the port by its name", async || {
        let service = app.object("service").await.unwrap();
        holds(service["spec"]["ports"][0]["targetPort"] == "http", || format!("{service:#}"))
    })
    .await;
    let writes = requests(app.cluster, mark).namespace(&app.namespace).writes().resource("services");
    assert_eq!(writes.count(), 1, "{writes:#?}");
}

#[tokio::test]
async fn every_ready_endpoint_has_the_port_of_its_own_pod_while_the_port_changes() {
    let mut spec = with_image(3);
    spec["image"] = json!("fail.example/slowready:2");
    let app = App::ready(cluster().await, "web", &spec).await;
    let slices = Watch::begin(&app, "endpointslices", "slices").await;
    let pods = Watch::begin(&app, "pods", "pods").await;
    a_service_of_a_former_release_is_brought_up_to_date(&app).await;
    let mut wrong = wrong_until(&app, 8080, &slices, &pods).await;
    for port in [9090, 7070] {
        app.patch(&json!({ "spec": { "port": port } })).await;
        wrong += wrong_until(&app, port, &slices, &pods).await;
    }
    let (states, pods) = (slices.states(), pods.states());
    let pods = latest(&pods);
    let all: Vec<_> = states.iter().flat_map(|slice| wrong_endpoints(slice, &pods)).collect();
    assert!(states.len() > 6, "only {} states", states.len());
    assert!(wrong == 0.0 && all.is_empty(), "{wrong:.1} endpoint-seconds; {all:?}");
}
