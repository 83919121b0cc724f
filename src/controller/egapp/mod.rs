//! The `EGApp` controller.

pub mod rbac;
