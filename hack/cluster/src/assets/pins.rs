//! The versions of `tools/go.mod`, which is the only place they are written. Pure.

use ring::digest;

/// The Go module whose `tool` lines are the programs.
pub(super) const GO_MOD: &str = include_str!("../../tools/go.mod");
/// The hashes of all that goes into them.
pub(super) const GO_SUM: &str = include_str!("../../tools/go.sum");
/// The oldest Go that builds this Kubernetes (the `go` line of go.mod).
pub(super) const GO_REQUIRED: &str = "1.26";

/// Version of Kubernetes, with its `v`.
pub(super) fn kubernetes() -> &'static str {
    required_version("k8s.io/kubernetes")
}

/// Version of kwok, with its `v`.
pub(super) fn kwok() -> &'static str {
    required_version("sigs.k8s.io/kwok")
}

/// Names the cache: the version for people, the hash for everything else that may change the binaries.
pub(super) fn cache_key() -> String {
    let hash = digest::digest(&digest::SHA256, GO_SUM.as_bytes());
    let number = hash.as_ref().iter().take(6).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    format!("{}-{number:012x}", kubernetes())
}

fn required_version(module: &str) -> &'static str {
    GO_MOD
        .lines()
        .filter_map(|line| line.trim().split_once(' '))
        .find_map(|(name, rest)| (name == module).then_some(rest))
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap_or_default()
}

/// Stamps the version into the binaries; without it the server calls itself `v0.0.0-master`.
pub(super) fn linker_flags() -> String {
    let version = kubernetes();
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let values =
        [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor), ("gitTreeState", "clean")];
    let mut flags = vec!["-s -w".to_owned()];
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        flags.extend(values.iter().map(|(name, value)| format!("-X {package}.{name}={value}")));
    }
    flags.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_the_require_block_and_not_from_a_replace() {
        assert!(kubernetes().starts_with("v1."), "{}", kubernetes());
        assert!(kwok().starts_with("v0."), "{}", kwok());
        assert_eq!(required_version("k8s.io/no-such-module"), "");
    }

    #[test]
    fn required_go_is_that_of_the_module() {
        assert!(GO_MOD.contains(&format!("\ngo {GO_REQUIRED}.")), "GO_REQUIRED differs from go.mod");
    }

    #[test]
    fn cache_key_is_the_version_and_twelve_hex_digits() {
        let key = cache_key();
        let hex = key.strip_prefix(&format!("{}-", kubernetes())).unwrap();
        assert_eq!(hex.len(), 12, "{key}");
        assert!(hex.chars().all(|digit| digit.is_ascii_hexdigit()), "{key}");
    }

    #[test]
    fn both_version_packages_are_stamped() {
        let flags = linker_flags();
        assert!(flags.contains(&format!("-X k8s.io/component-base/version.gitVersion={}", kubernetes())));
        assert!(flags.contains("-X k8s.io/client-go/pkg/version.gitMajor=1"));
    }
}
