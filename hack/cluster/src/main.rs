//! `cluster`: a real Kubernetes control plane for a shell.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
