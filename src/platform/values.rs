//! Rules for single values of the platform file. Pure.
//!
//! Each gives the rest of a sentence that begins with the key: what is there, and what is allowed.

use std::ops::RangeInclusive;

use egapp_api::GROUP;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::dns::is_subdomain;
use crate::quantity::parse_milli;

/// What follows a bad value.
pub(super) type Problem = String;

/// Thousandths of a byte in 1Mi.
const MEBIBYTE: i128 = 1024 * 1024 * 1000;

pub(super) fn check_cpu(text: &str) -> Result<(), Problem> {
    match parse_milli(text) {
        Some(milli) if milli > 0 => Ok(()),
        Some(_) | None => Err(format!("is {text:?}; use a quantity above 0, such as 250m or 0.5")),
    }
}

/// At least 1Mi: nothing runs in less, and `256m` is a quarter of a byte and a common slip.
pub(super) fn check_memory(text: &str) -> Result<(), Problem> {
    match parse_milli(text) {
        Some(milli) if milli >= MEBIBYTE => Ok(()),
        Some(_) | None => Err(format!("is {text:?}; use a quantity of at least 1Mi, such as 256Mi or 2Gi")),
    }
}

pub(super) fn check_whole(value: i64, allowed: RangeInclusive<i32>) -> Result<(), Problem> {
    let (least, most) = allowed.into_inner();
    if (i64::from(least)..=i64::from(most)).contains(&value) {
        return Ok(());
    }
    Err(format!("is {value}; use a whole number from {least} to {most}"))
}

/// As the API server checks `maxSurge` and `maxUnavailable`: a number of pods from 0, or a percentage.
pub(super) fn check_int_or_percent(value: &IntOrString) -> Result<(), Problem> {
    let (shown, is_valid) = match value {
        IntOrString::Int(pods) => (pods.to_string(), *pods >= 0),
        IntOrString::String(text) => (format!("{text:?}"), percent(text).is_some()),
    };
    if is_valid {
        return Ok(());
    }
    Err(format!("is {shown}; use a number of pods from 0, or a percentage from 0% to 100%"))
}

/// Whether it comes to no pod, whatever the number of replicas.
pub(super) fn is_zero(value: &IntOrString) -> bool {
    match value {
        IntOrString::Int(pods) => *pods == 0,
        IntOrString::String(text) => percent(text) == Some(0),
    }
}

fn percent(text: &str) -> Option<u8> {
    let digits = text.strip_suffix('%').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|percent| *percent <= 100)
}

/// The rule of `spec.image`.
pub(super) fn check_image(reference: &str) -> Result<(), Problem> {
    let is_valid =
        (1..=512).contains(&reference.len()) && reference.bytes().all(|byte| byte.is_ascii_graphic());
    if is_valid {
        return Ok(());
    }
    Err(format!(
        "is {reference:?}; use an image reference of 1 to 512 characters without white space, such as \
         registry.example.com/team/web:1.4.2"
    ))
}

/// The rule of `spec.appId`, which is a label's value.
pub(super) fn check_app_id(id: &str) -> Result<(), Problem> {
    if is_label_name(id) {
        return Ok(());
    }
    Err("cannot be an appId; use 1 to 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit"
        .to_owned())
}

/// Kubernetes' syntax of a label key, outside of the keys that the operator writes itself: the selector would change
/// with the app id.
pub(super) fn check_label_key(key: &str) -> Result<(), Problem> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if prefix.is_some_and(|prefix| prefix == GROUP || prefix == "app.kubernetes.io") {
        return Err(format!(
            "is {key:?}, which is among the labels that the operator writes; use another prefix"
        ));
    }
    if prefix.is_none_or(is_subdomain) && is_label_name(name) {
        return Ok(());
    }
    Err(format!("is {key:?}; use a label key, such as backstage.io/kubernetes-id, or \"\" for no such label"))
}

fn is_label_name(text: &str) -> bool {
    let ends = text.chars().next().into_iter().chain(text.chars().next_back());
    (1..=63).contains(&text.len())
        && ends.into_iter().all(|end| end.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Kubernetes' strict syntax of a variable's name (`IsEnvVarName`): every version takes it.
pub(super) fn check_variable_name(name: &str) -> Result<(), Problem> {
    let is_valid = !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    // `.` and names that begin with `..` are refused, since a ConfigMap cannot hold them as files.
    if is_valid && name != "." && !name.starts_with("..") {
        return Ok(());
    }
    Err("is no name of a variable; use letters, digits, '_', '-' and '.', not starting with a digit"
        .to_owned())
}
