//! What must be taken out of a live object before our fields fit in. Pure.
//!
//! A forced server-side apply sets our fields and removes nobody else's. Mostly that is right: sidecars, variables and
//! labels of others stay. In a few places a foreign member contradicts ours, so that the API server refuses every apply
//! (a second handler in a probe, a value beside a `valueFrom`), or the object is not what we say (another port, another
//! capability). Those places are wholly ours; a few more are where they contradict us.

use serde_json::{Value, json};

use super::compare::{has_same_keys, is_zero, list_keys};
use crate::quantity::parse_milli;

/// Places of the pod in which nothing foreign may stand: amounts of the whole pod would have to grow with ours, another
/// profile has fields that ours may not have, Windows' options ask for the host's network, and an account that we do
/// not name is `default`. The API server keeps the account under its former name as well.
const POD_PLACES: [&str; 5] = [
    "/resources",
    "/securityContext/seccompProfile",
    "/securityContext/windowsOptions",
    "/serviceAccount",
    "/serviceAccountName",
];

/// Places of the application's container in which nothing foreign may stand.
const CONTAINER_PLACES: [&str; 6] =
    ["/args", "/command", "/livenessProbe", "/readinessProbe", "/securityContext", "/startupProbe"];

/// Places of a Service in which nothing foreign may stand: a selector with one more label leads nowhere, and only a load
/// balancer, which ours is not, may have source ranges.
const SERVICE_PLACES: [&str; 2] = ["/spec/selector", "/spec/loadBalancerSourceRanges"];

/// Hooks of a container.
const HOOKS: [&str; 2] = ["/lifecycle/postStart", "/lifecycle/preStop"];

/// Members of which one says what its place is: a probe or hook has exactly one handler, and only a profile of another
/// type has a path. Another one than ours goes with all of its place, which without it would be invalid.
const KINDS_OF_PLACES: [&str; 6] = ["exec", "grpc", "httpGet", "localhostProfile", "sleep", "tcpSocket"];

/// The operations of a JSON Patch (RFC 6902) that takes every contradicting foreign member out of `live`, last
/// positions first; none where nothing contradicts. `container` names the container that is ours.
#[must_use]
pub fn removals(desired: &Value, live: &Value, container: &str) -> Vec<Value> {
    let mut removals = Removals::default();
    removals.in_service(desired, live);
    removals.in_disruption_budget(desired, live);
    removals.in_pod(desired, live, container);
    removals.0.reverse();
    removals.0
}

#[derive(Default)]
struct Removals(Vec<Value>);

impl Removals {
    fn in_service(&mut self, desired: &Value, live: &Value) {
        let path = "/spec/ports";
        let (Some(Value::Array(wanted)), Some(Value::Array(found))) =
            (desired.pointer(path), live.pointer(path))
        else {
            return;
        };
        if foreign_positions(wanted, found, list_keys("ports")).next().is_some() {
            // A Service must have a port at any time, so the list is replaced and not emptied.
            self.0.push(json!({ "op": "replace", "path": path, "value": wanted }));
        }
        self.in_places(desired, live, "", SERVICE_PLACES);
    }

    /// It says one thing, and that is ours: `minAvailable` excludes our `maxUnavailable`.
    fn in_disruption_budget(&mut self, desired: &Value, live: &Value) {
        if desired.pointer("/spec/maxUnavailable").is_some() {
            self.in_places(desired, live, "", ["/spec"]);
        }
    }

    fn in_pod(&mut self, desired: &Value, live: &Value, container: &str) {
        let path = "/spec/template/spec";
        let (Some(desired), Some(live)) = (desired.pointer(path), live.pointer(path)) else { return };
        // The API server sets both names of an account.
        let names_account = desired.get("serviceAccountName").is_some();
        let is_ours = |place: &&str| !(names_account && place.starts_with("/serviceAccount"));
        self.in_places(desired, live, path, POD_PLACES.into_iter().filter(is_ours));
        self.in_list(desired, live, path, "topologySpreadConstraints");
        let (Some((_, wanted)), Some((position, found))) =
            (named(desired, container), named(live, container))
        else {
            return;
        };
        let path = format!("{path}/containers/{position}");
        self.in_container(wanted, found, &path);
        self.in_hooks(wanted, found, &path, desired.get("terminationGracePeriodSeconds"));
    }

    fn in_container(&mut self, desired: &Value, live: &Value, path: &str) {
        self.in_places(desired, live, path, CONTAINER_PLACES);
        self.in_list(desired, live, path, "ports");
        // A variable of ours may not have a value from elsewhere beside ours; those of others stay.
        self.in_own_entries(desired, live, path, "env");
        self.in_amounts(desired, live, path, "limits");
        self.in_amounts(desired, live, path, "requests");
    }

    fn in_places(
        &mut self,
        desired: &Value,
        live: &Value,
        path: &str,
        places: impl IntoIterator<Item = &'static str>,
    ) {
        for place in places {
            let Some(found) = live.pointer(place) else { continue };
            let path = format!("{path}{place}");
            match desired.pointer(place) {
                Some(wanted) if is_of_another_kind(wanted, found) => self.remove(&path),
                Some(wanted) => self.in_object(wanted, found, &path),
                None if is_zero(found) => (),
                None => self.remove(&path),
            }
        }
    }

    /// A hook where we have none may stay, unless it sleeps for longer than our grace period, which is refused.
    fn in_hooks(&mut self, desired: &Value, live: &Value, path: &str, grace: Option<&Value>) {
        let grace = grace.and_then(Value::as_i64);
        for hook in HOOKS {
            let sleep = live.pointer(&format!("{hook}/sleep/seconds")).and_then(Value::as_i64);
            let is_too_long = sleep.zip(grace).is_some_and(|(sleep, grace)| sleep >= grace);
            if desired.pointer(hook).is_some() {
                self.in_places(desired, live, path, [hook]);
            } else if is_too_long {
                self.remove(&format!("{path}{hook}"));
            }
        }
    }

    /// An amount of others that we do not set may stay, as long as no request of ours is above a limit of theirs, and
    /// no request of theirs above a limit of ours.
    fn in_amounts(&mut self, desired: &Value, live: &Value, path: &str, half: &str) {
        let amount = |container: &Value, half: &str, resource: &str| {
            container.pointer(&format!("/resources/{half}"))?.get(resource)?.as_str().and_then(parse_milli)
        };
        let is_limit = half == "limits";
        let other = if is_limit { "requests" } else { "limits" };
        let found = live.pointer(&format!("/resources/{half}")).and_then(Value::as_object);
        for resource in found.into_iter().flat_map(|amounts| amounts.keys()) {
            let pair = amount(live, half, resource).zip(amount(desired, other, resource));
            let contradicts =
                pair.is_some_and(|(theirs, ours)| if is_limit { theirs < ours } else { theirs > ours });
            if contradicts && amount(desired, half, resource).is_none() {
                self.remove(&format!("{path}/resources/{half}/{}", escaped(resource)));
            }
        }
    }

    /// Entries of a keyed list that are not ours, and what is foreign in those that are.
    fn in_list(&mut self, desired: &Value, live: &Value, path: &str, field: &str) {
        for position in foreign_positions(entries(desired, field), entries(live, field), list_keys(field)) {
            self.remove(&format!("{path}/{field}/{position}"));
        }
        self.in_own_entries(desired, live, path, field);
    }

    fn in_own_entries(&mut self, desired: &Value, live: &Value, path: &str, field: &str) {
        for (position, found) in entries(live, field).iter().enumerate() {
            let mut ours = entries(desired, field).iter();
            if let Some(wanted) = ours.find(|wanted| has_same_keys(wanted, found, list_keys(field))) {
                self.in_object(wanted, found, &format!("{path}/{field}/{position}"));
            }
        }
    }

    /// Fields of an object, at any depth, that we do not mean.
    fn in_object(&mut self, desired: &Value, live: &Value, path: &str) {
        let (Value::Object(desired), Value::Object(live)) = (desired, live) else { return };
        for (field, found) in live {
            match desired.get(field) {
                Some(wanted) if wanted.is_object() => {
                    self.in_object(wanted, found, &format!("{path}/{}", escaped(field)));
                }
                Some(_) => (),
                None if is_default(field, found) => (),
                None => self.remove(&format!("{path}/{}", escaped(field))),
            }
        }
    }

    fn remove(&mut self, path: &str) {
        self.0.push(json!({ "op": "remove", "path": path }));
    }
}

/// The entries of a list, none where there is no such list.
fn entries<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The container of that name, and where it stands.
fn named<'a>(pod: &'a Value, container: &str) -> Option<(usize, &'a Value)> {
    let mut containers = entries(pod, "containers").iter().enumerate();
    containers.find(|(_, entry)| entry.get("name").and_then(Value::as_str) == Some(container))
}

/// What the API server adds by itself, and zero values; but user and group 0 are root.
fn is_default(field: &str, found: &Value) -> bool {
    let defaults = [("procMount", "Default"), ("protocol", "TCP")];
    (is_zero(found) && !matches!(field, "runAsUser" | "runAsGroup"))
        || defaults.iter().any(|(name, value)| field == *name && found == value)
}

fn is_of_another_kind(wanted: &Value, found: &Value) -> bool {
    KINDS_OF_PLACES.iter().any(|kind| found.get(kind).is_some() && wanted.get(kind).is_none())
}

fn foreign_positions<'a>(
    wanted: &'a [Value],
    found: &'a [Value],
    keys: &'static [&'static str],
) -> impl Iterator<Item = usize> + 'a {
    found
        .iter()
        .enumerate()
        .filter(move |(_, entry)| wanted.iter().all(|wanted| !has_same_keys(wanted, entry, keys)))
        .map(|(position, _)| position)
}

/// A field name in a JSON pointer (RFC 6901).
fn escaped(field: &str) -> String {
    field.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
#[path = "foreign_tests.rs"]
mod tests;
