//! The parts of a control plane and the command line of each. Pure.

use std::{fmt, path::Path};

use serde_json::{Value, json};

use crate::{Assets, Controllers, Options, certs::API_SERVER, layout::Layout, process::Program};

/// A process of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The built-in controllers.
    ControllerManager,
    /// The scheduler.
    Scheduler,
    /// The player of nodes and pods.
    Kwok,
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kwok => "kwok",
        })
    }
}

/// Users of the parts, as the audit log names them.
pub(crate) const CONTROLLER_MANAGER_USER: &str = "system:kube-controller-manager";
pub(crate) const SCHEDULER_USER: &str = "system:kube-scheduler";
pub(crate) const KWOK_USER: &str = "kwok";

/// Audit log size in MB at which it would be rotated: marks are offsets in it, so as good as never.
const AUDIT_LOG_MAX_MEGABYTES: u32 = 16_384;

/// The ports of one cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortNumbers {
    pub(crate) etcd: u16,
    pub(crate) etcd_peer: u16,
    pub(crate) api_server: u16,
}

/// etcd, without waiting for the disk: a test's data need not survive the machine.
pub(crate) fn etcd(assets: &Assets, layout: &Layout, ports: PortNumbers) -> Program {
    let client = etcd_url(ports);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    Program {
        part: Part::Etcd,
        path: assets.etcd.clone(),
        arguments: vec![
            "--name=etcd".to_owned(),
            flag("data-dir", &layout.etcd_data()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=etcd={peer}"),
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ],
        log: layout.log(Part::Etcd),
    }
}

fn etcd_url(ports: PortNumbers) -> String {
    format!("http://127.0.0.1:{}", ports.etcd)
}

/// The API server, with every request in the audit log. The options' flags come last and so win.
pub(crate) fn api_server(assets: &Assets, layout: &Layout, ports: PortNumbers, options: &Options) -> Program {
    let (certificate, key) = layout.key_pair(API_SERVER);
    let mut arguments = vec![
        format!("--etcd-servers={}", etcd_url(ports)),
        format!("--secure-port={}", ports.api_server),
        "--bind-address=127.0.0.1".to_owned(),
        // It refuses to publish a loopback address as the endpoint of the `kubernetes` Service.
        "--endpoint-reconciler-type=none".to_owned(),
        flag("tls-cert-file", &certificate),
        flag("tls-private-key-file", &key),
        flag("client-ca-file", &layout.ca()),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        flag("service-account-key-file", &layout.service_account_public_key()),
        flag("service-account-signing-key-file", &layout.service_account_key()),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        flag("audit-policy-file", &layout.audit_policy()),
        flag("audit-log-path", &layout.audit_log()),
        // A request is answered only after its event is written, so a test that got the answer finds the event.
        "--audit-log-mode=blocking".to_owned(),
        format!("--audit-log-maxsize={AUDIT_LOG_MAX_MEGABYTES}"),
        "--profiling=false".to_owned(),
    ];
    arguments.extend(options.api_server_flags.iter().cloned());
    Program {
        part: Part::ApiServer,
        path: assets.kube_apiserver.clone(),
        arguments,
        log: layout.log(Part::ApiServer),
    }
}

/// Every request once or, where it is long-running, at its start and at its end.
pub(crate) fn audit_policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": true,
        "rules": [{"level": "Metadata"}],
    })
}

/// The built-in controllers, each as its own service account, as in a production cluster.
pub(crate) fn controller_manager(programs: &Controllers, layout: &Layout, options: &Options) -> Program {
    let qps = options.client_qps;
    Program {
        part: Part::ControllerManager,
        path: programs.kube_controller_manager.clone(),
        arguments: vec![
            flag("kubeconfig", &layout.kubeconfig(&Part::ControllerManager.to_string())),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
            "--use-service-account-credentials=true".to_owned(),
            flag("service-account-private-key-file", &layout.service_account_key()),
            flag("root-ca-file", &layout.ca()),
            flag("cluster-signing-cert-file", &layout.ca()),
            flag("cluster-signing-key-file", &layout.ca_key()),
            format!("--kube-api-qps={qps}"),
            format!("--kube-api-burst={qps}"),
            // Nobody waits 15 s, the default, for an autoscaler that is looked on.
            "--horizontal-pod-autoscaler-sync-period=1s".to_owned(),
        ],
        log: layout.log(Part::ControllerManager),
    }
}

/// The scheduler; its limits are in [`scheduler_config`].
pub(crate) fn scheduler(programs: &Controllers, layout: &Layout) -> Program {
    Program {
        part: Part::Scheduler,
        path: programs.kube_scheduler.clone(),
        arguments: vec![flag("config", &layout.scheduler_config()), "--secure-port=0".to_owned()],
        log: layout.log(Part::Scheduler),
    }
}

/// The configuration file of the scheduler: as flags the same settings are deprecated.
pub(crate) fn scheduler_config(layout: &Layout, options: &Options) -> Value {
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": false},
        "clientConnection": {
            "kubeconfig": layout.kubeconfig(&Part::Scheduler.to_string()),
            "qps": options.client_qps,
            "burst": options.client_qps,
        },
    })
}

/// kwok. It manages only annotated nodes, which leaves room for a node with a kubelet.
pub(crate) fn kwok(programs: &Controllers, layout: &Layout) -> Program {
    Program {
        part: Part::Kwok,
        path: programs.kwok.clone(),
        arguments: vec![
            flag("kubeconfig", &layout.kubeconfig(&Part::Kwok.to_string())),
            flag("config", &programs.kwok_stages),
            flag("config", &layout.failure_stages()),
            "--manage-all-nodes=false".to_owned(),
            format!("--manage-nodes-with-annotation-selector={}=fake", crate::nodes::ANNOTATION),
            "--cidr=10.244.0.1/16".to_owned(),
            "--node-ip=10.0.0.1".to_owned(),
            "--node-lease-duration-seconds=40".to_owned(),
        ],
        log: layout.log(Part::Kwok),
    }
}

fn flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}
