//! Image resolution: catalogue by app and environment, catalogue by app, starter, nothing.

use egapp_api::v1alpha1::{Environment, Framework};

use super::{Platform, ResolvedImage};

const FILE: &str = "
apiVersion: config.platform.evillgenius.com/v1alpha1
kind: PlatformConfig
images:
  apps:
    billing: {image: billing:1.4.2, environments: {dev: billing:main}}
    preview: {environments: {dev: preview:main}}
  starters:
    java: {image: starter:21, environments: [dev, stage]}
    go: {image: starter:go}
";

fn platform() -> Platform {
    Platform::from_yaml(FILE).unwrap()
}

/// The image, or the words about where none was found.
fn resolve(app_id: Option<&str>, framework: Framework, environment: Environment) -> String {
    let platform = platform();
    match platform.resolve_image(app_id, framework, environment) {
        Ok(ResolvedImage::App(image)) => format!("app {image}"),
        Ok(ResolvedImage::Starter(starter)) => format!("starter {}", starter.image),
        Err(unresolved) => unresolved.to_string(),
    }
}

#[test]
fn the_app_s_image_of_the_environment_comes_before_its_image() {
    assert_eq!(resolve(Some("billing"), Framework::Java, Environment::Dev), "app billing:main");
    assert_eq!(resolve(Some("billing"), Framework::Java, Environment::Prod), "app billing:1.4.2");
    assert_eq!(resolve(Some("preview"), Framework::Java, Environment::Dev), "app preview:main");
}

#[test]
fn without_an_image_of_the_app_the_starter_runs() {
    assert_eq!(resolve(Some("preview"), Framework::Java, Environment::Stage), "starter starter:21");
    assert_eq!(resolve(Some("unheard-of"), Framework::Go, Environment::Prod), "starter starter:go");
    assert_eq!(resolve(None, Framework::Go, Environment::Prod), "starter starter:go");
}

#[test]
fn where_nothing_is_found_the_keys_that_were_tried_are_named() {
    for (app_id, framework, environment, message) in [
        (
            Some("unheard-of"),
            Framework::Java,
            Environment::Prod,
            "the platform has no image for it: images.apps has no unheard-of, images.starters.java is not for prod",
        ),
        (
            Some("preview"),
            Framework::Python,
            Environment::Prod,
            "the platform has no image for it: images.apps.preview has none for prod, images.starters has no python",
        ),
        (
            None,
            Framework::Python,
            Environment::Dev,
            "the platform has no image for it: images.apps needs a spec.appId, images.starters has no python",
        ),
    ] {
        assert_eq!(resolve(app_id, framework, environment), message);
    }
}

#[test]
fn the_built_in_platform_has_an_image_for_every_framework_everywhere() {
    let platform = Platform::built_in();
    for framework in Framework::ALL {
        for environment in Environment::ALL {
            let image = platform.resolve_image(Some("billing"), framework, environment);
            assert!(matches!(image, Ok(ResolvedImage::Starter(_))), "{framework} {environment}: {image:?}");
        }
    }
}
