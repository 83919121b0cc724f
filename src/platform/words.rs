//! The entries of the platform file by the words of an EGApp. Pure.
//!
//! Each is `None` for a word that this build does not know, and for one that the file leaves out.

use egapp_api::v1alpha1::{Environment, Framework, InstanceType};

use super::config::{
    AppEnvironments, EnvironmentPolicy, Environments, FrameworkProfile, Frameworks, Size, Sizes, Starter,
    Starters,
};

impl Sizes {
    pub(super) const fn get(&self, instance_type: InstanceType) -> Option<&Size> {
        match instance_type {
            InstanceType::LowMem => Some(&self.low_mem),
            InstanceType::HighMem => Some(&self.high_mem),
            InstanceType::HighCpu => Some(&self.high_cpu),
            InstanceType::Balanced => Some(&self.balanced),
            InstanceType::Unknown => None,
        }
    }
}

impl Frameworks {
    pub(super) const fn get(&self, framework: Framework) -> Option<&FrameworkProfile> {
        match framework {
            Framework::Java => Some(&self.java),
            Framework::Python => Some(&self.python),
            Framework::Go => Some(&self.go),
            Framework::Unknown => None,
        }
    }
}

impl Starters {
    pub(super) const fn get(&self, framework: Framework) -> Option<&Starter> {
        match framework {
            Framework::Java => self.java.as_ref(),
            Framework::Python => self.python.as_ref(),
            Framework::Go => self.go.as_ref(),
            Framework::Unknown => None,
        }
    }
}

impl Environments {
    pub(super) const fn get(&self, environment: Environment) -> Option<&EnvironmentPolicy> {
        match environment {
            Environment::Dev => Some(&self.dev),
            Environment::Stage => Some(&self.stage),
            Environment::Prod => Some(&self.prod),
            Environment::Unknown => None,
        }
    }
}

impl AppEnvironments {
    pub(super) fn get(&self, environment: Environment) -> Option<&str> {
        match environment {
            Environment::Dev => self.dev.as_deref(),
            Environment::Stage => self.stage.as_deref(),
            Environment::Prod => self.prod.as_deref(),
            Environment::Unknown => None,
        }
    }
}
