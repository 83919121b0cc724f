//! The manager: reads its flags, starts logging, and runs the controllers until it is told to stop.

use std::env;
use std::process::ExitCode;

use pe_app::manager::{Flags, ManagerError, run};
use pe_app::telemetry::{Chain, init_logging};
use tokio::runtime::Builder;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let flags = match Flags::parse_from_go(env::args_os()) {
        Ok(flags) => flags,
        Err(usage) => return pe_app::manager::explain(&usage),
    };
    init_logging(flags.log.into());
    match manage(&flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %Chain(&error), "problem running manager");
            ExitCode::FAILURE
        }
    }
}

fn manage(flags: &Flags) -> Result<(), ManagerError> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(ManagerError::Runtime)?;
    let ended = runtime.block_on(run(flags, pe_app::controller::all));
    runtime.shutdown_background();
    ended
}
