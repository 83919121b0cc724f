//! Other people's sentences without what changes while their cause stays: pod names, ids, addresses, counts. Pure.

use std::collections::BTreeSet;

use crate::controller::sentence::{QUOTED, line};

/// Letters of the random parts of pod names (`k8s.io/apimachinery/pkg/util/rand`): there are no vowels among them.
const RANDOM: &str = "bcdfghjklmnpqrstvwxz2456789";

/// Length that a generated pod name is cut to before its five random letters are added.
const GENERATED_BASE: usize = 58;

/// A kubelet's or runtime's sentence about the pod of that name and uid.
pub(super) fn of_kubelet(sentence: &str, pod: &str, uid: &str) -> String {
    let sentence = without_parenthesis(sentence, "(pod: ");
    let mut text = sentence.trim().to_owned();
    for (name, placeholder) in [(pod, "<pod>"), (uid, "<uid>")] {
        if !name.is_empty() {
            text = text.replace(name, placeholder);
        }
    }
    let words: Vec<_> = text.split(' ').map(stable_word).collect();
    line(&words.join(" "), QUOTED)
}

/// The cause in a sentence about an image: without the transport's own words around it.
pub(super) fn image_cause(sentence: &str) -> Option<&str> {
    let sentence = sentence.trim();
    // `Back-off pulling image "x": ErrImagePull: <cause>`, with the cause since Kubernetes 1.32.
    let cause = match sentence.strip_prefix("Back-off pulling image ") {
        Some(rest) => rest.split_once("\": ")?.1,
        None => sentence,
    };
    let cause = cause.strip_prefix("ErrImagePull: ").unwrap_or(cause);
    let cause = match cause.strip_prefix("rpc error: code = ") {
        Some(rest) => rest.split_once(" desc = ").map_or(cause, |(_, description)| description),
        None => cause,
    };
    (!cause.is_empty()).then_some(cause)
}

/// Why no node takes a pod: the scheduler's list, without how many nodes say each.
///
/// Its sentence is `0/3 nodes are available: 1 node(s) had …, 2 Insufficient cpu. preemption: 0/3 nodes are …`.
pub(super) fn of_scheduler(sentence: &str) -> String {
    let Some((_, list)) = sentence.split_once("nodes are available: ") else {
        return line(sentence, QUOTED);
    };
    let end = [". preemption:", ", preemption:", ". no new claims to deallocate", "preemption: "];
    let list =
        end.iter().filter_map(|end| list.find(end)).min().and_then(|at| list.get(..at)).unwrap_or(list);
    let uncounted =
        |reason: &str| reason.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').to_owned();
    let reasons: BTreeSet<_> = list.trim_end_matches(['.', ' ']).split(", ").map(uncounted).collect();
    line(&reasons.into_iter().collect::<Vec<_>>().join(", "), QUOTED)
}

/// Why a node has ended a pod, or has not taken it: a kubelet's sentence without what it has measured. `None` where it
/// says nothing.
pub(super) fn of_eviction(sentence: &str, pod: &str, uid: &str) -> Option<String> {
    let cause = sentence.strip_prefix("Pod was rejected: ").unwrap_or(sentence);
    // `The node was low on resource: memory. Threshold quantity: …, available: …. Container app was using …`
    let cause = match cause.split_once(". ") {
        Some((first, _)) if first.starts_with("The node ") => first,
        _ => cause,
    };
    let cause = cause.split_once(", requested: ").map_or(cause, |(resource, _)| resource);
    let cause = of_kubelet(cause.trim_end_matches(['.', ' ']), pod, uid);
    (!cause.is_empty()).then_some(cause)
}

/// A sentence of the API server about a new pod of the Deployment, whose name is random.
pub(in crate::controller::egapp) fn without_pod_names(sentence: &str, deployment: &str) -> String {
    let is_part_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let mut text = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while !rest.is_empty() {
        let word = rest.find(|c| !is_part_of_name(c)).map_or(rest, |end| rest.get(..end).unwrap_or(rest));
        text.push_str(if is_pod_name(word, deployment) { "<pod>" } else { word });
        rest = rest.strip_prefix(word).unwrap_or_default();
        if let Some(other) = rest.chars().next() {
            text.push(other);
            rest = rest.get(other.len_utf8()..).unwrap_or_default();
        }
    }
    line(&text, QUOTED)
}

/// Whether it is `<deployment>-<template hash>-<five random letters>`, as it is cut for long names. What is refused
/// before it gets a name is told by the name without the letters.
fn is_pod_name(word: &str, deployment: &str) -> bool {
    let is_random = |text: &str| !text.is_empty() && text.chars().all(|letter| RANDOM.contains(letter));
    let hash_of =
        |base: &str| base.strip_prefix(deployment)?.strip_prefix('-')?.strip_suffix('-').map(is_random);
    if hash_of(word) == Some(true) {
        return true;
    }
    let Some((base, random)) = word.split_at_checked(word.len().saturating_sub(5)) else { return false };
    if !is_random(random) {
        return false;
    }
    if base.len() == GENERATED_BASE {
        let start = deployment.get(..GENERATED_BASE).unwrap_or(deployment);
        return base.starts_with(start) && word != deployment;
    }
    hash_of(base) == Some(true)
}

/// A word without ids of containers, without the local end of a connection, and without a query, which may be signed.
fn stable_word(word: &str) -> &str {
    let is_id = |text: &str| text.len() >= 32 && text.chars().all(|c| c.is_ascii_hexdigit());
    if is_id(word.trim_matches(|c: char| !c.is_ascii_alphanumeric())) {
        return "<id>";
    }
    let word = word.split_once("->").map_or(word, |(_, remote)| remote);
    if word.contains("://") { word.split_once('?').map_or(word, |(address, _)| address) } else { word }
}

/// `text` without the first parenthesis that starts with `opening`, and the space before it.
fn without_parenthesis(text: &str, opening: &str) -> String {
    let Some((before, inside)) = text.split_once(opening) else { return text.to_owned() };
    let after = inside.split_once(')').map_or("", |(_, after)| after);
    // Pods are printed as `name_namespace(uid)`, quoted: the first closing bracket is that one's.
    let after = after.split_once(')').map_or(after, |(_, after)| after);
    format!("{}{after}", before.trim_end())
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
