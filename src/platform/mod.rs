//! What the short words of an EGApp mean on this platform: images, sizes, frameworks and environments.
//!
//! The platform file becomes a [`PlatformConfig`] by strict decoding, and a [`Platform`] once nothing is wrong with it.
//! Reading the file is the only I/O.

mod check;
mod config;
mod defaults;
mod image;
mod variables;

pub use config::{EnvironmentPolicy, FrameworkProfile, ImagePullPolicy, PlatformConfig, Size, Starter};
pub use image::{ResolvedImage, Unresolved};
pub use variables::Variables;

use egapp_api::v1alpha1::{Environment, Framework, InstanceType};

/// The platform's answers. Whoever holds one holds values that Kubernetes accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    config: PlatformConfig,
}

impl Platform {
    /// The answers where no file is given.
    #[must_use]
    pub fn built_in() -> Self {
        Self { config: PlatformConfig::default() }
    }

    /// Resources of that size; `None` for a size this build does not know.
    #[must_use]
    pub const fn size(&self, instance_type: InstanceType) -> Option<&Size> {
        let sizes = &self.config.sizes;
        match instance_type {
            InstanceType::LowMem => Some(&sizes.low_mem),
            InstanceType::HighMem => Some(&sizes.high_mem),
            InstanceType::HighCpu => Some(&sizes.high_cpu),
            InstanceType::Balanced => Some(&sizes.balanced),
            InstanceType::Unknown => None,
        }
    }

    /// What that framework needs; `None` for a framework this build does not know.
    #[must_use]
    pub const fn framework(&self, framework: Framework) -> Option<&FrameworkProfile> {
        let frameworks = &self.config.frameworks;
        match framework {
            Framework::Java => Some(&frameworks.java),
            Framework::Python => Some(&frameworks.python),
            Framework::Go => Some(&frameworks.go),
            Framework::Unknown => None,
        }
    }

    /// The policy of that environment; `None` for an environment this build does not know.
    #[must_use]
    pub const fn environment(&self, environment: Environment) -> Option<&EnvironmentPolicy> {
        let environments = &self.config.environments;
        match environment {
            Environment::Dev => Some(&environments.dev),
            Environment::Stage => Some(&environments.stage),
            Environment::Prod => Some(&environments.prod),
            Environment::Unknown => None,
        }
    }

    /// Key of the label that carries the app id for the platform's catalogue; `None` = no such label.
    #[must_use]
    pub fn catalog_label(&self) -> Option<&str> {
        Some(self.config.catalog_label.as_str()).filter(|key| !key.is_empty())
    }
}
