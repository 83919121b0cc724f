//! The smallest HTTP client that reads a probe or a scrape.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A process that does not answer in this time is stuck.
const ANSWER: Duration = Duration::from_secs(30);

/// A plain GET: status and body.
pub fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(ANSWER)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: test\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, body.to_owned())
}
