use super::refused;
use egapp_api::v1alpha1::Reason;

/// Sentences of a real API server, recorded by the test `failures`.
const RECORDED: [(&str, Reason); 6] = [
    (include_str!("../../../../tests/failures/refusals/quota.txt"), Reason::QuotaExceeded),
    (include_str!("../../../../tests/failures/refusals/pod-security.txt"), Reason::PodsRefused),
    (include_str!("../../../../tests/failures/refusals/policy.txt"), Reason::PodsRefused),
    (include_str!("../../../../tests/failures/refusals/service-account.txt"), Reason::PodsRefused),
    (include_str!("../../../../tests/failures/refusals/limit-range.txt"), Reason::PodsRefused),
    (include_str!("../../../../tests/failures/refusals/quota-limit.txt"), Reason::ResourcesRequired),
];

#[test]
fn what_a_real_api_server_says_of_refused_pods_has_its_reason_and_no_pod_name() {
    for (sentence, reason) in RECORDED {
        let said = refused(sentence.trim_end(), "web");
        assert_eq!(said.reason, reason, "{sentence}");
        assert!(
            said.message.starts_with("new pods are refused: pods \"<pod>\" is forbidden: "),
            "{}",
            said.message
        );
    }
}

#[test]
fn a_quota_comes_with_what_to_do() {
    let said = refused(RECORDED[0].0, "web");
    assert!(said.message.ends_with("; free some of the quota or ask for a larger one"), "{}", said.message);
}

#[test]
fn a_demand_of_a_quota_names_the_field_or_whose_container_it_is() {
    let said = |demands: &str| {
        let sentence =
            format!("pods \"web-6d4cf56db6-x7k2p\" is forbidden: failed quota: q: must specify {demands}");
        let message = refused(&sentence, "web").message;
        message.split_once(demands).unwrap().1.to_owned()
    };
    assert_eq!(said("limits.cpu for: app"), "; set spec.resources.limits.cpu");
    assert_eq!(
        said("ephemeral-storage for: app; limits.cpu for: app"),
        "; set spec.resources.requests.ephemeral-storage and spec.resources.limits.cpu"
    );
    assert_eq!(
        said("limits.cpu for: app,proxy; requests.memory for: proxy"),
        "; set spec.resources.limits.cpu; container proxy is not the app's own: whoever adds it can put it right"
    );
}
