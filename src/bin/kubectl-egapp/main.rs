//! `kubectl egapp`: what the operator makes of an EGApp, before and after it does.
//!
//! A thin shell around the operator's own pure core (`validate`, `desired`), so that what is shown here is what the
//! operator does. kubectl finds it as a plugin by its name.

mod args;
mod cluster;
mod complete;
mod core;
mod diff;
mod error;
mod explain;
mod facts;
mod input;
mod names;
mod output;
mod render;
mod restart;
mod schema;
#[cfg(test)]
mod schema_tests;

use std::env;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use tokio::runtime::Builder;

use args::{Arguments, Command};
use error::Error;

fn main() -> ExitCode {
    let mut words = env::args_os();
    if complete::is_asked(words.next().as_deref()) {
        let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        return in_runtime(async {
            complete::run(Arguments::command(), &words).await;
            Ok(ExitCode::SUCCESS)
        });
    }
    match Arguments::try_parse() {
        Ok(arguments) => in_runtime(run(&arguments)),
        Err(usage) => pe_app::manager::explain(&usage),
    }
}

fn in_runtime(task: impl Future<Output = Result<ExitCode, Error>>) -> ExitCode {
    let ended = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(task),
        Err(source) => Err(Error::Runtime(source)),
    };
    let ended = ended.and_then(|code| output::lost().map_or(Ok(code), |error| Err(Error::Output(error))));
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
