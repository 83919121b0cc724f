//! Label keys and fixed label values that the operator writes to the objects it makes. Constants only.

/// A key under the API group; a macro, since `concat!` takes no constants.
macro_rules! in_group {
    ($name:literal) => {
        concat!("egplatform.platform.evillgenius.com/", $name)
    };
}

/// Name of the `EGApp` an object belongs to. Half of the selector, so it never changes for an object.
pub const EGAPP: &str = in_group!("egapp");

/// Which of the versions of an application that run side by side an object belongs to. Half of the selector.
pub const TRACK: &str = in_group!("track");

/// Value of [`TRACK`] for the version that the `EGApp` itself describes.
pub const TRACK_STABLE: &str = "stable";

/// `spec.framework` of the `EGApp`.
pub const FRAMEWORK: &str = in_group!("framework");

/// `spec.environment` of the `EGApp`.
pub const ENVIRONMENT: &str = in_group!("environment");

/// `spec.instanceType` of the `EGApp`.
pub const INSTANCE_TYPE: &str = in_group!("instance-type");

/// `spec.appId` of the `EGApp`; absent where that is unset.
pub const APP_ID: &str = in_group!("app-id");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GROUP;

    #[test]
    fn own_labels_stand_under_the_api_group() {
        for key in [EGAPP, TRACK, FRAMEWORK, ENVIRONMENT, INSTANCE_TYPE, APP_ID] {
            let (prefix, name) = key.split_once('/').unwrap();
            assert_eq!(prefix, GROUP, "{key}");
            assert!(!name.is_empty() && name.len() <= 63, "{key}");
        }
    }
}
