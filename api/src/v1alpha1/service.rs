//! `spec.service`: how other apps reach this one. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Service of the app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Service {
    /// Whether there is a Service of the app's name. Default: true. With false the Service is deleted.
    ///
    /// With false, and with neither `port` nor a probe in the spec, the app is a worker that listens on nothing: its
    /// container declares no port, and nothing probes it by default.
    #[serde(default = "yes")]
    pub enabled: bool,

    /// Port of the Service; it leads to the app's own port, `spec.port`. Default: 80.
    ///
    /// Where `spec.port` changes, every pod gets traffic on the port that it was made with: no request is lost.
    #[serde(default = "http")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

impl Default for Service {
    fn default() -> Self {
        Self { enabled: yes(), port: http() }
    }
}

const fn yes() -> bool {
    true
}

const fn http() -> i32 {
    80
}
