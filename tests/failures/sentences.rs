//! Sentences of others, of any length and with any character: what is told of them fits into a status and onto a line.

use serde_json::{Value, json};

use crate::support::App;
use crate::{GOOD, cluster, failing, recovered, running};

#[tokio::test]
async fn a_name_of_any_length_and_with_any_character_is_told_cut_and_on_one_line() {
    let app = App::named(cluster().await, "web").await;
    app.cluster.apply(&service_of(&app.namespace, &"a".repeat(33_000)).to_string()).await.unwrap();
    app.apply(&running(GOOD, 1)).await;
    let message = failing(&app, "NameConflict").await;
    let length = message.chars().count();
    assert!(length < 4096 && !message.contains(char::is_control), "{length}: {message}");
    assert!(message.contains("it belongs to Foo [2J aaaa"), "{message}");
    assert!(message.ends_with("; delete or rename it, or give the EGApp another name"), "{message}");
    app.kubectl(&["delete", "service", "web"]).await;
    recovered(&app).await;
}

/// A Service whose controller, of a group that nobody knows, has that name.
fn service_of(namespace: &str, owner: &str) -> Value {
    let owner = json!({
        "apiVersion": "x.example.com/v1", "kind": "Foo\n\u{1b}[2J", "name": owner, "uid": "1", "controller": true,
    });
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "namespace": namespace, "name": "web", "ownerReferences": [owner] },
        "spec": { "ports": [{ "port": 80 }] },
    })
}
