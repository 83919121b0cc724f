//! `spec.autoscaling`: replicas by load. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Bounds and aim of the app's HorizontalPodAutoscaler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Autoscaling {
    /// The fewest replicas. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 150_000))]
    pub min_replicas: i32,

    /// The most replicas. Required.
    #[schemars(range(min = 1, max = 150_000))]
    pub max_replicas: i32,

    /// The use of CPU that is aimed at, as a percentage of the request, on the average of all replicas. Default: 80.
    /// More than 100 is possible, since there is no limit of CPU.
    #[serde(default = "eighty", rename = "targetCPUUtilizationPercentage")]
    #[schemars(range(min = 1, max = 1000))]
    pub target_cpu_utilization_percentage: i32,
}

/// The rule that the bounds keep to each other.
pub(super) fn ordered_bounds() -> Value {
    json!({
        "rule": "self.minReplicas <= self.maxReplicas",
        "message": "must be no more than maxReplicas",
        "fieldPath": ".minReplicas",
    })
}

const fn one() -> i32 {
    1
}

const fn eighty() -> i32 {
    80
}
