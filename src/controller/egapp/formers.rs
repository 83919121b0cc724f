//! The platform that holds and those that held before: an app that a change has not reached yet is kept as its former one
//! wants it. No I/O; [`history`](super::history) keeps them over a restart.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::desired::desired;
use super::replicas::Replicas;
use super::validate::validate;
use crate::platform::Platform;
use egapp_api::v1alpha1::EGApp;

/// So many are kept: whoever changes the file more often than that before the first app has had its turn is trying out.
const KEPT: usize = 8;

/// Platforms, the one that holds first, then the newest former one.
pub struct Formers(Mutex<VecDeque<Arc<Platform>>>);

impl Formers {
    /// None is known but the one that holds.
    #[must_use]
    pub fn new(platform: Arc<Platform>) -> Self {
        Self(Mutex::new(VecDeque::from([platform])))
    }

    /// That platform holds from now on.
    pub fn follow(&self, platform: &Arc<Platform>) {
        let mut all = self.lock();
        all.retain(|known| known.revision() != platform.revision());
        all.push_front(Arc::clone(platform));
        all.truncate(1 + KEPT);
    }

    /// Those held before all that are known, the newest first.
    pub fn recall(&self, platforms: impl IntoIterator<Item = Platform>) {
        let mut all = self.lock();
        for platform in platforms {
            if all.iter().all(|known| known.revision() != platform.revision()) {
                all.push_back(Arc::new(platform));
            }
        }
        all.truncate(1 + KEPT);
    }

    /// All that are known, the one that holds first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Platform>> {
        self.lock().iter().cloned().collect()
    }

    /// The former platform by which the app's pods were made; `template`: digest of their template, as it was applied.
    #[must_use]
    pub fn of(&self, app: &EGApp, template: u64) -> Option<Arc<Platform>> {
        self.all().into_iter().skip(1).find(|former| {
            let workload = validate(app, former);
            // Who decides on the replicas is no matter of the template.
            let children = workload.map(|workload| desired(&workload, Replicas::Autoscaled));
            children.is_ok_and(|children| children.template() == Some(template))
        })
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Platform>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn platform(image: &str) -> Arc<Platform> {
        let head = "apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig";
        let text = format!("{{{head}, images: {{starters: {{go: {{image: '{image}'}}}}}}}}");
        Arc::new(Platform::from_yaml(&text).unwrap())
    }

    fn known(formers: &Formers) -> Vec<u64> {
        formers.all().iter().map(|platform| platform.revision()).collect()
    }

    #[test]
    fn the_platform_that_made_the_pods_is_found_among_the_last_ones() {
        let app: EGApp = serde_json::from_value(json!({
            "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp",
            "metadata": { "name": "web", "namespace": "team", "uid": "u" },
            "spec": { "framework": "go", "environment": "dev" },
        }))
        .unwrap();
        let made_by = |platform: &Platform| {
            desired(&validate(&app, platform).unwrap(), Replicas::Ours(1)).template().unwrap()
        };
        let first = platform("whoami:0");
        let formers = Formers::new(Arc::clone(&first));
        let revision = |template| formers.of(&app, template).map(|found| found.revision());
        assert_eq!(revision(made_by(&first)), None, "it holds, and is no former one");
        for number in 1..=KEPT {
            formers.follow(&platform(&format!("whoami:{number}")));
        }
        assert_eq!(revision(made_by(&first)), Some(first.revision()));
        assert_eq!(revision(7), None, "nobody knows what made them");
        formers.follow(&platform("whoami:one-more"));
        assert_eq!(revision(made_by(&first)), None, "the oldest is forgotten");
    }

    #[test]
    fn what_is_recalled_is_older_than_what_is_known_and_is_known_once() {
        let [one, two, three] = ["whoami:1", "whoami:2", "whoami:3"].map(platform);
        let formers = Formers::new(Arc::clone(&one));
        formers.follow(&two);
        formers.recall([&*two, &*three, &*one].map(Platform::clone));
        assert_eq!(known(&formers), [&two, &one, &three].map(|platform| platform.revision()));
        formers.follow(&three);
        assert_eq!(known(&formers), [&three, &two, &one].map(|platform| platform.revision()));
    }
}
