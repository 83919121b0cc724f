//! The resources of one replica: the size's, key by key replaced by the user's. Pure.

use std::collections::BTreeMap;

use crate::platform::Size;
use crate::quantity::{is_equal, parse_milli};
use egapp_api::v1alpha1::{EffectiveResources, ResourceAmounts, Resources};

type Amounts = BTreeMap<String, String>;

/// What an EGApp and its status speak of.
const NAMED: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Requests and limits of one replica.
///
/// What the user says stands. Where it contradicts the other half, which then is the size's, that half follows: a
/// memory limit alone is the request too, and a request above the size's limit lifts it.
#[must_use]
pub fn effective(size: &Size, user: Option<&Resources>) -> EffectiveResources {
    let half = |amounts: Option<&ResourceAmounts>| amounts.map(asked_for).unwrap_or_default();
    let user_requests = half(user.and_then(|user| user.requests.as_ref()));
    let user_limits = half(user.and_then(|user| user.limits.as_ref()));
    let mut requests =
        Amounts::from([("cpu".into(), size.cpu.clone()), ("memory".into(), size.memory.clone())]);
    let mut limits = Amounts::from([("memory".into(), size.memory.clone())]);
    requests.extend(user_requests.clone());
    limits.extend(user_limits.clone());
    for (resource, limit) in &mut limits {
        let Some(request) = requests.get_mut(resource) else { continue };
        let follows = resource == "memory" || parse_milli(request) > parse_milli(limit);
        match (user_requests.contains_key(resource), user_limits.contains_key(resource)) {
            (false, true) if follows => request.clone_from(limit),
            (true, false) if follows => limit.clone_from(request),
            _ => (),
        }
    }
    EffectiveResources { requests, limits }
}

/// What a pod was given, in the words of what is wanted where the amounts are the same: the API server has its own.
#[must_use]
pub fn given(pod: &EffectiveResources, wanted: &EffectiveResources) -> EffectiveResources {
    let half = |pod: &Amounts, wanted: &Amounts| -> Amounts {
        let named = pod.iter().filter(|(resource, _)| NAMED.contains(&resource.as_str()));
        let in_words = named.map(|(resource, amount)| {
            let same = wanted.get(resource).filter(|wanted| is_equal(wanted, amount));
            (resource.clone(), same.unwrap_or(amount).clone())
        });
        in_words.collect()
    };
    EffectiveResources {
        requests: half(&pod.requests, &wanted.requests),
        limits: half(&pod.limits, &wanted.limits),
    }
}

fn asked_for(amounts: &ResourceAmounts) -> Amounts {
    let ResourceAmounts { cpu, memory, ephemeral_storage } = amounts;
    NAMED
        .into_iter()
        .zip([cpu, memory, ephemeral_storage])
        .filter_map(|(resource, amount)| Some((resource.to_owned(), amount.clone()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn effective_of(user: Value) -> Value {
        let size = Size { cpu: "250m".into(), memory: "256Mi".into() };
        let user: Option<Resources> = serde_json::from_value(user).unwrap();
        serde_json::to_value(effective(&size, user.as_ref())).unwrap()
    }

    #[test]
    fn the_size_stands_where_the_user_says_nothing() {
        let size =
            json!({ "requests": { "cpu": "250m", "memory": "256Mi" }, "limits": { "memory": "256Mi" } });
        assert_eq!(effective_of(Value::Null), size);
        assert_eq!(effective_of(json!({})), size);
    }

    #[test]
    fn a_memory_limit_alone_is_the_request_too() {
        let effective = effective_of(json!({ "limits": { "memory": "1Gi" } }));
        assert_eq!(
            effective,
            json!({ "requests": { "cpu": "250m", "memory": "1Gi" }, "limits": { "memory": "1Gi" } })
        );
    }

    #[test]
    fn a_half_that_the_user_did_not_give_follows_rather_than_contradicts() {
        let lifted = effective_of(json!({ "requests": { "memory": "1Gi", "cpu": "2" } }));
        assert_eq!(
            lifted,
            json!({ "requests": { "cpu": "2", "memory": "1Gi" }, "limits": { "memory": "1Gi" } })
        );
        let lowered = effective_of(json!({ "limits": { "cpu": "0.1" } }));
        assert_eq!((&lowered["requests"]["cpu"], &lowered["limits"]["cpu"]), (&json!("0.1"), &json!("0.1")));
        let kept = effective_of(json!({ "limits": { "cpu": "4", "ephemeral-storage": "1Gi" } }));
        assert_eq!((&kept["requests"]["cpu"], &kept["limits"]["cpu"]), (&json!("250m"), &json!("4")));
        assert_eq!(kept["limits"]["ephemeral-storage"], "1Gi");
    }

    #[test]
    fn what_the_user_gives_on_both_sides_stands() {
        let both = json!({ "requests": { "memory": "64Mi" }, "limits": { "memory": "1Gi" } });
        let effective = effective_of(both);
        assert_eq!(
            (&effective["requests"]["memory"], &effective["limits"]["memory"]),
            (&json!("64Mi"), &json!("1Gi"))
        );
    }

    #[test]
    fn what_a_pod_was_given_is_told_in_the_words_of_the_wish_where_it_is_the_same() {
        let resources = |value: Value| -> EffectiveResources { serde_json::from_value(value).unwrap() };
        let wanted = resources(
            json!({ "requests": { "cpu": "0.5", "memory": "1024Mi" }, "limits": { "memory": "1024Mi" } }),
        );
        let pod = resources(json!({
            "requests": { "cpu": "500m", "memory": "2Gi", "example.com/gpu": "1" },
            "limits": { "cpu": "1", "memory": "1Gi" },
        }));
        let told = json!({ "requests": { "cpu": "0.5", "memory": "2Gi" }, "limits": { "cpu": "1", "memory": "1024Mi" } });
        assert_eq!(given(&pod, &wanted), resources(told));
    }
}
