//! The built-in platform: what holds without a platform file, and for the sections that a file leaves out. Constants.
//!
//! The shipped file, `config/manager/platform.yaml`, says the same and explains each value; a test compares the two.

use egapp_api::v1alpha1::Environment;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::config::{
    ApiVersion, EnvironmentPolicy, Environments, FrameworkProfile, Frameworks, ImagePullPolicy, Images, Kind,
    PlatformConfig, Rollout, Size, Sizes, Starter, Starters,
};
use super::variables::Variables;

/// User id of the starters: their images' own user is root. It is nobody's in particular.
const STARTER_USER: i64 = 65532;

impl Default for PlatformConfig {
    fn default() -> Self {
        Self {
            api_version: ApiVersion::V1Alpha1,
            kind: Kind::PlatformConfig,
            images: Images::default(),
            catalog_label: catalog_label(),
            sizes: Sizes::default(),
            frameworks: Frameworks::default(),
            environments: Environments::default(),
            rollout: Rollout::default(),
        }
    }
}

/// The label by which Backstage's Kubernetes plugin finds the workloads of an entity.
pub(super) fn catalog_label() -> String {
    "backstage.io/kubernetes-id".to_owned()
}

impl Default for Starters {
    fn default() -> Self {
        let jwebserver = ["jwebserver", "-b", "0.0.0.0", "-p", "8080", "-d", "/tmp"];
        let http_server = ["python", "-m", "http.server", "8080", "-d", "/tmp"];
        Self {
            java: Some(starter("docker.io/library/eclipse-temurin:21-jdk", &jwebserver, &[])),
            python: Some(starter("docker.io/library/python:3.13-slim", &http_server, &[])),
            go: Some(starter("docker.io/traefik/whoami:v1.11", &[], &["--port=8080"])),
        }
    }
}

fn starter(image: &str, command: &[&str], args: &[&str]) -> Starter {
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    Starter {
        image: image.to_owned(),
        command: owned(command),
        args: owned(args),
        run_as_user: Some(STARTER_USER),
        environments: None,
    }
}

impl Default for Sizes {
    fn default() -> Self {
        let size = |cpu: &str, memory: &str| Size { cpu: cpu.to_owned(), memory: memory.to_owned() };
        Self {
            low_mem: size("250m", "256Mi"),
            high_mem: size("500m", "2Gi"),
            high_cpu: size("2", "1Gi"),
            balanced: size("1", "1Gi"),
        }
    }
}

impl Default for Frameworks {
    fn default() -> Self {
        let profile = |env: &[(&str, &str)], startup_seconds| FrameworkProfile {
            port: 8080,
            env: env.iter().copied().collect(),
            go_mem_limit: false,
            startup_seconds,
        };
        Self {
            java: profile(&[("JAVA_TOOL_OPTIONS", "-XX:MaxRAMPercentage=75.0")], 180),
            python: profile(&[("PYTHONUNBUFFERED", "1")], 60),
            go: FrameworkProfile { go_mem_limit: true, env: Variables::default(), ..profile(&[], 30) },
        }
    }
}

impl Default for Environments {
    fn default() -> Self {
        Self {
            dev: EnvironmentPolicy {
                image_pull_policy: ImagePullPolicy::Always,
                max_surge: IntOrString::Int(1),
                max_unavailable: IntOrString::Int(0),
                progress_deadline_seconds: 300,
                ..EnvironmentPolicy::default()
            },
            stage: EnvironmentPolicy { spread: true, pre_stop_seconds: 5, ..EnvironmentPolicy::default() },
            prod: EnvironmentPolicy {
                max_unavailable: IntOrString::Int(0),
                min_ready_seconds: 10,
                spread: true,
                pod_disruption_budget: true,
                pre_stop_seconds: 10,
                ..EnvironmentPolicy::default()
            },
        }
    }
}

/// What a key of an environment means where it is left out: Kubernetes' own defaults, and nothing extra.
impl Default for EnvironmentPolicy {
    fn default() -> Self {
        let quarter = || IntOrString::String("25%".to_owned());
        Self {
            image_pull_policy: ImagePullPolicy::IfNotPresent,
            max_surge: quarter(),
            max_unavailable: quarter(),
            min_ready_seconds: 0,
            progress_deadline_seconds: 600,
            spread: false,
            pod_disruption_budget: false,
            pre_stop_seconds: 0,
        }
    }
}

impl Default for Rollout {
    fn default() -> Self {
        let order = Environment::ALL.map(|word| word.as_str().to_owned()).into();
        Self { order, max_concurrent: 5, max_failing: 0 }
    }
}
