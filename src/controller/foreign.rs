//! What must be taken out of a live object before our fields fit in. Pure.
//!
//! A forced server-side apply sets our fields and removes nobody else's. Mostly that is right: sidecars, variables and
//! labels of others stay. In a few places a foreign member contradicts ours, so that the API server refuses every apply
//! (a second handler in a probe, a value beside a `valueFrom`), or the object is not what we say (another port, another
//! capability). Those places are wholly ours.

use serde_json::{Value, json};

use super::compare::{has_same_keys, is_zero, list_keys};

/// Places of the application's container in which nothing foreign may stand.
const CONTAINER_PLACES: [&str; 7] = [
    "/args",
    "/command",
    "/lifecycle/preStop",
    "/livenessProbe",
    "/readinessProbe",
    "/securityContext",
    "/startupProbe",
];

/// Ways to ask or to tell a container something: exactly one stands in a probe or hook, so another one than ours goes
/// with all of it.
const HANDLERS: [&str; 5] = ["exec", "grpc", "httpGet", "sleep", "tcpSocket"];

/// The operations of a JSON Patch (RFC 6902) that takes every contradicting foreign member out of `live`, last
/// positions first; none where nothing contradicts. `container` names the container that is ours.
#[must_use]
pub fn removals(desired: &Value, live: &Value, container: &str) -> Vec<Value> {
    let mut removals = Removals::default();
    removals.in_service(desired, live);
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
    }

    fn in_pod(&mut self, desired: &Value, live: &Value, container: &str) {
        let path = "/spec/template/spec";
        let (Some(desired), Some(live)) = (desired.pointer(path), live.pointer(path)) else { return };
        self.in_list(desired, live, path, "topologySpreadConstraints");
        let named = |pod: &Value| {
            let containers = pod.get("containers").and_then(Value::as_array)?;
            let position = containers
                .iter()
                .position(|entry| entry.get("name").and_then(Value::as_str) == Some(container))?;
            Some((position, containers.get(position)?.clone()))
        };
        if let (Some((_, desired)), Some((position, live))) = (named(desired), named(live)) {
            self.in_container(&desired, &live, &format!("{path}/containers/{position}"));
        }
    }

    fn in_container(&mut self, desired: &Value, live: &Value, path: &str) {
        for place in CONTAINER_PLACES {
            let path = format!("{path}{place}");
            match (desired.pointer(place), live.pointer(place)) {
                (Some(wanted), Some(found)) if has_other_handler(wanted, found) => self.remove(&path),
                (Some(wanted), Some(found)) => self.in_object(wanted, found, &path),
                // A hook where we have none delays nothing but the end of the pod: it may stay.
                (None, Some(found)) if !is_zero(found) && place != "/lifecycle/preStop" => self.remove(&path),
                (_, _) => (),
            }
        }
        self.in_list(desired, live, path, "ports");
        self.in_own_variables(desired, live, path);
    }

    /// Entries of a keyed list that are not ours.
    fn in_list(&mut self, desired: &Value, live: &Value, path: &str, field: &str) {
        let Some(Value::Array(found)) = live.get(field) else { return };
        let wanted = desired.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for position in foreign_positions(wanted, found, list_keys(field)) {
            self.remove(&format!("{path}/{field}/{position}"));
        }
    }

    /// A variable of ours may not have a value from elsewhere beside ours.
    fn in_own_variables(&mut self, desired: &Value, live: &Value, path: &str) {
        let list =
            |container: &Value| container.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
        let wanted = list(desired);
        for (position, found) in list(live).iter().enumerate() {
            if let Some(wanted) = wanted.iter().find(|wanted| wanted.get("name") == found.get("name")) {
                self.in_object(wanted, found, &format!("{path}/env/{position}"));
            }
        }
    }

    /// Fields of an object, at any depth, that we do not mean.
    fn in_object(&mut self, desired: &Value, live: &Value, path: &str) {
        let (Value::Object(desired), Value::Object(live)) = (desired, live) else { return };
        for (field, found) in live {
            let path = format!("{path}/{}", escaped(field));
            match desired.get(field) {
                Some(wanted) => self.in_object(wanted, found, &path),
                None if is_default(field, found) => (),
                None => self.remove(&path),
            }
        }
    }

    fn remove(&mut self, path: &str) {
        self.0.push(json!({ "op": "remove", "path": path }));
    }
}

/// What the API server adds by itself, and zero values; but user and group 0 are root.
fn is_default(field: &str, found: &Value) -> bool {
    (is_zero(found) && !matches!(field, "runAsUser" | "runAsGroup"))
        || (field == "procMount" && found == "Default")
}

fn has_other_handler(wanted: &Value, found: &Value) -> bool {
    HANDLERS.iter().any(|handler| found.get(handler).is_some() && wanted.get(handler).is_none())
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
