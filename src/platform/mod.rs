//! What the short words of an EGApp mean on this platform: sizes and starter images. Pure.

use egapp_api::v1alpha1::{Framework, InstanceType};

/// The platform's answers.
#[derive(Clone, Debug)]
pub struct Platform {
    java: Starter,
    python: Starter,
    go: Starter,
    low_mem: Size,
    high_mem: Size,
    high_cpu: Size,
    balanced: Size,
}

/// What an app without an image runs: a small server of the framework on port 8080, so that a first EGApp gets
/// running pods before there is anything to ship.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// Image reference.
    pub image: String,
    /// Entrypoint; empty = the image's.
    pub command: Vec<String>,
    /// Arguments; empty = the image's.
    pub args: Vec<String>,
    /// These images run as root unless told otherwise, and our pods never do.
    pub run_as_user: i64,
}

/// Resources of one replica. Memory request and limit are the same, since memory cannot be taken back from a process;
/// there is no CPU limit, since throttling only wastes what nobody else needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// CPU request, a quantity.
    pub cpu: String,
    /// Memory request and limit, a quantity.
    pub memory: String,
}

impl Platform {
    /// The built-in answers.
    #[must_use]
    pub fn built_in() -> Self {
        Self {
            java: Starter::new(
                "docker.io/library/eclipse-temurin:21-jdk",
                &["jwebserver", "-b", "0.0.0.0", "-p", "8080", "-d", "/tmp"],
                &[],
            ),
            python: Starter::new(
                "docker.io/library/python:3.13-slim",
                &["python", "-m", "http.server", "8080", "-d", "/tmp"],
                &[],
            ),
            go: Starter::new("docker.io/traefik/whoami:v1.11", &[], &["--port=8080"]),
            low_mem: Size::new("250m", "256Mi"),
            high_mem: Size::new("500m", "2Gi"),
            high_cpu: Size::new("2", "1Gi"),
            balanced: Size::new("1", "1Gi"),
        }
    }

    /// The framework's starter; `None` for a framework this build does not know.
    #[must_use]
    pub fn starter(&self, framework: Framework) -> Option<&Starter> {
        match framework {
            Framework::Java => Some(&self.java),
            Framework::Python => Some(&self.python),
            Framework::Go => Some(&self.go),
            Framework::Unknown => None,
        }
    }

    /// Resources of that size; `None` for a size this build does not know.
    #[must_use]
    pub fn size(&self, instance_type: InstanceType) -> Option<&Size> {
        match instance_type {
            InstanceType::LowMem => Some(&self.low_mem),
            InstanceType::HighMem => Some(&self.high_mem),
            InstanceType::HighCpu => Some(&self.high_cpu),
            InstanceType::Balanced => Some(&self.balanced),
            InstanceType::Unknown => None,
        }
    }
}

impl Starter {
    fn new(image: &str, command: &[&str], args: &[&str]) -> Self {
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        Self { image: image.to_owned(), command: owned(command), args: owned(args), run_as_user: 65532 }
    }
}

impl Size {
    fn new(cpu: &str, memory: &str) -> Self {
        Self { cpu: cpu.to_owned(), memory: memory.to_owned() }
    }
}
