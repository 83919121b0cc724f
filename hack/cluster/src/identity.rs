//! Who talks to the API server, and the kubeconfig of each. Writes files; asks the API server for tokens.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{Error, Result, certs};

/// Name of the cluster, the context and the user in every kubeconfig.
const NAME: &str = "pe-app";

/// Someone the API server can tell apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A user with a client certificate. The audit log shows the name.
    User {
        /// The user.
        name: String,
        /// A group beside `system:authenticated`; `system:masters` may do everything.
        group: Option<String>,
    },
    /// An existing service account, by a token. The audit log shows `system:serviceaccount:<namespace>:<name>`.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl Identity {
    /// A user of no group.
    #[must_use]
    pub fn user(name: impl Into<String>) -> Self {
        Self::User { name: name.into(), group: None }
    }

    /// A user of one group.
    #[must_use]
    pub fn user_in_group(name: impl Into<String>, group: impl Into<String>) -> Self {
        Self::User { name: name.into(), group: Some(group.into()) }
    }

    /// A service account.
    #[must_use]
    pub fn service_account(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ServiceAccount { namespace: namespace.into(), name: name.into() }
    }

    /// The user name as RBAC and the audit log have it.
    #[must_use]
    pub fn user_name(&self) -> String {
        match self {
            Self::User { name, .. } => name.clone(),
            Self::ServiceAccount { namespace, name } => format!("system:serviceaccount:{namespace}:{name}"),
        }
    }
}

/// What proves an identity.
pub(crate) enum Credentials {
    Certificate { certificate: PathBuf, key: PathBuf },
    Token(String),
}

/// Writes a kubeconfig, readable for its owner alone.
pub(crate) fn write_kubeconfig(
    path: &Path,
    server: &str,
    ca: &Path,
    credentials: &Credentials,
) -> Result<()> {
    let document = kubeconfig(server, ca, credentials);
    // JSON is YAML, and needs no quoting rules of ours.
    let text = serde_json::to_string_pretty(&document)
        .map_err(|source| Error::Json { origin: "a kubeconfig".to_owned(), source })?;
    certs::write_secret(path, &text)
}

fn kubeconfig(server: &str, ca: &Path, credentials: &Credentials) -> Value {
    let user = match credentials {
        Credentials::Certificate { certificate, key } => {
            json!({"client-certificate": certificate, "client-key": key})
        }
        Credentials::Token(token) => json!({"token": token}),
    };
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": server, "certificate-authority": ca}}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    })
}

/// A file name for an identity: `number` keeps those apart that look the same without their special characters.
pub(crate) fn file_stem(identity: &Identity, number: usize) -> String {
    let user = identity.user_name();
    let safe: String =
        user.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    format!("{safe}-{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_accounts_are_named_as_the_audit_log_names_them() {
        let identity = Identity::service_account("pe-app-system", "controller-manager");
        assert_eq!(identity.user_name(), "system:serviceaccount:pe-app-system:controller-manager");
    }

    #[test]
    fn file_names_hold_no_path() {
        assert_eq!(file_stem(&Identity::user("../system:admin"), 3), "---system-admin-3");
    }
}
