//! The closed vocabularies of `EGAppSpec`: framework, size and environment. Pure.
//!
//! Each has a last variant `Unknown` for a stored value that this build does not know, say after a downgrade. One
//! such object must not break the decoding of the whole list. `Unknown` is no value of the schema, so the API server
//! refuses it, and it cannot be serialised, so it never overwrites the word that was stored.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `Display` is the word in the API, so that labels, messages and JSON agree.
macro_rules! display_as_str {
    ($($word:ty),+) => {$(
        impl fmt::Display for $word {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    )+};
}

display_as_str!(Framework, InstanceType, Environment);

/// `spec.framework`: what the application is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Framework {
    /// Runs on a Java virtual machine.
    Java,
    /// Runs on a Python interpreter.
    Python,
    /// A Go binary.
    Go,
    /// A stored word that this build does not know.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Unknown,
}

impl Framework {
    /// Every value the API server accepts.
    pub const ALL: [Self; 3] = [Self::Java, Self::Python, Self::Go];

    /// The word in the API, also the value of the label [`FRAMEWORK`](crate::labels::FRAMEWORK).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Java => "java",
            Self::Python => "python",
            Self::Go => "go",
            Self::Unknown => "unknown",
        }
    }
}

/// `spec.instanceType`: the size of one replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum InstanceType {
    /// Little of both.
    #[default]
    LowMem,
    /// Much memory.
    HighMem,
    /// Much CPU.
    #[serde(rename = "highCPU")]
    HighCpu,
    /// CPU and memory in proportion.
    Balanced,
    /// A stored word that this build does not know.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Unknown,
}

impl InstanceType {
    /// Every value the API server accepts.
    pub const ALL: [Self; 4] = [Self::LowMem, Self::HighMem, Self::HighCpu, Self::Balanced];

    /// The word in the API, also the value of the label [`INSTANCE_TYPE`](crate::labels::INSTANCE_TYPE).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LowMem => "lowMem",
            Self::HighMem => "highMem",
            Self::HighCpu => "highCPU",
            Self::Balanced => "balanced",
            Self::Unknown => "unknown",
        }
    }
}

/// `spec.environment`: the stage that this copy of the application serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// Development.
    Dev,
    /// Staging.
    Stage,
    /// Production.
    Prod,
    /// A stored word that this build does not know.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Unknown,
}

impl Environment {
    /// Every value the API server accepts.
    pub const ALL: [Self; 3] = [Self::Dev, Self::Stage, Self::Prod];

    /// The word in the API, also the value of the label [`ENVIRONMENT`](crate::labels::ENVIRONMENT).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Stage => "stage",
            Self::Prod => "prod",
            Self::Unknown => "unknown",
        }
    }
}
