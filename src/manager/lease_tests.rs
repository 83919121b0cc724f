//! The election's decisions, with both clocks in the test's hand. Pure.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;

use super::lease::{Decision, LEASE, Observation, Record, Role, candidate_pause, decide, held, released};

const ME: &str = "pod-a_1";
const OTHER: &str = "pod-b_2";

/// A wall clock's time, in seconds.
fn wall(seconds: i64) -> MicroTime {
    MicroTime(Timestamp::from_second(seconds).unwrap())
}

fn lease(holder: &str, renewed: i64) -> LeaseSpec {
    held(None, holder, wall(renewed))
}

fn seen(spec: &LeaseSpec, since: Instant) -> Observation {
    Observation::update(None, Record::from(spec), since)
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn an_absent_lease_is_created_by_candidate_and_leader_alike() {
    for role in [Role::Candidate, Role::Leader] {
        assert_eq!(decide(None, ME, role, Instant::now()), Decision::Create);
    }
}

#[test]
fn a_lease_without_holder_is_taken_at_once() {
    let start = Instant::now();
    let free = released(lease(OTHER, 100), wall(101));
    assert_eq!(decide(Some(&seen(&free, start)), ME, Role::Candidate, start), Decision::Take);
}

#[test]
fn a_valid_lease_of_another_is_waited_for() {
    let start = Instant::now();
    let seen = seen(&lease(OTHER, 100), start);
    let wait = |left| Decision::Wait { holder: OTHER.to_owned(), left };
    assert_eq!(decide(Some(&seen), ME, Role::Candidate, start), wait(LEASE));
    assert_eq!(decide(Some(&seen), ME, Role::Candidate, start + seconds(14)), wait(seconds(1)));
}

#[test]
fn a_lease_that_has_not_changed_for_its_whole_duration_is_taken() {
    let start = Instant::now();
    let seen = seen(&lease(OTHER, 100), start);
    assert_eq!(decide(Some(&seen), ME, Role::Candidate, start + LEASE), Decision::Take);
}

#[test]
fn a_renewal_starts_the_time_anew_and_the_same_content_does_not() {
    let start = Instant::now();
    let first = seen(&lease(OTHER, 100), start);
    let same = Observation::update(Some(first.clone()), Record::from(&lease(OTHER, 100)), start + seconds(9));
    assert_eq!(same.since, start);
    let renewed = Observation::update(Some(first), Record::from(&lease(OTHER, 102)), start + seconds(9));
    assert_eq!(renewed.since, start + seconds(9));
}

#[test]
fn clocks_of_other_machines_do_not_matter() {
    let start = Instant::now();
    for renewed in [0, 253_402_000_000] {
        let seen = seen(&lease(OTHER, renewed), start);
        let decision = decide(Some(&seen), ME, Role::Candidate, start + seconds(14));
        assert_eq!(decision, Decision::Wait { holder: OTHER.to_owned(), left: seconds(1) });
        assert_eq!(decide(Some(&seen), ME, Role::Candidate, start + seconds(15)), Decision::Take);
    }
}

#[test]
fn a_leader_that_sees_another_holder_has_lost_even_if_that_lease_looks_expired() {
    let start = Instant::now();
    let seen = seen(&lease(OTHER, 100), start);
    let lost = Decision::Lost { holder: OTHER.to_owned() };
    assert_eq!(decide(Some(&seen), ME, Role::Leader, start), lost);
    assert_eq!(decide(Some(&seen), ME, Role::Leader, start + seconds(60)), lost);
}

#[test]
fn our_own_lease_is_renewed_even_after_the_answer_to_its_creation_was_lost() {
    let start = Instant::now();
    let seen = seen(&lease(ME, 100), start);
    for role in [Role::Candidate, Role::Leader] {
        assert_eq!(decide(Some(&seen), ME, role, start), Decision::Renew);
    }
}

#[test]
fn a_duration_that_makes_no_sense_counts_as_ours() {
    for duration in [None, Some(0), Some(-7)] {
        let spec = LeaseSpec { lease_duration_seconds: duration, ..lease(OTHER, 100) };
        assert_eq!(Record::from(&spec).lasts, LEASE);
    }
    let spec = LeaseSpec { lease_duration_seconds: Some(60), ..lease(OTHER, 100) };
    assert_eq!(Record::from(&spec).lasts, seconds(60));
}

#[test]
fn a_first_lease_has_no_transitions_and_a_term_from_now() {
    let spec = lease(ME, 100);
    assert_eq!(spec.holder_identity.as_deref(), Some(ME));
    assert_eq!(spec.lease_duration_seconds, Some(15));
    assert_eq!((spec.acquire_time, spec.renew_time), (Some(wall(100)), Some(wall(100))));
    assert_eq!(spec.lease_transitions, Some(0));
}

#[test]
fn a_renewal_keeps_the_term_and_a_takeover_starts_a_new_one() {
    let renewed = held(Some(lease(ME, 100)), ME, wall(102));
    assert_eq!((renewed.acquire_time, renewed.renew_time), (Some(wall(100)), Some(wall(102))));
    assert_eq!(renewed.lease_transitions, Some(0));
    let taken = held(Some(lease(OTHER, 100)), ME, wall(120));
    assert_eq!((taken.acquire_time, taken.renew_time), (Some(wall(120)), Some(wall(120))));
    assert_eq!(taken.lease_transitions, Some(1));
}

#[test]
fn a_released_lease_has_no_holder_lasts_a_second_and_keeps_its_count() {
    let taken = held(Some(lease(OTHER, 100)), ME, wall(120));
    let spec = released(taken, wall(130));
    assert_eq!(spec.holder_identity.as_deref(), Some(""));
    assert_eq!(spec.lease_duration_seconds, Some(1));
    assert_eq!(spec.renew_time, Some(wall(130)));
    assert_eq!(spec.lease_transitions, Some(1));
}

#[test]
fn a_candidate_looks_at_least_every_two_seconds_and_right_after_the_lease_expires() {
    for chance in [0.0, 0.5, 1.0] {
        let pause = candidate_pause(None, chance);
        assert!((seconds(1)..seconds(2)).contains(&pause), "{pause:?}");
        assert_eq!(candidate_pause(Some(seconds(10)), chance), pause);
        let at_expiry = candidate_pause(Some(Duration::from_millis(300)), chance);
        assert!(
            at_expiry > Duration::from_millis(300) && at_expiry <= Duration::from_millis(500),
            "{at_expiry:?}"
        );
    }
}

proptest! {
    /// Whatever was observed and whenever: a candidate takes nothing from a holder who renewed within the lease's time.
    #[test]
    fn nothing_is_taken_from_a_holder_within_its_time(lasts in 1..600_i32, waited_ms in 0..700_000_u64) {
        let start = Instant::now();
        let spec = LeaseSpec { lease_duration_seconds: Some(lasts), ..lease(OTHER, 100) };
        let waited = Duration::from_millis(waited_ms);
        let decision = decide(Some(&seen(&spec, start)), ME, Role::Candidate, start + waited);
        let expired = waited >= Duration::from_secs(u64::try_from(lasts).unwrap());
        prop_assert_eq!(decision == Decision::Take, expired);
    }
}
