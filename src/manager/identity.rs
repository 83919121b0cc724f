//! Who this process is, in an election and as a pod, and chance. Reads the host's name, the environment and the system's
//! randomness.

use std::env;
use std::hash::{BuildHasher, RandomState};

use k8s_openapi::api::core::v1::ObjectReference;

/// An identity that no other process has, restarts included, and that people recognise: `<hostname>_<random>`.
pub(super) fn identity() -> String {
    let host = hostname::get().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
    format!("{host}_{:016x}{:016x}", random(), random())
}

/// The pod of this process, as the downward API names it in config/manager; `None` outside of one.
pub(super) fn own_pod() -> Option<ObjectReference> {
    let [name, namespace, uid] = ["POD_NAME", "POD_NAMESPACE", "POD_UID"]
        .map(|name| env::var(name).ok().filter(|value| !value.is_empty()));
    Some(ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        name: Some(name?),
        namespace: Some(namespace?),
        uid: Some(uid?),
        ..ObjectReference::default()
    })
}

/// A number from 0 to 1.
pub(super) fn chance() -> f64 {
    f64::from(u16::try_from(random() % 10_000).unwrap_or_default()) / 10_000.0
}

/// Every [`RandomState`] has keys of its own, seeded by the system.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_identities_are_equal() {
        assert_ne!(identity(), identity());
    }

    #[test]
    fn an_identity_begins_with_the_host() {
        let host = hostname::get().unwrap().into_string().unwrap();
        assert!(identity().starts_with(&format!("{host}_")));
    }

    #[test]
    fn chance_is_spread_over_its_range() {
        let draws: Vec<f64> = (0..1000).map(|_| chance()).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        let low = draws.iter().filter(|draw| **draw < 0.5).count();
        assert!((300..700).contains(&low), "{low} of 1000 below one half");
    }
}
