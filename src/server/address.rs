//! Listen addresses as Go spells them. Pure.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Where a server listens: what Go's `net.Listen("tcp", …)` takes, and `0` for "not at all".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindAddress {
    /// `0`: the server is switched off.
    Off,
    /// `:8080`: every address of the machine, IPv6 and IPv4; port 0 is any free one.
    Everywhere(u16),
    /// `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`.
    Host(String, u16),
}

/// An address that names no place to listen on.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum BindAddressError {
    /// No colon, or nothing at all.
    #[error("use HOST:PORT, :PORT for every address of the machine, or 0 to switch the server off")]
    Shape,
    /// The part after the last colon.
    #[error("the port must be a number from 0 (any free port) to 65535")]
    Port,
    /// An IPv6 address whose colons cannot be told from the port's.
    #[error("put an IPv6 address into brackets, as in [::1]:8080")]
    Brackets,
}

impl BindAddress {
    /// Whether there is anything to listen on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        *self != Self::Off
    }

    /// The same address with the port that the system chose.
    #[must_use]
    pub fn with_port(&self, port: u16) -> Self {
        match self {
            Self::Off => Self::Off,
            Self::Everywhere(_) => Self::Everywhere(port),
            Self::Host(host, _) => Self::Host(host.clone(), port),
        }
    }
}

impl FromStr for BindAddress {
    type Err = BindAddressError;

    fn from_str(text: &str) -> Result<Self, BindAddressError> {
        if text == "0" {
            return Ok(Self::Off);
        }
        let (host, port) = text.rsplit_once(':').ok_or(BindAddressError::Shape)?;
        let port = port.parse().map_err(|_| BindAddressError::Port)?;
        let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match (bracketed, host) {
            (Some(address), _) => Ok(Self::Host(address.to_owned(), port)),
            (None, "") => Ok(Self::Everywhere(port)),
            (None, host) if host.contains(':') => Err(BindAddressError::Brackets),
            (None, host) => Ok(Self::Host(host.to_owned(), port)),
        }
    }
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("0"),
            Self::Everywhere(port) => write!(f, ":{port}"),
            Self::Host(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Host(host, port) => write!(f, "{host}:{port}"),
        }
    }
}
