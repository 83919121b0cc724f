//! The words of `status.conditions`: types, statuses and reasons. Pure.
//!
//! Clients match on these words, so they are part of the API: one is added, never renamed.

use std::fmt;

/// Declares an enum of words with `ALL`, `as_str` and `Display`, none of which can then miss a variant.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// Every word, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word as the cluster sees it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

words! {
    /// `type` of a condition.
    ConditionType {
        /// The summary: this generation is rolled out completely. `kubectl wait` and kstatus read it.
        Ready,
        /// Enough replicas serve, whichever generation they are of.
        Available,
        /// A rollout is under way. False once it has ended, well or not.
        Progressing,
        /// No progress without a person. Present only while it is true (kstatus convention).
        Stalled,
        /// Admission changes fields of what is applied that an app can do without. Present only while it is true.
        Overridden,
    }
}

words! {
    /// `status` of a condition.
    ConditionStatus {
        /// The condition holds.
        True,
        /// It does not hold.
        False,
        /// The operator cannot tell.
        Unknown,
    }
}

words! {
    /// `reason` of a condition: why it has its status.
    Reason {
        /// All replicas run the wanted version and are available.
        Available,
        /// The Deployment is on its way to the wanted version or size.
        RollingOut,
        /// Zero replicas are wanted, and none is left.
        ScaledToZero,
        /// Available, but what runs is the framework's starter image, not an image of the user's.
        StarterImage,
        /// No rule of the platform gives the app an image.
        ImageUnresolved,
        /// The spec passes the schema and still cannot be mapped; ends with the next edit.
        InvalidSpec,
        /// A child's name is taken by an object that is not the app's.
        NameConflict,
        /// The operator lacks a right.
        Forbidden,
        /// The namespace is being deleted, so nothing new may be made in it.
        NamespaceTerminating,
        /// An admission policy or webhook refused a child.
        AdmissionDenied,
        /// A `ResourceQuota` leaves no room, for a child or for its pods.
        QuotaExceeded,
        /// A `ResourceQuota` demands requests or limits that the pods do not have.
        ResourcesRequired,
        /// The API server refuses new pods for another reason: Pod Security, a missing ServiceAccount, a policy.
        PodsRefused,
        /// A scheduling gate holds the pods back.
        SchedulingGated,
        /// No node takes a pod.
        Unschedulable,
        /// The image cannot be pulled.
        ImagePull,
        /// The container cannot be made: a missing ConfigMap, Secret or key, or an image that would run as root.
        ContainerConfig,
        /// The container ends again and again.
        CrashLoop,
        /// Nodes end the pods, or do not take them, one after the other.
        Evicted,
        /// The container runs, and does not answer its probes in the time it has, or is ended for that.
        ProbeFailing,
        /// The containers are ready, and somebody else does not say so of the pods.
        ReadinessGatesNotReady,
        /// The nodes of the pods do not answer.
        NodeLost,
        /// `spec.suspend` is set: the operator only watches.
        Suspended,
        /// Somebody changes what the operator applies, in the very same request or again and again afterwards.
        Overridden,
        /// A request failed in a way that may pass; it is repeated with growing pauses.
        Retrying,
        /// The rollout made no progress for longer than the Deployment allows.
        ProgressDeadlineExceeded,
        /// The `EGApp` is being deleted, and something holds it up.
        Terminating,
    }
}
