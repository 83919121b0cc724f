//! Groups of tasks that start and stop together. No I/O of its own.

use std::future::{Future, pending};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::ManagerError;

/// How the tasks of a group came to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// All finished what they had begun.
    Drained,
    /// Some were still running when their time was over, and were dropped.
    Cut,
}

/// Tasks that run until they are told to stop.
pub(super) struct Group {
    kind: &'static str,
    stop: CancellationToken,
    tasks: JoinSet<Result<&'static str, ManagerError>>,
}

impl Group {
    /// `kind` is what people call one such task, e.g. `server`.
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, stop: CancellationToken::new(), tasks: JoinSet::new() }
    }

    /// What tells the group's tasks to stop.
    pub(super) fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Starts a task that watches [`stopping`](Self::stopping).
    pub(super) fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(async move {
            task.await;
            Ok(name)
        });
    }

    /// Like [`spawn`](Self::spawn), for a task that can fail.
    pub(super) fn spawn_fallible<E>(
        &mut self,
        name: &'static str,
        task: impl Future<Output = Result<(), E>> + Send + 'static,
    ) where
        ManagerError: From<E>,
    {
        self.tasks.spawn(async move { task.await.map(|()| name).map_err(ManagerError::from) });
    }

    /// Why a task ended that nobody had told to; waits for ever where there is none.
    pub(super) async fn failed(&mut self) -> ManagerError {
        match self.tasks.join_next().await {
            None => pending().await,
            Some(Ok(Ok(name))) => ManagerError::Ended { kind: self.kind, name },
            Some(Ok(Err(error))) => error,
            Some(Err(error)) => ManagerError::Broken { kind: self.kind, source: error },
        }
    }

    /// Tells the tasks to stop and waits for them; drops what still runs after `grace`.
    pub(super) async fn stop(&mut self, grace: Duration) -> Stopped {
        self.stop.cancel();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if timeout(grace, all).await.is_ok() {
            return Stopped::Drained;
        }
        self.cut();
        Stopped::Cut
    }

    /// Drops the tasks where they stand.
    pub(super) fn cut(&mut self) {
        self.tasks.abort_all();
        self.tasks.detach_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    #[tokio::test]
    async fn an_empty_group_neither_fails_nor_keeps_anybody_waiting() {
        let mut group = Group::new("part");
        assert!(timeout(Duration::from_millis(20), group.failed()).await.is_err());
        assert_eq!(group.stop(SOON).await, Stopped::Drained);
    }

    #[tokio::test]
    async fn a_task_that_ends_by_itself_is_named() {
        let mut group = Group::new("watch");
        group.spawn("egapp", async {});
        assert_eq!(group.failed().await.to_string(), "the watch egapp ended by itself");
    }

    #[tokio::test]
    async fn a_panic_is_a_failure() {
        let mut group = Group::new("watch");
        group.spawn("egapp", async { panic!("out of luck") });
        let error = group.failed().await;
        assert!(matches!(error, ManagerError::Broken { kind: "watch", .. }), "{error:?}");
    }

    #[tokio::test]
    async fn stopping_lets_tasks_finish_within_their_grace() {
        let mut group = Group::new("part");
        let (stop, (sender, receiver)) = (group.stopping(), tokio::sync::oneshot::channel());
        group.spawn("slow", async move {
            stop.cancelled().await;
            tokio::time::sleep(Duration::from_millis(30)).await;
            sender.send("finished").unwrap();
        });
        assert_eq!(group.stop(SOON).await, Stopped::Drained);
        assert_eq!(receiver.await, Ok("finished"));
    }

    #[tokio::test]
    async fn a_task_that_does_not_stop_is_dropped_after_its_grace() {
        let mut group = Group::new("part");
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        group.spawn("deaf", async move {
            pending::<()>().await;
            drop(sender);
        });
        assert_eq!(group.stop(Duration::from_millis(20)).await, Stopped::Cut);
        timeout(SOON, receiver).await.expect("the task is dropped").unwrap_err();
    }
}
