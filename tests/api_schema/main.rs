//! What the API server does with an EGApp, by the schema alone: no operator runs. Each refusal is asserted by the
//! field it names and the words a person reads.

#![cfg(test)]
#![allow(clippy::needless_pass_by_value, reason = "what json! gives is owned")]

mod autoscaling;
mod basics;
mod bounds;
mod container;
mod egapps;
mod env;
mod full;
mod hostile;
mod kubectl;
mod probes;
mod resources;
mod status;
