//! Reading a platform file: what is shipped, what is partial, what is told when it cannot be used.

use std::fs;
use std::path::Path;

use egapp_api::v1alpha1::{Environment, Framework, InstanceType};

use super::{Platform, PlatformConfig};
use crate::telemetry::Chain;

/// A file of the repository.
fn repository(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// What is said about a file of that text, with `FILE` for its name.
fn refusal(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("platform.yaml");
    fs::write(&path, text).unwrap();
    let error = Platform::load(Some(&path)).unwrap_err().to_string();
    error.replace(path.to_str().unwrap(), "FILE")
}

#[test]
fn the_shipped_file_says_what_is_built_in() {
    let shipped = Platform::from_yaml(&repository("config/manager/platform.yaml")).unwrap();
    assert_eq!(shipped, Platform::built_in());
}

/// Texts that mean something else to YAML where they are not quoted.
const TRAPS: [&str; 16] = [
    "",
    " ",
    "yes",
    "true",
    "null",
    "~",
    "1",
    "1e3",
    "0x1F",
    "1:30",
    "- a",
    "a: b",
    "a #b",
    "'",
    "\"\\\t\u{1b}",
    "a\n  b\n\n",
];

#[test]
fn what_is_written_out_reads_the_same() {
    let mut text = repository("config/manager/platform.yaml");
    let json = |words: &[&str]| serde_json::to_string(words).unwrap();
    text = text.replacen("args: [", &format!("command: {}\n      args: [", json(&TRAPS)), 1);
    let traps = TRAPS
        .iter()
        .enumerate()
        .map(|(i, trap)| format!("TRAP_{i}: {}", json(&[trap]).trim_matches(['[', ']'])));
    let env = format!("env: {{{}, ", traps.collect::<Vec<_>>().join(", "));
    text = text.replacen("env: {", &env, 1);
    let platform = Platform::from_yaml(&text).unwrap();
    assert_eq!(Platform::from_yaml(&platform.to_yaml()).unwrap(), platform);
    assert!(text.contains("TRAP_15") && text.contains("command: [\"\""), "{text}");
    let built_in = Platform::built_in();
    assert_eq!(Platform::from_yaml(&built_in.to_yaml()).unwrap(), built_in);
}

#[test]
fn without_a_file_the_built_in_platform_holds() {
    assert_eq!(Platform::load(None).unwrap(), Platform::built_in());
}

#[test]
fn the_built_in_platform_knows_every_word_and_no_other() {
    let platform = Platform::built_in();
    assert!(InstanceType::ALL.iter().all(|word| platform.size(*word).is_some()));
    assert!(Framework::ALL.iter().all(|word| platform.framework(*word).is_some()));
    assert!(Environment::ALL.iter().all(|word| platform.environment(*word).is_some()));
    assert_eq!(platform.size(InstanceType::Unknown), None);
    assert_eq!(platform.framework(Framework::Unknown), None);
    assert_eq!(platform.environment(Environment::Unknown), None);
}

#[test]
fn a_section_that_is_given_stands_alone_and_the_others_are_built_in() {
    let platform = Platform::from_yaml(
        "{apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig, catalogLabel: '', \
         environments: {dev: {}, stage: {}, prod: {spread: true}}}",
    )
    .unwrap();
    let prod = platform.environment(Environment::Prod).unwrap();
    assert!(prod.spread && !prod.pod_disruption_budget, "nothing of the built-in prod is left: {prod:?}");
    assert_eq!(prod.progress_deadline_seconds, 600);
    assert_eq!(platform.catalog_label(), None);
    assert_eq!(platform.config.sizes, PlatformConfig::default().sizes);
    assert_eq!(platform.config.images, PlatformConfig::default().images);
}

#[test]
fn apps_alone_leave_the_starters_built_in() {
    let platform = Platform::from_yaml(
        "{apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig, \
         images: {apps: {billing: {image: billing:1}}}}",
    )
    .unwrap();
    assert_eq!(platform.config.images.starters, PlatformConfig::default().images.starters);
}

/// The message that `docs/reference/platform.md` shows, and the file that it is about.
#[test]
fn several_errors_are_told_in_one_line_in_the_order_of_the_file() {
    let error = refusal(
        "apiVersion: config.platform.evillgenius.com/v1alpha1
kind: PlatformConfig
# Ours are small.
sizes:
  lowMem: {cpu: lots, memory: 256Mi}
  highMem: {cpu: 500m, memory: 2Gi}
  highCPU: {cpu: 2, memory: 1Gi}
  balanced: {cpu: 1, memory: 1Gi}
environments:
  dev: {}
  stage: {}
  prod: {maxSurge: 0, maxUnavailable: 0}
",
    );
    assert_eq!(
        error,
        "cannot use the platform file, 2 errors: (1) FILE:5:12: sizes.lowMem.cpu is \"lots\"; use a quantity above 0, \
         such as 250m or 0.5; (2) FILE:12:23: environments.prod.maxUnavailable is 0 and so is maxSurge, so that no \
         rollout could ever move; raise one of them"
    );
    let shown = error.replace("FILE", "/etc/pe-app/platform.yaml");
    assert!(
        repository("docs/reference/platform.md").contains(&shown),
        "the reference does not show: {shown}"
    );
}

#[test]
fn what_is_told_has_bounds() {
    let starters: Vec<_> = (0..60).map(|i| format!("a{i}: {{image: '{}'}}", "x y".repeat(500))).collect();
    let error = refusal(&format!(
        "{{apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig, images: {{apps: {{{}}}}}}}",
        starters.join(", ")
    ));
    assert!(error.contains("60 errors") && error.ends_with("…; and 40 more"), "{error}");
    assert!(error.len() < 10_000, "{}", error.len());
}

#[test]
fn an_error_about_a_key_that_is_left_out_stands_at_the_nearest_one_above() {
    let error = refusal(
        "{apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig,
frameworks: {java: {port: 80, startupSeconds: 700}, python: &p {port: 80, startupSeconds: 9}, go: *p},
environments: {dev: {progressDeadlineSeconds: 701}, stage: {progressDeadlineSeconds: 701}, prod: {}}}",
    );
    assert_eq!(
        error,
        "cannot use the platform file: FILE:3:92: environments.prod.progressDeadlineSeconds is 600; it must be more \
         than frameworks.java.startupSeconds, which is 700"
    );
}

#[test]
fn an_unknown_key_is_one_error() {
    let error =
        refusal("apiVersion: config.platform.evillgenius.com/v1alpha1\nkind: PlatformConfig\nsize: {}\n");
    assert!(
        error.starts_with("cannot use the platform file: FILE:3:1: size is not a key of this file; "),
        "{error}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_its_flag() {
    let error = Platform::load(Some(Path::new("/does/not/exist"))).unwrap_err();
    let message = Chain(&error).to_string();
    assert!(
        message.starts_with(
            "cannot read the platform file /does/not/exist given by --platform-config: No such file"
        ),
        "{message}"
    );
}

#[test]
fn the_revision_tells_platforms_apart_but_not_how_they_are_rolled_out() {
    let of = |text: &str| {
        let head = "apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig";
        Platform::from_yaml(&format!("{{{head}, {text}}}")).unwrap()
    };
    let plain = of("rollout: {maxConcurrent: 2, order: [prod, dev, stage]}");
    assert_eq!(plain.revision(), Platform::built_in().revision());
    assert_ne!(plain, Platform::built_in());
    assert_eq!(
        plain.rollout_order().collect::<Vec<_>>(),
        [Environment::Prod, Environment::Dev, Environment::Stage]
    );
    assert_eq!(plain.max_concurrent_rollouts(), 2);
    assert_ne!(of("catalogLabel: ''").revision(), plain.revision());
}
