//! Names as RFC 1123 and Kubernetes (`k8s.io/apimachinery/pkg/util/validation`) have them. Pure.

/// Whether the text can name a namespace: at most 63 lower-case letters, digits and inner dashes.
#[must_use]
pub fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_part(text)
}

/// Whether the text can name most other objects: up to 253 characters, of parts like labels between dots. Kubernetes bounds
/// the whole alone, not its parts.
#[must_use]
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_part)
}

fn is_part(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.bytes().all(|byte| is_plain(byte) || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_no_dots_and_at_most_63_characters() {
        for good in ["a", "0", "team-a", &"a".repeat(63)] {
            assert!(is_label(good) && is_subdomain(good), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a b", "a/b", "../a", "ä", "*"] {
            assert!(!is_label(bad) && !is_subdomain(bad), "{bad}");
        }
        assert!(!is_label("a.b") && !is_label(&"a".repeat(64)));
    }

    #[test]
    fn a_subdomain_is_bounded_as_a_whole() {
        for good in ["6f2d90c4.example.com", "a.b", &"a".repeat(253)] {
            assert!(is_subdomain(good), "{good}");
        }
        for bad in [".a", "a.", "a..b", "a.-b", "a-.b", &"a".repeat(254)] {
            assert!(!is_subdomain(bad), "{bad}");
        }
    }
}
