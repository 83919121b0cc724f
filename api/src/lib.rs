//! The API that users write: the `EGApp` custom resource and the names the cluster sees.
//!
//! Types and constants only: no client, no I/O. Whatever the API server decides (defaults, bounds, messages) stands
//! in the schema that these types generate, and nowhere else; `hack/manifests` writes it to `config/crd/bases`.

pub mod labels;
pub mod v1alpha1;

/// API group of every kind of this project, and the prefix of its own labels.
pub const GROUP: &str = "egplatform.platform.evillgenius.com";
