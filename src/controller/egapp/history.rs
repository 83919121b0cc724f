//! The platforms that held, and the change that brought the last one, in a `ConfigMap` of the operator's own namespace: a
//! process that starts in the middle of a platform change reads there what made the pods of the apps that wait, and which
//! apps the change has reached. One read at the start of work, one write for each platform that is new. I/O.
//!
//! Apps are well served without it, but for those that wait after a restart; so whatever fails here is logged and tried
//! again, and holds up nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use kube::core::ObjectMeta;
use kube::{Client, ResourceExt};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::context::Context;
use super::fingerprint::fingerprint;
use super::lineage::{Holding, Recalled};
use super::names;
use super::watches::take_up;
use super::worker::take_step;
use crate::controller::queue::WorkQueue;
use crate::platform::{Platform, PlatformFeed};
use crate::telemetry::Chain;

/// Name of the `ConfigMap`; the manager's Role names it too.
pub const CONFIG_MAP: &str = "pe-app-platform-history";

/// Key of the platform that held when it was written.
const CURRENT: &str = "current.yaml";

/// Key of the change that brought it, as Deployments are marked with it.
const CHANGE: &str = "change";

/// Key of what the operator made of EGApps then, see [`fingerprint`].
const BUILD: &str = "build";

/// Work begins after this time also where nothing could be read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two tries.
const AGAIN: Duration = Duration::from_mins(1);

/// A platform file that has been replaced is another one by then: the kubelet brings a change within about a minute.
const UP_TO_DATE: Duration = Duration::from_mins(2);

/// The watch of the platform file takes no longer to hand on a change.
const HANDED_ON: Duration = Duration::from_millis(100);

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

    /// Takes over what another process has left behind, unless that takes too long.
    pub async fn recall(&self, ctx: &Context) -> Stored {
        let place = self.0.as_ref()?;
        // What went wrong is told by `keep`, which asks again.
        timeout(PATIENCE, place.read(ctx)).await.ok()?.ok()
    }

    /// Stores every platform that holds, until `stop` is cancelled.
    pub async fn keep(&self, ctx: &Context, queue: &WorkQueue, mut stored: Stored, stop: CancellationToken) {
        let Some(place) = &self.0 else { return };
        let (mut feed, begun) = (ctx.platform.clone(), Instant::now());
        let mut is_told = false;
        loop {
            let platform = Arc::clone(&feed.borrow_and_update());
            let update = place.update(ctx, queue, (&platform, begun), &mut stored);
            let Some(result) = stop.run_until_cancelled(update).await else { return };
            if let Err(error) = &result
                && !is_told
            {
                place.complain(error);
            }
            is_told = result.is_err();
            let wait = result.unwrap_or(Some(AGAIN));
            let again = async { if let Some(wait) = wait { sleep(wait).await } else { pending().await } };
            tokio::select! {
                () = stop.cancelled() => return,
                () = again => (),
                () = next(&mut feed) => (),
            }
        }
    }
}

impl Place {
    /// Stores that platform; when to come again, if it is too early for that. `begun`: when this process began to work.
    async fn update(
        &self,
        ctx: &Context,
        queue: &WorkQueue,
        (platform, begun): (&Arc<Platform>, Instant),
        stored: &mut Stored,
    ) -> Result<Option<Duration>, kube::Error> {
        if stored.is_none() {
            let change = ctx.turns.change(platform.revision());
            *stored = Some(self.read(ctx).await?);
            if ctx.turns.change(platform.revision()) != change {
                take_up(ctx, queue, platform);
            }
        }
        let mut holding = ctx.turns.holding();
        let left = UP_TO_DATE.saturating_sub(begun.elapsed());
        if holding.is_none() && left.is_zero() {
            info!("the platform file of this process has not become another one: what it says holds");
            take_step(ctx, queue, ctx.turns.trust());
            holding = ctx.turns.holding();
        }
        let Some(holding) = holding else { return Ok(Some(left)) };
        if holding.revision != Some(platform.revision()) {
            return Ok(Some(HANDED_ON));
        }
        let wanted = entries(&ctx.formers.all(), holding.change);
        if stored.as_ref() != Some(&wanted) {
            self.write(wanted.clone()).await?;
            *stored = Some(wanted);
        }
        Ok(None)
    }

    async fn read(&self, ctx: &Context) -> Result<BTreeMap<String, String>, kube::Error> {
        let found = self.config_maps.get_opt(CONFIG_MAP).await?;
        let data = found.and_then(|found| found.data).unwrap_or_default();
        let is_outdated = ctx.turns.recall(recalled(&data));
        ctx.formers.recall(platforms(&data));
        if is_outdated {
            warn!(
                "the platform file of this process says what held before another one did, by ConfigMap {}/{CONFIG_MAP}: \
                 no app has a turn for {} s, or until the file is another",
                self.namespace,
                UP_TO_DATE.as_secs()
            );
        }
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

/// All that is stored.
fn entries(platforms: &[Arc<Platform>], change: u64) -> BTreeMap<String, String> {
    let numbers = [(CHANGE, change), (BUILD, fingerprint())];
    let numbers = numbers.map(|(key, number)| (key.to_owned(), format!("{number:016x}")));
    texts(platforms).into_iter().chain(numbers).collect()
}

/// What another process has left behind there, if one has. Releases that knew no number of a change marked Deployments
/// with the revision of the platform.
fn recalled(data: &BTreeMap<String, String>) -> Option<Recalled> {
    let number = |key| u64::from_str_radix(data.get(key)?, 16).ok();
    let revision = |text: &String| Platform::from_yaml(text).ok().map(|platform| platform.revision());
    let current = data.get(CURRENT).and_then(revision);
    let last = match (number(CHANGE), current) {
        (None, None) => return None,
        (None, Some(revision)) => Holding::first(revision),
        (Some(change), revision) => {
            let is_same_build = number(BUILD) == Some(fingerprint());
            Holding { revision: revision.filter(|_| is_same_build), change }
        }
    };
    let mut former: BTreeSet<_> =
        data.iter().filter(|(key, _)| *key != CURRENT).filter_map(|(_, text)| revision(text)).collect();
    former.retain(|revision| Some(*revision) != current);
    Some(Recalled { last, former })
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
    fn another_process_learns_which_change_it_is_and_what_held_before_it() {
        let all = ["a.io/one", "a.io/two", "a.io/three"].map(|label| platform(label, 0));
        let [current, former @ ..] = all.each_ref().map(|platform| platform.revision());
        let (mut data, former) = (entries(&all, 7), BTreeSet::from(former));
        assert_eq!(platforms(&data).len(), 3);
        let found = |data: &BTreeMap<String, String>| {
            let Recalled { last: Holding { revision, change }, former } = recalled(data).unwrap();
            (revision, change, former)
        };
        assert_eq!(found(&data), (Some(current), 7, former.clone()));
        data.insert(BUILD.to_owned(), format!("{:016x}", 1));
        assert_eq!(found(&data), (None, 7, former.clone()), "another build");
        assert_eq!(found(&texts(&all)), (Some(current), current, former), "a release that knew no number");
        assert_eq!(recalled(&BTreeMap::new()), None);
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
