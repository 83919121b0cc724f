//! `kubectl egapp render`: the objects that an EGApp becomes. File I/O.

use std::process::ExitCode;

use pe_app::platform::Platform;

use crate::args::Render;
use crate::core::{children, scaling_of_new, without_bookkeeping};
use crate::error::Error;
use crate::{input, output};

pub(crate) fn run(arguments: &Render) -> Result<ExitCode, Error> {
    let platform = Platform::load(arguments.platform_config.as_deref())?;
    let mut objects = Vec::new();
    for document in input::read(&arguments.filename, arguments.namespace.as_deref(), "default")? {
        let children = children(&document.app, &platform, scaling_of_new(&document.app), None)?;
        for mut object in children.into_iter().filter_map(|child| child.wanted) {
            without_bookkeeping(&mut object);
            objects.push(object);
        }
    }
    output::objects(&objects, arguments.output);
    Ok(ExitCode::SUCCESS)
}
