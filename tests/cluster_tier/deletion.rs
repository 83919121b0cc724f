//! Deleting an EGApp, in every way that kubectl offers: the garbage collector does the work, the operator keeps out.

use std::time::Duration;

use serde_json::Value;

use crate::cluster;
use crate::support::App;
use crate::support::app::with_image;
use crate::support::operator::{requests, user};

#[tokio::test]
async fn nothing_is_left_and_nothing_comes_back() {
    let app = App::ready(cluster().await, "web", &with_image(2)).await;
    app.kubectl(&["delete", "egapp", "web"]).await;
    app.until_gone("egapps,deployments,replicasets,pods").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    app.until_gone("deployments").await;
}

#[tokio::test]
async fn foreground_deletion_waits_for_the_children_and_gets_no_child_write() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &with_image(2)).await;
    let mark = cluster.audit_mark().unwrap();
    app.kubectl(&["delete", "egapp", "web", "--cascade=foreground"]).await;
    app.until_gone("deployments,services,replicasets,pods").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let writes = requests(cluster, mark).namespace(&app.namespace).writes();
    assert_eq!(writes.count(), 0, "{writes:#?}");
}

#[tokio::test]
async fn orphaned_children_live_on_and_a_new_app_of_the_name_adopts_them() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &with_image(1)).await;
    let (before, pods) = (app.deployment().await, app.pod_names().await);
    let mark = cluster.audit_mark().unwrap();
    app.kubectl(&["delete", "egapp", "web", "--cascade=orphan"]).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let orphan = app.deployment().await;
    assert_eq!(orphan["metadata"]["ownerReferences"], Value::Null, "{orphan:#}");
    let writes = cluster.audit_since(mark).unwrap().user(&user()).namespace(&app.namespace).writes();
    assert_eq!(writes.clone().resource("deployments").count(), 0, "{writes:#?}");

    app.apply(&with_image(1)).await;
    app.wait_ready().await;
    let adopted = app.deployment().await;
    assert_eq!(adopted["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(adopted["metadata"]["ownerReferences"][0]["uid"], app.get().await["metadata"]["uid"]);
    assert_eq!(app.pod_names().await, pods, "not a pod was restarted");
}

#[tokio::test]
async fn an_app_made_anew_under_the_same_name_gets_a_deployment_of_its_own() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let before = app.deployment().await["metadata"]["uid"].clone();
    app.kubectl(&["delete", "egapp", "web", "--wait=false"]).await;
    app.apply(&with_image(1)).await;
    let uid = app.get().await["metadata"]["uid"].clone();
    let after = app
        .until_deployment("the new app owns it", |live| live["metadata"]["ownerReferences"][0]["uid"] == uid)
        .await;
    assert_ne!(after["metadata"]["uid"], before);
    app.wait_ready().await;
}
