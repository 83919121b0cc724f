use super::{Kind, Sight, Sync};
use crate::controller::scope::{Area, Scope};
use crate::server::{Gates, verbose_readiness};

struct Fixture {
    gates: Gates,
    sync: Sync,
}

fn watching(value: &str) -> Fixture {
    let gates = Gates::default();
    let sync = Sync::new(&Scope::parse(value).unwrap(), &gates);
    Fixture { gates, sync }
}

impl Fixture {
    fn list_all(&self, namespace: &str) {
        for kind in Kind::ALL {
            self.sync.listed(&area(namespace), kind);
            self.sync.followed(&area(namespace), kind);
        }
    }

    fn refuse_all(&self, namespace: &str) {
        for kind in Kind::ALL {
            self.sync.refused(&area(namespace), kind, "no");
        }
    }

    /// The gate's line in `/readyz?verbose`.
    fn gate(&self) -> String {
        verbose_readiness(&self.gates).lines().next().unwrap().to_owned()
    }
}

fn area(namespace: &str) -> Area {
    if namespace.is_empty() { Area::Cluster } else { Area::Namespace(namespace.into()) }
}

#[test]
fn an_area_is_complete_with_its_last_kind_and_that_is_news_once() {
    let Fixture { sync, .. } = watching("a,b");
    let news: Vec<_> = Kind::ALL.iter().map(|kind| sync.listed(&area("a"), *kind)).collect();
    assert_eq!(news, [false, false, false, false, false, true]);
    assert_eq!((sync.sight("a"), sync.sight("b")), (Sight::Complete, Sight::Awaited));
    assert!(!sync.listed(&area("a"), Kind::Pods), "a later list is no news");
    assert_eq!(sync.sight("elsewhere"), Sight::Awaited, "nothing is known of what is not watched");
}

#[test]
fn the_whole_cluster_stands_for_every_namespace() {
    let cluster = watching("");
    cluster.list_all("");
    assert_eq!(cluster.sync.sight("any"), Sight::Complete);
    assert_eq!(cluster.gate(), "[+]caches-synced ok");
}

#[test]
fn a_refusal_is_told_with_kind_place_and_the_servers_words_and_is_news_when_it_changes() {
    let Fixture { sync, .. } = watching("a");
    assert!(sync.refused(&area("a"), Kind::Services, "User \"op\" cannot watch"));
    assert!(!sync.refused(&area("a"), Kind::Services, "User \"op\" cannot watch"));
    let Sight::Refused(why) = sync.sight("a") else { panic!("{:?}", sync.sight("a")) };
    assert_eq!(
        &*why,
        "the operator may not list or watch Services in namespace a: User \"op\" cannot watch; grant it that right \
         (config/rbac/role.yaml lists all it needs)"
    );
    assert!(sync.listed(&area("a"), Kind::Services));
    assert_eq!(sync.sight("a"), Sight::Awaited, "the others have not been listed yet");
}

#[test]
fn a_list_alone_does_not_take_a_refusal_back() {
    let Fixture { sync, gates } = watching("a");
    for kind in Kind::ALL {
        sync.listed(&area("a"), kind);
    }
    sync.refused(&area("a"), Kind::Services, "no");
    assert!(!sync.listed(&area("a"), Kind::Services));
    let gate = || verbose_readiness(&gates).lines().next().unwrap().to_owned();
    assert!(gate().ends_with("namespace a: not allowed to list or watch: Services"), "{}", gate());
    assert_eq!(sync.sight("a"), Sight::Complete, "each list serves");
    sync.followed(&area("a"), Kind::Services);
    assert_eq!(gate(), "[+]caches-synced ok");
}

#[tokio::test(start_paused = true)]
async fn what_was_listed_a_moment_ago_is_fresh_and_so_is_all_when_the_work_begins() {
    let Fixture { sync, .. } = watching("a,b");
    sync.listed(&area("a"), Kind::Egapps);
    assert!(sync.is_fresh("a") && !sync.is_fresh("b"));
    tokio::time::advance(super::FRESH).await;
    assert!(!sync.is_fresh("a"));
    sync.opened();
    assert!(sync.is_fresh("a") && sync.is_fresh("b"));
}

#[test]
fn a_refused_namespace_beside_a_complete_one_does_not_keep_the_process_unready() {
    let two = watching("a,b");
    two.list_all("a");
    assert_eq!(
        two.gate(),
        "[-]caches-synced failed: namespace b: not listed yet: EGApps, Deployments, Services, PodDisruptionBudgets, HorizontalPodAutoscalers, pods"
    );
    two.refuse_all("b");
    assert_eq!(
        two.gate(),
        "[+]caches-synced ok, degraded: namespace b: not allowed to list or watch: EGApps, Deployments, Services, \
         PodDisruptionBudgets, HorizontalPodAutoscalers, pods"
    );
    two.sync.listed(&area("b"), Kind::Egapps);
    two.list_all("b");
    assert_eq!(two.gate(), "[+]caches-synced ok");
}

#[test]
fn a_process_that_may_see_nothing_is_not_ready() {
    for scope in ["", "a"] {
        let blind = watching(scope);
        blind.refuse_all(scope);
        assert!(blind.gate().starts_with("[-]caches-synced failed: "), "{}", blind.gate());
        assert!(blind.gate().contains("not allowed to list or watch: EGApps"), "{}", blind.gate());
    }
}

#[test]
fn a_process_that_was_ready_stays_so_whatever_a_namespace_comes_to() {
    let two = watching("a,b");
    two.list_all("a");
    two.refuse_all("b");
    for kind in Kind::ALL.iter().filter(|kind| **kind != Kind::Pods) {
        two.sync.listed(&area("b"), *kind);
        two.sync.followed(&area("b"), *kind);
    }
    two.sync.refused(&area("a"), Kind::Pods, "no");
    assert_eq!(two.sync.sight("a"), Sight::Complete, "a copy that was whole once serves on");
    assert_eq!(
        two.gate(),
        "[+]caches-synced ok, degraded: namespace a: not allowed to list or watch: pods; namespace b: not allowed to \
         list or watch: pods"
    );
}
