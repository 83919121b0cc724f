//! One cluster for all tests of a binary. Installs a panic hook.

use std::{
    panic,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio::sync::OnceCell;

use crate::{Cluster, Error, Options, progress};

static API: Shared = Shared::new(Options::api);
static FULL: Shared = Shared::new(Options::full);

/// A cluster that the first test to ask for it starts, for use in a `static`.
///
/// A static is never dropped: the guard ends the processes with the test binary and removes the directory, or
/// leaves the logs if a test has panicked.
///
/// ```no_run
/// use cluster::{Options, Shared};
/// static CLUSTER: Shared = Shared::new(|| Options::full().manifest("config/crd/bases"));
/// # async fn example() -> Result<(), &'static cluster::Error> {
/// let cluster = CLUSTER.get().await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Shared {
    options: fn() -> Options,
    cluster: OnceCell<Result<Cluster, Error>>,
}

impl Shared {
    /// Will start a cluster of these options.
    #[must_use]
    pub const fn new(options: fn() -> Options) -> Self {
        Self { options, cluster: OnceCell::const_new() }
    }

    /// The cluster. The first call starts it; all others wait for that, each on its own runtime.
    ///
    /// # Errors
    /// As [`Options::start`], which is tried once.
    pub async fn get(&'static self) -> Result<&'static Cluster, &'static Error> {
        let start = async || {
            let cluster = (self.options)().start().await?;
            keep_logs_on_panic(self);
            Ok(cluster)
        };
        self.cluster.get_or_init(start).await.as_ref()
    }
}

impl Cluster {
    /// One API server for all tests of this binary; keep apart by [`Cluster::namespace`].
    ///
    /// # Errors
    /// As [`Options::start`], which is tried once.
    pub async fn shared_api() -> Result<&'static Self, &'static Error> {
        API.get().await
    }

    /// One full control plane for all tests of this binary; keep apart by [`Cluster::namespace`].
    ///
    /// # Errors
    /// As [`Options::start`], which is tried once.
    pub async fn shared_full() -> Result<&'static Self, &'static Error> {
        FULL.get().await
    }
}

fn keep_logs_on_panic(shared: &'static Shared) {
    let said = AtomicBool::new(false);
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        previous(info);
        if let Some(Ok(cluster)) = shared.cluster.get()
            && !said.swap(true, Ordering::Relaxed)
        {
            cluster.keep_directory();
            progress::say(&format!("the logs are kept in {}", cluster.logs_dir().display()));
        }
    }));
}
