//! The generated files, made from the Rust types: the CRD, the manager's `ClusterRole` and `Role`, the schema of the
//! platform file, and a reference page of both.
//!
//! [`manifests`] is pure and gives the same bytes each time; [`files`] compares them with a checkout and writes them.

pub mod files;
mod platform;
mod reference;
mod role;
mod style;
mod yaml;

use egapp_api::v1alpha1::EGApp;
use kube::CustomResourceExt as _;
use pe_app::controller::egapp::rbac;

pub use yaml::Error;

/// One generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Where it belongs, relative to the root of the repository. Below `config/` the names are kubebuilder's.
    pub path: &'static str,
    /// Its whole content.
    pub text: String,
}

/// Every generated file.
///
/// # Errors
/// Where a type cannot be written as YAML, which is a defect of the type.
pub fn manifests() -> Result<Vec<Manifest>, Error> {
    let crd = style::controller_gen(EGApp::crd());
    Ok(vec![
        Manifest {
            path: "config/crd/bases/egplatform.platform.evillgenius.com_egapps.yaml",
            text: yaml::document(&crd)?,
        },
        Manifest {
            path: "config/rbac/role.yaml",
            text: yaml::document(&role::cluster_role("manager-role", rbac::rules()))?,
        },
        Manifest {
            path: "config/namespaced/rbac/role.yaml",
            text: yaml::document(&role::role("manager-role", rbac::rules()))?,
        },
        Manifest { path: "docs/reference/egapp.md", text: reference::page(&crd) },
        Manifest { path: platform::SCHEMA_PATH, text: platform::schema()? },
        Manifest { path: "docs/reference/platform.md", text: platform::reference() },
    ])
}
