//! Go's spellings of a listen address. Pure.

use super::{BindAddress, BindAddressError};

fn parse(text: &str) -> Result<BindAddress, BindAddressError> {
    text.parse()
}

#[test]
fn gos_spellings_are_understood() {
    let host = |host: &str, port| Ok(BindAddress::Host(host.to_owned(), port));
    assert_eq!(parse("0"), Ok(BindAddress::Off));
    assert_eq!(parse(":8443"), Ok(BindAddress::Everywhere(8443)));
    assert_eq!(parse(":0"), Ok(BindAddress::Everywhere(0)));
    assert_eq!(parse("127.0.0.1:8080"), host("127.0.0.1", 8080));
    assert_eq!(parse("[::]:8080"), host("::", 8080));
    assert_eq!(parse("localhost:80"), host("localhost", 80));
}

#[test]
fn what_names_no_place_to_listen_on_is_refused_with_the_reason() {
    assert_eq!(parse(""), Err(BindAddressError::Shape));
    assert_eq!(parse("8080"), Err(BindAddressError::Shape));
    assert_eq!(parse(":http"), Err(BindAddressError::Port));
    assert_eq!(parse(":65536"), Err(BindAddressError::Port));
    assert_eq!(parse("127.0.0.1:"), Err(BindAddressError::Port));
    assert_eq!(parse("::1:8080"), Err(BindAddressError::Brackets));
}

#[test]
fn an_address_is_shown_as_it_is_typed() {
    for text in ["0", ":8443", "127.0.0.1:8080", "[::1]:8080", "localhost:80"] {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn a_free_port_is_shown_once_it_is_known() {
    assert_eq!(parse(":0").unwrap().with_port(4711).to_string(), ":4711");
    assert_eq!(parse("[::1]:0").unwrap().with_port(4711).to_string(), "[::1]:4711");
}
