//! Every sample in `config/samples` does what it is there to show.

use crate::cluster;
use crate::support::{App, project};

#[tokio::test]
async fn every_sample_becomes_ready() {
    let app = App::named(cluster().await, "unused").await;
    let folder = project("config/samples");
    app.kubectl(&["apply", "-k", folder.to_str().unwrap()]).await;
    let names = app.kubectl(&["get", "egapps", "-o", "jsonpath={.items[*].metadata.name}"]).await;
    let names: Vec<_> = names.split_whitespace().collect();
    let files = std::fs::read_dir(folder)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("egplatform_"));
    assert_eq!(
        names.len(),
        files.count(),
        "every file is listed in the kustomization, and has an EGApp: {names:?}"
    );
    for name in names {
        app.sibling(name).wait_ready().await;
    }
}
