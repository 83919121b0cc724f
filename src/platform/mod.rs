//! What the short words of an EGApp mean on this platform: images, sizes, frameworks and environments.
//!
//! The platform file becomes a [`PlatformConfig`] by strict decoding, and a [`Platform`] once nothing is wrong with it.
//! Reading the file is the only I/O.

mod check;
#[cfg(test)]
mod check_tests;
mod config;
mod decode;
#[cfg(test)]
mod decode_tests;
mod defaults;
mod finding;
mod image;
#[cfg(test)]
mod image_tests;
mod load;
#[cfg(test)]
mod load_tests;
mod mend;
mod positions;
mod reload;
mod values;
mod variables;
mod words;

pub use check::{GO_MEM_LIMIT, OPERATOR_VARIABLES};
pub use config::{EnvironmentPolicy, FrameworkProfile, ImagePullPolicy, PlatformConfig, Size, Starter};
pub use finding::{Finding, Position};
pub use image::{ResolvedImage, Unresolved};
pub use load::PlatformError;
pub use reload::{Look, PlatformFile};
pub use variables::Variables;

use std::sync::Arc;

use tokio::sync::watch;

use self::config::Rollout;
use crate::hash::fnv1a;
use egapp_api::v1alpha1::{Environment, Framework, InstanceType};

/// The platform's answers. Whoever holds one holds values that Kubernetes accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    config: PlatformConfig,
    revision: u64,
}

/// The platform that holds now, and word of every other one. It is closed where no file is given: then none comes.
pub type PlatformFeed = watch::Receiver<Arc<Platform>>;

impl Platform {
    /// The answers where no file is given.
    #[must_use]
    pub fn built_in() -> Self {
        Self::new(PlatformConfig::default())
    }

    /// The answers of a file that was checked.
    fn new(config: PlatformConfig) -> Self {
        // How a change is brought to apps is no part of what it is.
        let answers = PlatformConfig { rollout: Rollout::default(), ..config.clone() };
        // The types of the file always serialise; were they not to, every change would count as the same.
        let text = serde_json::to_string(&answers).unwrap_or_default();
        let revision = fnv1a(format!("{} {text}", env!("CARGO_PKG_VERSION")).as_bytes());
        Self { config, revision }
    }

    /// A number that differs with whatever the file and this release of the operator make of an EGApp.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// A platform file that says the same, with every section.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        // The types of the file always serialise.
        serde_saphyr::to_string(&self.config).unwrap_or_default()
    }

    /// The environments in the order in which a change reaches their apps.
    pub fn rollout_order(&self) -> impl Iterator<Item = Environment> {
        let named = |word: &String| Environment::ALL.into_iter().find(|one| one.as_str() == word.as_str());
        self.config.rollout.order.iter().filter_map(named)
    }

    /// How many apps get a change at a time.
    #[must_use]
    pub fn max_concurrent_rollouts(&self) -> usize {
        usize::try_from(self.config.rollout.max_concurrent).unwrap_or(1)
    }

    /// Resources of that size; `None` for a size this build does not know.
    #[must_use]
    pub const fn size(&self, instance_type: InstanceType) -> Option<&Size> {
        self.config.sizes.get(instance_type)
    }

    /// What that framework needs; `None` for a framework this build does not know.
    #[must_use]
    pub const fn framework(&self, framework: Framework) -> Option<&FrameworkProfile> {
        self.config.frameworks.get(framework)
    }

    /// The policy of that environment; `None` for an environment this build does not know.
    #[must_use]
    pub const fn environment(&self, environment: Environment) -> Option<&EnvironmentPolicy> {
        self.config.environments.get(environment)
    }

    /// Key of the label that carries the app id for the platform's catalogue; `None` = no such label.
    #[must_use]
    pub fn catalog_label(&self) -> Option<&str> {
        Some(self.config.catalog_label.as_str()).filter(|key| !key.is_empty())
    }
}
