use super::*;

#[test]
fn a_kubelets_sentence_names_no_pod() {
    let sentence = "container has runAsNonRoot and image will run as root (pod: \"web-5f6-x2k4p_team(0a1b)\", container: app)";
    let stable = "container has runAsNonRoot and image will run as root";
    assert_eq!(of_kubelet(sentence, "web-5f6-x2k4p", "0a1b"), stable);
    let reserved = "failed to reserve container name \"app_web-5f6-x2k4p_team_0a1b_0\": name is reserved for \
                    \"6c1f0000000000000000000000000000000000000000000000000000000000ff\"";
    assert_eq!(
        of_kubelet(reserved, "web-5f6-x2k4p", "0a1b"),
        "failed to reserve container name \"app_<pod>_team_<uid>_0\": name is reserved for <id>"
    );
}

#[test]
fn addresses_that_change_with_every_try_and_signatures_are_left_out() {
    let timeout = "dial udp: read udp 10.0.0.5:43210->10.96.0.10:53: i/o timeout";
    assert_eq!(of_kubelet(timeout, "web-1", "0a1b"), "dial udp: read udp 10.96.0.10:53: i/o timeout");
    let signed = "Get \"https://cdn.example.com/blob?X-Signature=secret\": EOF";
    assert_eq!(of_kubelet(signed, "web-1", "0a1b"), "Get \"https://cdn.example.com/blob EOF");
}

#[test]
fn a_digest_of_an_image_is_no_id() {
    let digest = format!("sha256:{}", "ab".repeat(32));
    assert_eq!(of_kubelet(&digest, "web-1", "0a1b"), digest);
}

#[test]
fn both_sentences_about_an_image_give_the_same_cause() {
    let cause = "failed to resolve reference \"r.example.com/web:1\": r.example.com/web:1: not found";
    let first = format!("rpc error: code = NotFound desc = {cause}");
    let later = format!("Back-off pulling image \"r.example.com/web:1\": ErrImagePull: {first}");
    assert_eq!((image_cause(&first), image_cause(&later)), (Some(cause), Some(cause)));
    assert_eq!(image_cause("Back-off pulling image \"r.example.com/web:1\""), None);
    assert_eq!(image_cause(""), None);
}

#[test]
fn the_schedulers_list_has_no_counts() {
    let few = "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption victims \
               found for incoming pod.";
    assert_eq!(of_scheduler(few), "Insufficient cpu");
    let many = "0/5 nodes are available: 1 node(s) had untolerated taint {a: b}, 4 Insufficient cpu, 4 Insufficient memory. \
                no new claims to deallocate, preemption: 0/5 nodes are available: 5 Preemption is not helpful.";
    let reasons = "Insufficient cpu, Insufficient memory, node(s) had untolerated taint {a: b}";
    assert_eq!(of_scheduler(many), reasons);
    assert_eq!(of_scheduler("Scheduling is blocked"), "Scheduling is blocked");
}

#[test]
fn random_pod_names_are_replaced_wherever_they_stand_and_nothing_else_is() {
    let sentence =
        "pods \"web-6d4cf56db6-x7k2p\" is forbidden: exceeded quota: web-quota, by web-6d4cf56db6-x7k2p";
    let stable = "pods \"<pod>\" is forbidden: exceeded quota: web-quota, by <pod>";
    assert_eq!(without_pod_names(sentence, "web"), stable);
    let unnamed = "pods \"web-6b49b745d5-\" is forbidden: error looking up service account";
    let stable = "pods \"<pod>\" is forbidden: error looking up service account";
    assert_eq!(without_pod_names(unnamed, "web"), stable);
    for kept in ["policy web-policy-check denied é", "serviceaccount \"web-robot\" not found", "web", ""] {
        assert_eq!(without_pod_names(kept, "web"), kept);
    }
    let long = "a".repeat(63);
    let cut = format!("pods \"{}x7k2p\" is forbidden, as is {long}", &long[..58]);
    assert_eq!(without_pod_names(&cut, &long), format!("pods \"<pod>\" is forbidden, as is {long}"));
    let hash_is_cut = format!("{}-6d4cfx7k2p", "b".repeat(52));
    assert_eq!(without_pod_names(&hash_is_cut, &"b".repeat(52)), "<pod>");
}

#[test]
fn a_page_of_text_is_cut() {
    let text = of_kubelet(&"ä ".repeat(5000), "web-1", "0a1b");
    assert_eq!(text.chars().count(), QUOTED + 1);
}
