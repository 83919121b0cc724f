//! How often a status is written while much happens.

use cluster::Failure;
use serde_json::json;
use tokio::time::Instant;

use crate::support::App;
use crate::support::app::reason;
use crate::support::operator::user;
use crate::{GOOD, cluster, fix, running};

#[tokio::test]
async fn a_hundred_pods_that_fail_cost_no_more_than_a_status_write_a_second() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &running(GOOD, 100)).await;
    let (mark, start) = (cluster.audit_mark().unwrap(), Instant::now());
    app.patch(&json!({ "spec": { "image": Failure::ConfigError.image() } })).await;
    app.until("it fails", |app| reason(app) == "ContainerConfig").await;
    fix(&app).await;
    let took = start.elapsed().as_secs();
    let writes =
        cluster.audit_since(mark).unwrap().user(&user()).namespace(&app.namespace).resource("egapps/status");
    let count = u64::try_from(writes.count()).unwrap();
    assert!(count <= took + 2, "{count} status writes in {took} s: {writes:#?}");
}
