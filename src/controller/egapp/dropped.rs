//! Fields of the status that the API server does not keep, since the CRD in the cluster is older than this release and
//! does not know them. Said once; no I/O beyond a log line, a gauge and a note at the readiness probe.
//!
//! A server-side apply of such a field is refused as a whole, and names it; a merge patch loses it without a word.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{info, warn};

use super::error::{Error, RECHECK};
use crate::server::{Gate, Gates};
use crate::telemetry::WatchMetrics;
use egapp_api::v1alpha1::EGAppStatus;

/// The fields that are not kept.
pub struct Dropped {
    state: Mutex<State>,
    gate: Gate,
    metrics: WatchMetrics,
}

#[derive(Default)]
struct State {
    /// As JSON pointers into an object, below `/status`.
    fields: BTreeSet<String>,
    /// Until then they are left out; afterwards they are tried again.
    until: Option<Instant>,
}

impl Dropped {
    /// None is known to be.
    #[must_use]
    pub fn new(gates: &Gates, metrics: WatchMetrics) -> Self {
        Self { state: Mutex::default(), gate: gates.add_open("crd-current"), metrics }
    }

    /// What the API server keeps of a status.
    #[must_use]
    pub fn kept(&self, status: &EGAppStatus, now: Instant) -> EGAppStatus {
        let fields = {
            let state = self.lock();
            if state.until.is_none_or(|until| until <= now) {
                return status.clone();
            }
            state.fields.clone()
        };
        let mut object = json!({ "status": status });
        for (parent, name) in fields.iter().filter_map(|field| field.rsplit_once('/')) {
            if let Some(Value::Object(parent)) = object.pointer_mut(parent) {
                parent.remove(name);
            }
        }
        let kept = object.get_mut("status").map(Value::take).unwrap_or_default();
        serde_json::from_value(kept).unwrap_or_else(|_| status.clone())
    }

    /// Learns from a refused write. Says whether fields are left out from now on that were in it.
    pub fn refused(&self, error: &Error, now: Instant) -> bool {
        let undeclared = error.undeclared_fields();
        let is_news = !undeclared.is_empty();
        if is_news {
            self.change(now, |fields| fields.extend(undeclared));
        }
        is_news
    }

    /// Learns from the answer to a write: what was written, and what is there now.
    pub fn learn(&self, written: &EGAppStatus, live: &EGAppStatus, now: Instant) {
        if self.lock().fields.is_empty() && written == live {
            return;
        }
        let (written, live) = (json!({ "status": written }), json!({ "status": live }));
        self.change(now, |fields| {
            fields.retain(|field| live.pointer(field).is_none());
            fields.extend(absent(&written, &live, ""));
        });
    }

    fn change(&self, now: Instant, change: impl FnOnce(&mut BTreeSet<String>)) {
        let mut state = self.lock();
        let before = state.fields.clone();
        change(&mut state.fields);
        let is_over = state.until.is_none_or(|until| until <= now);
        if state.fields.is_empty() {
            state.until = None;
        } else if state.fields != before || is_over {
            state.until = Some(now + RECHECK);
        }
        if state.fields != before {
            self.tell(&state.fields, &before);
        }
    }

    fn tell(&self, fields: &BTreeSet<String>, before: &BTreeSet<String>) {
        self.metrics.dropped_fields(fields.len());
        if fields.is_empty() {
            info!("the CRD of EGApps knows every field of the status");
            self.gate.ready();
            return;
        }
        let names: Vec<_> =
            fields.iter().map(|field| field.trim_start_matches('/').replace('/', ".")).collect();
        let text = format!(
            "the CRD of EGApps is older than this manager: the API server drops {}; apply the CRD of this release \
             (`make install`, or config/crd)",
            names.join(", ")
        );
        if !fields.is_subset(before) {
            warn!("{text}");
        }
        self.gate.degraded(text);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pointers to the fields of `written` that `live` has not. Entries of lists are whole.
fn absent(written: &Value, live: &Value, path: &str) -> Vec<String> {
    let (Value::Object(written), Value::Object(live)) = (written, live) else { return Vec::new() };
    let each = written.iter().flat_map(|(name, value)| {
        let path = format!("{path}/{name}");
        match live.get(name) {
            Some(live) => absent(value, live, &path),
            None => vec![path],
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::controller::egapp::error::Call;
    use crate::controller::key::ObjectKey;
    use crate::telemetry::Metrics;

    fn status(status: Value) -> EGAppStatus {
        serde_json::from_value(status).unwrap()
    }

    fn dropped() -> Dropped {
        Dropped::new(&Gates::default(), Metrics::new().unwrap().watch("EGApp"))
    }

    fn whole() -> EGAppStatus {
        let failure = json!({
            "reason": "x", "message": "m", "since": "2026-01-01T00:00:00Z", "platformChange": "1",
        });
        status(json!({ "replicas": 0, "image": "a:1", "lastFailure": failure }))
    }

    fn pruned() -> EGAppStatus {
        let failure = json!({ "reason": "x", "message": "m", "since": "2026-01-01T00:00:00Z" });
        status(json!({ "image": "a:1", "lastFailure": failure }))
    }

    #[test]
    fn what_an_apply_is_refused_for_is_left_out_and_tried_again_after_a_time() {
        let (dropped, now) = (dropped(), Instant::now());
        let refusal = |sentence: &str| Error::Call {
            call: Call::new("apply", "the status of EGApp", &ObjectKey::new("team", "web")),
            source: Box::new(kube::Error::Api(Box::new(
                serde_json::from_value(
                    json!({ "status": "Failure", "code": 500, "message": sentence, "reason": "" }),
                )
                .unwrap(),
            ))),
        };
        assert!(!dropped.refused(&refusal("etcdserver: request timed out"), now));
        let sentence = "failed to create typed patch object (/; x/v1, Kind=EGApp): errors:\n  \
            .status.lastFailure.platformChange: field not declared in schema\n  .status.replicas: field not declared in schema";
        assert!(dropped.refused(&refusal(sentence), now));
        assert_eq!(dropped.kept(&whole(), now), pruned());
        dropped.learn(&pruned(), &pruned(), now + RECHECK - Duration::from_secs(1));
        assert_eq!(dropped.kept(&whole(), now + RECHECK - Duration::from_secs(1)), pruned());
        assert_eq!(dropped.kept(&whole(), now + RECHECK), whole());
        dropped.learn(&whole(), &whole(), now + RECHECK);
        assert_eq!(dropped.kept(&whole(), now), whole());
    }

    #[test]
    fn what_an_answer_lacks_is_left_out_until_an_answer_has_it() {
        let (dropped, now) = (dropped(), Instant::now());
        assert_eq!(dropped.kept(&whole(), now), whole());
        dropped.learn(&whole(), &pruned(), now);
        assert_eq!(dropped.kept(&whole(), now), pruned());
        let other = status(json!({ "image": "b:1", "readyReplicas": 1 }));
        dropped.learn(&other, &other, now);
        assert_eq!(dropped.kept(&whole(), now), pruned(), "it tells nothing of these fields");
        dropped.learn(&whole(), &whole(), now);
        assert_eq!(dropped.kept(&whole(), now), whole());
    }
}
