//! What happened to the Deployments of a namespace, in the order in which it happened.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ENVIRONMENTS;
use crate::support::App;
use crate::support::watch::Watch;

/// A running watch of Deployments.
pub(crate) struct Record {
    watch: Watch,
}

/// How far a Deployment is with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Before,
    Rolling,
    Done,
}

impl Record {
    /// Begins to watch.
    pub(crate) async fn begin(app: &App<'_>, name: &str) -> Self {
        Self { watch: Watch::begin(app, "deployments", name).await }
    }

    /// Goes through all that happened to the Deployments for which `has_change` tells whether they have the change, and
    /// holds it to the rules: so many at a time, and no environment before the one ahead of it is done. How far each is
    /// at the end.
    pub(crate) fn check(
        &self,
        at_a_time: usize,
        has_change: impl Fn(&Value) -> bool,
    ) -> BTreeMap<String, Progress> {
        let mut progress = BTreeMap::new();
        for state in self.watch.states() {
            let name = state["metadata"]["name"].as_str().unwrap().to_owned();
            let now = match (has_change(&state), is_complete(&state)) {
                (false, _) => Progress::Before,
                (true, false) => Progress::Rolling,
                (true, true) => Progress::Done,
            };
            let before = progress.insert(name.clone(), now);
            if before == Some(Progress::Before) && now != Progress::Before {
                let rank = rank(&name);
                let ahead: Vec<_> = progress
                    .iter()
                    .filter(|(other, state)| self::rank(other) < rank && **state != Progress::Done)
                    .collect();
                assert!(ahead.is_empty(), "{name} begins while {ahead:?}");
            }
            // An app that was not Ready before is not waited for.
            let rolling: Vec<_> = progress
                .iter()
                .filter(|(name, progress)| **progress == Progress::Rolling && !name.ends_with("impaired"))
                .collect();
            assert!(rolling.len() <= at_a_time, "more than {at_a_time} at a time: {rolling:?}");
        }
        progress
    }
}

fn rank(name: &str) -> usize {
    ENVIRONMENTS.iter().position(|environment| name.starts_with(environment)).unwrap()
}

fn is_complete(deployment: &Value) -> bool {
    let (spec, status) = (&deployment["spec"], &deployment["status"]);
    status["observedGeneration"] == deployment["metadata"]["generation"]
        && ["replicas", "updatedReplicas", "availableReplicas"]
            .iter()
            .all(|count| status[count] == spec["replicas"])
}
