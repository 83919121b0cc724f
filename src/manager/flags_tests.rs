//! The command line as users of Go managers type it. Pure.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::flags::Flags;
use super::go_flags::{normalise, parse_bool};
use crate::server::BindAddress;
use crate::telemetry::{Encoder, LogLevel, LogOptions, TimeEncoding};

fn parse(arguments: &[&str]) -> Result<Flags, clap::Error> {
    Flags::parse_from_go(["manager"].iter().chain(arguments).map(OsString::from))
}

fn parsed(arguments: &[&str]) -> Flags {
    parse(arguments).unwrap()
}

#[test]
fn the_command_is_well_formed() {
    Flags::command().debug_assert();
}

#[test]
fn defaults_are_those_of_a_scaffolded_manager() {
    let flags = parsed(&[]);
    assert_eq!(flags.metrics_bind_address, BindAddress::Off);
    assert_eq!(flags.health_probe_bind_address, BindAddress::Everywhere(8081));
    assert!(flags.metrics_secure);
    assert!(!flags.leader_elect);
    assert!(!flags.enable_http2);
    assert!(flags.leader_election_id.ends_with(".platform.evillgenius.com"));
    assert_eq!(LogOptions::from(flags.log), LogOptions::default());
}

#[test]
fn one_dash_is_as_good_as_two() {
    let flags = parsed(&["-leader-elect", "-metrics-bind-address=:8080", "-metrics-secure=false"]);
    assert!(flags.leader_elect);
    assert_eq!(flags.metrics_bind_address, BindAddress::Everywhere(8080));
    assert!(!flags.metrics_secure);
}

#[test]
fn a_value_may_follow_its_flag_or_an_equals_sign() {
    for arguments in [&["--health-probe-bind-address", ":9"][..], &["--health-probe-bind-address=:9"]] {
        assert_eq!(parsed(arguments).health_probe_bind_address, BindAddress::Everywhere(9));
    }
}

#[test]
fn switches_take_every_value_that_go_takes() {
    for (text, expected) in
        [("1", true), ("T", true), ("True", true), ("0", false), ("f", false), ("FALSE", false)]
    {
        assert_eq!(parse_bool(text), Ok(expected));
        assert_eq!(parsed(&[&format!("--leader-elect={text}")]).leader_elect, expected, "{text}");
    }
    assert!(parse(&["--leader-elect=yes"]).unwrap_err().to_string().contains("use true or false"));
}

#[test]
fn a_switch_does_not_swallow_the_next_argument() {
    let error = parse(&["--leader-elect", "false"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownArgument);
}

#[test]
fn normalising_leaves_letters_values_and_the_rest_after_two_dashes_alone() {
    let normalised = |arguments: &[&str]| normalise(arguments.iter().map(OsString::from));
    let arguments = ["-h", "--x", "-", "-1", "a-b", "-x=-y", "--", "-long"];
    assert_eq!(normalised(&arguments), arguments);
    assert_eq!(normalised(&["-xy=-z", "-xy"]), ["--xy=-z", "--xy"]);
}

#[test]
fn a_misspelt_flag_is_met_with_the_right_one() {
    let error = parse(&["-metrics-bind-adress=:8080"]).unwrap_err().to_string();
    assert!(error.contains("--metrics-bind-address"), "{error}");
}

#[test]
fn a_bad_address_is_met_with_the_right_form() {
    let error = parse(&["--metrics-bind-address=8080"]).unwrap_err().to_string();
    assert!(error.contains("use HOST:PORT, :PORT"), "{error}");
}

/// The API server would refuse them at each try for the lease, and the manager would stand by for ever.
#[test]
fn what_cannot_name_a_lease_is_refused_with_its_flag() {
    for bad in ["--leader-election-id=My Lease", "--leader-election-id=", "--leader-election-namespace=a/b"] {
        let error = parse(&[bad]).unwrap_err().to_string();
        let (flag, _) = bad.split_once('=').unwrap();
        assert!(error.contains(flag) && error.contains("lower-case letters"), "{error}");
    }
    assert!(parse(&["--leader-election-namespace=1-team", "--leader-election-id=a.b"]).is_ok());
}

#[test]
fn zaps_flags_are_understood() {
    let flags = parsed(&[
        "--zap-devel",
        "--zap-encoder=JSON",
        "--zap-log-level=3",
        "--zap-stacktrace-level=panic",
        "--zap-time-encoding=iso8601",
    ]);
    let expected = LogOptions {
        development: true,
        encoder: Some(Encoder::Json),
        level: Some(LogLevel::Verbose(3)),
        time: TimeEncoding::Iso8601,
    };
    assert_eq!(LogOptions::from(flags.log), expected);
}

/// As in Go's flag package: a patch may add a flag to those that are there.
#[test]
fn the_last_of_a_repeated_flag_counts() {
    let flags = parse(&[
        "--leader-elect",
        "--leader-election-id=a",
        "--leader-elect=false",
        "--leader-election-id=b",
    ]);
    let flags = flags.unwrap();
    assert_eq!((flags.leader_elect, flags.leader_election_id.as_str()), (false, "b"));
}
