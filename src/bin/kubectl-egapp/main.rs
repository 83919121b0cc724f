//! `kubectl egapp`: what the operator makes of an EGApp, before and after it does.
//!
//! A thin shell around the operator's own pure core (`validate`, `desired`), so that what is shown here is what the
//! operator does. kubectl finds it as a plugin by its name.

mod args;
mod cluster;
mod core;
mod diff;
mod error;
mod explain;
mod facts;
mod input;
mod output;
mod render;
mod restart;
mod schema;
#[cfg(test)]
mod schema_tests;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use tokio::runtime::Builder;

use args::{Arguments, Command};
use error::Error;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(usage) => return pe_app::manager::explain(&usage),
    };
    let ended = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(run(&arguments)),
        Err(source) => Err(Error::Runtime(source)),
    };
    ended.unwrap_or_else(|error| {
        output::error(&error);
        error.exit_code()
    })
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    match &arguments.command {
        Command::Render(render) => render::run(render),
        Command::Diff(diff) => diff::run(diff).await,
        Command::Explain(explain) => explain::run(explain).await,
        Command::Restart(restart) => restart::run(restart).await,
        Command::Completion { shell } => {
            output::completion(*shell, &mut Arguments::command());
            Ok(ExitCode::SUCCESS)
        }
    }
}
