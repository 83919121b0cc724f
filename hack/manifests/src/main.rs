//! Command line: writes the generated files, or checks that they are up to date.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use manifests::{Manifest, files, manifests};

/// Write the CRD, its reference page and the RBAC role from the Rust types.
#[derive(Parser)]
#[command(name = "manifests", version)]
struct Args {
    /// Root of the repository
    #[arg(long, value_name = "DIR", default_value = ".", value_parser = existing_folder)]
    root: PathBuf,

    /// Write nothing: name the files that differ and exit with 1 if there are any
    #[arg(long)]
    check: bool,
}

/// Refuses a mistyped root, under which a whole new tree would be written.
fn existing_folder(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    if path.is_dir() { Ok(path) } else { Err("there is no such folder".to_owned()) }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = if args.check { check(&args) } else { write(&args).map(|()| ExitCode::SUCCESS) };
    outcome.unwrap_or_else(|error| {
        // Nobody is left to tell where standard error itself is gone.
        drop(writeln!(io::stderr(), "manifests: {}", chain(error.as_ref())));
        ExitCode::FAILURE
    })
}

/// Writes the files that differ and says what became of each.
fn write(args: &Args) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    for manifest in manifests()? {
        if files::differs(&args.root, &manifest)? {
            files::write(&args.root, &manifest)?;
            writeln!(out, "wrote      {}", manifest.path)?;
        } else {
            writeln!(out, "unchanged  {}", manifest.path)?;
        }
    }
    Ok(())
}

/// Names the files that differ; they are the failure.
fn check(args: &Args) -> Result<ExitCode, Box<dyn Error>> {
    let mut stale = Vec::<Manifest>::new();
    for manifest in manifests()? {
        if files::differs(&args.root, &manifest)? {
            stale.push(manifest);
        }
    }
    let mut out = io::stdout().lock();
    for manifest in &stale {
        writeln!(out, "differs    {}: run `make manifests`", manifest.path)?;
    }
    Ok(if stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The error and its causes in one line.
fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line
}
