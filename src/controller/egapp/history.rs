//! The platforms that held, in a `ConfigMap` of the operator's own namespace: a process that starts in the middle of a
//! platform change reads there what made the pods of the apps that wait. One read at the start of work, one write for each
//! platform that is new. I/O.
//!
//! Apps are well served without it, but for those that wait after a restart; so whatever fails here is logged and tried
//! again, and holds up nobody.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use kube::core::ObjectMeta;
use kube::{Client, ResourceExt};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::formers::Formers;
use super::names;
use crate::platform::{Platform, PlatformFeed};
use crate::telemetry::Chain;

/// Name of the `ConfigMap`; the manager's Role names it too.
pub const CONFIG_MAP: &str = "pe-app-platform-history";

/// Key of the platform that held when it was written.
const CURRENT: &str = "current.yaml";

/// Work begins after this time also where nothing could be read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two tries.
const AGAIN: Duration = Duration::from_mins(1);

/// The texts together; an object has room for about 1.5 MB in all, and a `ConfigMap` may hold 1 MiB.
const MOST_BYTES: usize = 900_000;

/// Where the platforms are kept.
#[derive(Clone)]
pub struct History(Option<Place>);

#[derive(Clone)]
struct Place {
    config_maps: Api<ConfigMap>,
    namespace: String,
}

/// What the `ConfigMap` holds; `None` where that is not known yet.
type Stored = Option<BTreeMap<String, String>>;

impl History {
    /// In that namespace, or nowhere where the operator has none.
    #[must_use]
    pub fn new(client: &Client, namespace: Option<&str>) -> Self {
        Self(namespace.map(|namespace| Place {
            config_maps: Api::namespaced(client.clone(), namespace),
            namespace: namespace.to_owned(),
        }))
    }

    /// Adds what is stored to `formers`, unless that takes too long.
    pub async fn recall(&self, formers: &Formers) -> Stored {
        let place = self.0.as_ref()?;
        // What went wrong is told by `keep`, which asks again.
        timeout(PATIENCE, place.read(formers)).await.ok()?.ok()
    }

    /// Stores every platform that holds, until `stop` is cancelled.
    pub async fn keep(
        &self,
        formers: &Formers,
        mut feed: PlatformFeed,
        mut stored: Stored,
        stop: CancellationToken,
    ) {
        let Some(place) = &self.0 else { return };
        let mut is_told = false;
        loop {
            formers.follow(&Arc::clone(&feed.borrow_and_update()));
            let Some(result) = stop.run_until_cancelled(place.update(formers, &mut stored)).await else {
                return;
            };
            if let Err(error) = &result
                && !is_told
            {
                place.complain(error);
            }
            is_told = result.is_err();
            let again = async { if is_told { sleep(AGAIN).await } else { pending().await } };
            tokio::select! {
                () = stop.cancelled() => return,
                () = again => (),
                () = next(&mut feed) => (),
            }
        }
    }
}

impl Place {
    async fn update(&self, formers: &Formers, stored: &mut Stored) -> Result<(), kube::Error> {
        if stored.is_none() {
            *stored = Some(self.read(formers).await?);
        }
        let wanted = texts(&formers.all());
        if stored.as_ref() != Some(&wanted) {
            self.write(wanted.clone()).await?;
            *stored = Some(wanted);
        }
        Ok(())
    }

    async fn read(&self, formers: &Formers) -> Result<BTreeMap<String, String>, kube::Error> {
        let found = self.config_maps.get_opt(CONFIG_MAP).await?;
        let data = found.and_then(|found| found.data).unwrap_or_default();
        formers.recall(platforms(&data));
        Ok(data)
    }

    async fn write(&self, data: BTreeMap<String, String>) -> Result<(), kube::Error> {
        let about = "Platform files that held, the newest first: apps that wait for a platform change are kept by them. \
                     Written by the manager.";
        let mut wanted = ConfigMap {
            metadata: ObjectMeta { name: Some(CONFIG_MAP.to_owned()), ..ObjectMeta::default() },
            data: Some(data),
            ..ConfigMap::default()
        };
        wanted.labels_mut().insert("app.kubernetes.io/name".to_owned(), "pe-app".to_owned());
        wanted.annotations_mut().insert("kubernetes.io/description".to_owned(), about.to_owned());
        let params = PatchParams::apply(names::FIELD_MANAGER).force();
        self.config_maps.patch(CONFIG_MAP, &params, &Patch::Apply(&wanted)).await.map(drop)
    }

    fn complain(&self, error: &kube::Error) {
        warn!(
            "cannot keep the history of platform files in ConfigMap {}/{CONFIG_MAP}: {}; after a restart in the middle of a \
             platform change, apps that wait for it are left as they are until their turn; trying again every minute",
            self.namespace,
            Chain(error)
        );
    }
}

/// Where no file is given, no other platform ever comes.
async fn next(feed: &mut PlatformFeed) {
    if feed.changed().await.is_err() {
        pending::<()>().await;
    }
}

/// As many as there is room for, by key. The platform that holds is written though no app is kept by it: it is the former
/// one of a process that starts with another file.
fn texts(platforms: &[Arc<Platform>]) -> BTreeMap<String, String> {
    let mut room = MOST_BYTES;
    let has_room = |(_, text): &(String, String)| {
        let left = room.checked_sub(text.len());
        room = left.unwrap_or(room);
        left.is_some()
    };
    let entries = platforms.iter().enumerate().map(|(age, platform)| (key(age), platform.to_yaml()));
    entries.take_while(has_room).collect()
}

/// The platforms of such texts, the newest first. A text that this release cannot use is of no use to anybody.
fn platforms(data: &BTreeMap<String, String>) -> Vec<Platform> {
    let by_age = (0..data.len()).filter_map(|age| data.get(&key(age)));
    by_age.filter_map(|text| Platform::from_yaml(text).ok()).collect()
}

fn key(age: usize) -> String {
    if age == 0 { CURRENT.to_owned() } else { format!("former-{age}.yaml") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(label: &str, catalogue: usize) -> Arc<Platform> {
        use std::fmt::Write as _;
        let mut text = format!(
            "apiVersion: config.platform.evillgenius.com/v1alpha1\nkind: PlatformConfig\ncatalogLabel: {label}\n\
             images:\n  apps:\n    none: {{image: x}}\n"
        );
        for app in 0..catalogue {
            writeln!(text, "    app-{app:06}: {{image: registry.example.com/team/app-{app}:1}}").unwrap();
        }
        Arc::new(Platform::from_yaml(&text).unwrap())
    }

    #[test]
    fn what_is_stored_is_read_again_in_the_same_order() {
        let all = ["a.io/one", "a.io/two", "a.io/three"].map(|label| platform(label, 0));
        let data = texts(&all);
        assert_eq!(data.keys().collect::<Vec<_>>(), ["current.yaml", "former-1.yaml", "former-2.yaml"]);
        let read: Vec<_> = platforms(&data).into_iter().map(Arc::new).collect();
        assert_eq!(read, all);
    }

    #[test]
    fn the_oldest_are_left_out_where_there_is_no_room() {
        let all = ["a.io/one", "a.io/two", "a.io/three"].map(|label| platform(label, 4000));
        let data = texts(&all);
        assert_eq!(data.keys().collect::<Vec<_>>(), ["current.yaml", "former-1.yaml"]);
        assert!(data.values().map(String::len).sum::<usize>() < MOST_BYTES);
    }

    #[test]
    fn a_text_that_cannot_be_used_hides_no_other() {
        let all = ["a.io/one", "a.io/two", "a.io/three"].map(|label| platform(label, 0));
        let mut data = texts(&all);
        data.insert(key(1), "sizes: many".to_owned());
        let read = platforms(&data);
        assert_eq!(read, [&*all[0], &*all[2]].map(Platform::clone));
    }
}
