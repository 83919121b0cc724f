//! The ways in which a pod can be made to fail, and how to ask for one. Pure; [`stages`] is what kwok does then.

mod stages;

pub(crate) use stages::documents;

/// A way to fail. A pod fails so when one of its images is [`image`](Self::image), or when it carries
/// [`annotation`](Self::annotation); its status is then what a kubelet writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The registry has no such image: `ErrImagePull` and `ImagePullBackOff` in turn. The pod stays `Pending`.
    ImagePull,
    /// A ConfigMap is missing: `CreateContainerConfigError`. The pod stays `Pending`.
    ConfigError,
    /// The image would run as root, which the pod forbids: `CreateContainerConfigError` as well.
    RunAsRoot,
    /// The program ends with an exit code, the image's tag, 3 by default: restarts, then `CrashLoopBackOff`.
    CrashLoop,
    /// The same where the kernel ends it: `OOMKilled`, exit code 137.
    OutOfMemory,
    /// Runs, and is ready only after some seconds: as many as the image's tag says, 5 by default.
    SlowReady,
    /// Runs and has started, but is never ready.
    NeverReady,
    /// Runs, but never passes its startup probe, and is ended and restarted for it (exit code 143).
    NeverStarted,
    /// Runs and is ready, and is ended and restarted for its liveness probe, which it needs (exit code 137).
    Hangs,
    /// Runs for a second; then the node evicts the pod, which is `Failed`, for what it wrote to the disk.
    Evicted,
}

impl Failure {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::ImagePull,
        Self::ConfigError,
        Self::RunAsRoot,
        Self::CrashLoop,
        Self::OutOfMemory,
        Self::SlowReady,
        Self::NeverReady,
        Self::NeverStarted,
        Self::Hangs,
        Self::Evicted,
    ];

    /// Its name in images and annotations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ImagePull => "imagepull",
            Self::ConfigError => "configerror",
            Self::RunAsRoot => "runasroot",
            Self::CrashLoop => "crashloop",
            Self::OutOfMemory => "oom",
            Self::SlowReady => "slowready",
            Self::NeverReady => "neverready",
            Self::NeverStarted => "neverstarted",
            Self::Hangs => "hangs",
            Self::Evicted => "evicted",
        }
    }

    /// An image whose container fails so, as in `fail.example/imagepull:1`. A registry in front of it changes
    /// nothing; other containers of the pod run.
    #[must_use]
    pub fn image(self) -> String {
        let number = match self {
            Self::CrashLoop => 3,
            Self::SlowReady => 5,
            Self::ImagePull
            | Self::ConfigError
            | Self::RunAsRoot
            | Self::OutOfMemory
            | Self::NeverReady
            | Self::NeverStarted
            | Self::Hangs
            | Self::Evicted => 1,
        };
        format!("fail.example/{}:{number}", self.name())
    }

    /// Key and value of a pod annotation that makes every container of the pod fail so, whatever its image.
    #[must_use]
    pub const fn annotation(self) -> (&'static str, &'static str) {
        ("fail.example/failure", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_image_and_annotation_names_its_failure() {
        for failure in Failure::ALL {
            assert!(failure.image().starts_with(&format!("fail.example/{}:", failure.name())));
            assert_eq!(failure.annotation().1, failure.name());
        }
    }
}
