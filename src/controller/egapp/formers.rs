//! Platforms that held before: an app that a change has not reached yet is kept as its former one wants it. Only in
//! memory: after a restart such an app is left as it is until its turn. No I/O.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::desired::desired;
use super::replicas::Replicas;
use super::validate::validate;
use crate::platform::Platform;
use egapp_api::v1alpha1::EGApp;

/// So many are kept: whoever changes the file more often than that before the first app has had its turn is trying out.
const KEPT: usize = 8;

/// Former platforms, the newest first.
#[derive(Default)]
pub struct Formers(Mutex<VecDeque<Arc<Platform>>>);

impl Formers {
    /// That platform holds no more.
    pub fn add(&self, platform: Arc<Platform>) {
        let mut all = self.lock();
        all.retain(|former| former.revision() != platform.revision());
        all.push_front(platform);
        all.truncate(KEPT);
    }

    /// The platform by which the app's pods were made; `template`: digest of their template, as it was applied.
    #[must_use]
    pub fn of(&self, app: &EGApp, template: u64) -> Option<Arc<Platform>> {
        let all: Vec<_> = self.lock().iter().cloned().collect();
        all.into_iter().find(|former| {
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
        let (first, formers) = (platform("whoami:0"), Formers::default());
        for number in 0..KEPT {
            formers.add(platform(&format!("whoami:{number}")));
        }
        let revision = |template| formers.of(&app, template).map(|found| found.revision());
        assert_eq!(revision(made_by(&first)), Some(first.revision()));
        assert_eq!(revision(7), None, "nobody knows what made them");
        formers.add(platform("whoami:one-more"));
        assert_eq!(revision(made_by(&first)), None, "the oldest is forgotten");
    }
}
