//! The workers of a controller. They end with the queue, and not before: a leader that works on nothing is worse than
//! none. No I/O of its own.

use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::error;

/// Workers at work. Dropping it drops them where they stand.
pub struct Crew(JoinSet<()>);

impl Crew {
    /// So many of what `worker` makes.
    pub fn new<F: Future<Output = ()> + Send + 'static>(size: usize, worker: impl Fn() -> F) -> Self {
        let mut workers = JoinSet::new();
        for _ in 0..size {
            workers.spawn(worker());
        }
        Self(workers)
    }

    /// Works until `stop` is cancelled; says whether it came to that, and not to the end of a worker before.
    pub async fn work_until(&mut self, stop: &CancellationToken) -> bool {
        tokio::select! {
            () = stop.cancelled() => true,
            ended = self.0.join_next() => {
                let cause = ended.and_then(Result::err).as_ref().map(JoinError::to_string);
                error!(cause, "a worker has ended by itself: a defect of the operator");
                false
            }
        }
    }

    /// Waits for the end of every worker.
    pub async fn finish(mut self) {
        while self.0.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::Notify;
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    #[tokio::test]
    async fn a_worker_that_breaks_ends_the_work_of_all() {
        let stop = CancellationToken::new();
        let mut crew = Crew::new(3, || async { panic!("out of luck") });
        assert!(!timeout(SOON, crew.work_until(&stop)).await.unwrap());
        let mut crew = Crew::new(3, pending);
        assert!(timeout(Duration::from_millis(20), crew.work_until(&stop)).await.is_err());
        stop.cancel();
        assert!(timeout(SOON, crew.work_until(&stop)).await.unwrap());
    }

    #[tokio::test]
    async fn workers_that_are_cut_take_nothing_more() {
        let token = Arc::new(());
        let crew = Crew::new(3, || {
            let token = Arc::clone(&token);
            async move {
                Notify::new().notified().await;
                drop(token);
            }
        });
        let work = tokio::spawn(async move {
            let mut crew = crew;
            crew.work_until(&CancellationToken::new()).await
        });
        tokio::task::yield_now().await;
        work.abort();
        work.await.unwrap_err();
        timeout(SOON, async {
            while Arc::strong_count(&token) > 1 {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
    }
}
