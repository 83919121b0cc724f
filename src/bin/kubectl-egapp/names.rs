//! Names that can be part of a request: what the API server would take for another path is refused. Pure.

use pe_app::dns::is_label;

/// What `metadata.name` of an EGApp may be, as its CRD has it.
pub(crate) const OF_APPS: &str = "must be at most 63 lower-case letters, digits and '-', start with a letter and end with a letter or digit";

const OF_NAMESPACES: &str =
    "must be at most 63 lower-case letters, digits and '-', and start and end with a letter or digit";

/// Ways to say what kind an EGApp is, as kubectl takes them before a name.
const KINDS: [&str; 4] = ["egapp/", "egapps/", "ega/", "egapps.egplatform.platform.evillgenius.com/"];

/// A name on the command line, which may be `egapp/NAME`.
pub(crate) fn app(text: &str) -> Result<String, String> {
    let name = KINDS.iter().find_map(|kind| text.strip_prefix(kind)).unwrap_or(text);
    if is_app(name) { Ok(name.to_owned()) } else { Err(format!("a name {OF_APPS}")) }
}

/// A namespace on the command line.
pub(crate) fn namespace(text: &str) -> Result<String, String> {
    if is_label(text) { Ok(text.to_owned()) } else { Err(format!("a namespace {OF_NAMESPACES}")) }
}

/// What is wrong with the `metadata` of an EGApp in a file.
pub(crate) fn problems(name: &str, namespace: Option<&str>) -> impl Iterator<Item = String> + use<> {
    let name = match name {
        "" => Some("metadata.name is missing".to_owned()),
        name => (!is_app(name)).then(|| format!("metadata.name {OF_APPS}")),
    };
    let namespace = namespace.filter(|namespace| !is_label(namespace));
    name.into_iter().chain(namespace.map(|_| format!("metadata.namespace {OF_NAMESPACES}")))
}

fn is_app(name: &str) -> bool {
    is_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_follow_its_kind_and_leads_to_no_other_path() {
        for good in ["web", "egapp/web", "ega/web", "egapps.egplatform.platform.evillgenius.com/web"] {
            assert_eq!(app(good).as_deref(), Ok("web"));
        }
        for bad in [
            "",
            "egapp/",
            "web/status",
            "web?x=1",
            "../web",
            "a%2fb",
            "pod/web",
            "Web",
            "1a",
            "a-",
            &"a".repeat(64),
        ] {
            assert!(app(bad).is_err(), "{bad}");
        }
        assert_eq!(namespace("1-team").as_deref(), Ok("1-team"));
        assert!(["", "../x", "BAD", "-a"].iter().all(|bad| namespace(bad).is_err()));
    }
}
