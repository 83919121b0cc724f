//! Which image an app runs that names none itself. Pure.

use egapp_api::v1alpha1::{Environment, Framework};
use thiserror::Error;

use super::Platform;
use super::config::{App, Starter};

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolvedImage<'a> {
    /// The application's own image, from the catalogue.
    App(&'a str),
    /// The framework's placeholder.
    Starter(&'a Starter),
}

/// The platform has no image for an app.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the platform has no image for it: {}", tried.join(", "))]
pub struct Unresolved {
    /// The keys of the platform file that could have named one, in the order in which they were tried, each with what
    /// is wrong with it.
    pub tried: Vec<String>,
}

impl Platform {
    /// The image of `app_id` for that environment, else the image of `app_id`, else the starter of the framework.
    ///
    /// # Errors
    /// [`Unresolved`] where none of them is there, or the starter may not run in that environment.
    pub fn resolve_image(
        &self,
        app_id: Option<&str>,
        framework: Framework,
        environment: Environment,
    ) -> Result<ResolvedImage<'_>, Unresolved> {
        let images = &self.config.images;
        let mut tried = Vec::new();
        if let Some(id) = app_id {
            let app = images.apps.get(id);
            if let Some(image) = app.and_then(|app| app.image_for(environment)) {
                return Ok(ResolvedImage::App(image));
            }
            tried.push(match app {
                Some(_) => format!("images.apps.{id} has none for {environment}"),
                None => format!("images.apps has no {id}"),
            });
        } else {
            tried.push("images.apps needs a spec.appId".to_owned());
        }
        match images.starters.get(framework) {
            Some(starter) if starter.may_run_in(environment) => return Ok(ResolvedImage::Starter(starter)),
            Some(_) => tried.push(format!("images.starters.{framework} is not for {environment}")),
            None => tried.push(format!("images.starters has no {framework}")),
        }
        Err(Unresolved { tried })
    }
}

impl App {
    fn image_for(&self, environment: Environment) -> Option<&str> {
        self.environments.get(environment).or(self.image.as_deref())
    }
}

impl Starter {
    fn may_run_in(&self, environment: Environment) -> bool {
        let names = self.environments.as_ref();
        names.is_none_or(|names| names.iter().any(|name| name == environment.as_str()))
    }
}
