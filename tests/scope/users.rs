//! What the cluster's own roles `view`, `edit` and `admin` let a user of one namespace do with EGApps.

use cluster::Cluster;

use crate::support::{App, eventually, holds, project};
use crate::{can_i, cluster};

const READ: [&[&str]; 5] = [
    &["get", "egapps"],
    &["list", "egapps"],
    &["watch", "egapps"],
    &["get", "egapps", "--subresource=status"],
    &["get", "egapps", "--subresource=scale"],
];
const WRITE: [&[&str]; 6] = [
    &["create", "egapps"],
    &["update", "egapps"],
    &["patch", "egapps"],
    &["delete", "egapps"],
    &["update", "egapps", "--subresource=scale"],
    &["patch", "egapps", "--subresource=scale"],
];
const CLEAR: [&[&str]; 1] = [&["deletecollection", "egapps"]];
const NOBODY: [&[&str]; 3] = [
    &["update", "egapps", "--subresource=status"],
    &["patch", "egapps", "--subresource=status"],
    &["update", "egapps", "--subresource=finalizers"],
];

#[tokio::test]
async fn viewers_read_editors_write_and_scale_and_nobody_writes_the_status_or_reaches_elsewhere() {
    let cluster = cluster().await;
    for role in ["admin", "editor", "viewer"] {
        let file = project(&format!("config/rbac/egapp_{role}_role.yaml"));
        cluster.kubectl(["apply", "--server-side", "-f", file.to_str().unwrap()]).await.unwrap();
    }
    let (home, elsewhere) =
        (App::named(cluster, "web").await.namespace, App::named(cluster, "web").await.namespace);
    for role in ["view", "edit", "admin"] {
        let binding = [
            "-n",
            &home,
            "create",
            "rolebinding",
            role,
            &format!("--clusterrole={role}"),
            &format!("--user={role}-user"),
        ];
        cluster.kubectl(binding).await.unwrap();
        eventually("the role has taken up the rights on EGApps", async || {
            let now = can_i(cluster, &format!("{role}-user"), &home, &["get", "egapps"]).await;
            holds(now == "yes", || now.to_owned())
        })
        .await;
    }
    assert_rights(
        cluster,
        "view-user",
        &home,
        [("yes", &READ[..]), ("no", &WRITE), ("no", &CLEAR), ("no", &NOBODY)],
    )
    .await;
    assert_rights(
        cluster,
        "edit-user",
        &home,
        [("yes", &READ[..]), ("yes", &WRITE), ("no", &CLEAR), ("no", &NOBODY)],
    )
    .await;
    assert_rights(
        cluster,
        "admin-user",
        &home,
        [("yes", &READ[..]), ("yes", &WRITE), ("yes", &CLEAR), ("no", &NOBODY)],
    )
    .await;
    for user in ["view-user", "edit-user", "admin-user"] {
        assert_rights(
            cluster,
            user,
            &elsewhere,
            [("no", &READ[..]), ("no", &WRITE), ("no", &CLEAR), ("no", &NOBODY)],
        )
        .await;
    }
}

async fn assert_rights(cluster: &Cluster, user: &str, namespace: &str, expected: [(&str, &[&[&str]]); 4]) {
    for (answer, rights) in expected {
        for right in rights {
            assert_eq!(
                can_i(cluster, user, namespace, right).await,
                answer,
                "{user}: {right:?} in {namespace}"
            );
        }
    }
}
