//! Free ports on loopback, reserved across processes. Opens lock files and listeners.
//!
//! They lie below the range from which systems take the ports of outgoing connections, so that a part that was
//! killed finds its port still free when it comes back.

use std::{
    env,
    fs::{self, File},
    hash::{BuildHasher, Hasher, RandomState},
    net::{Ipv4Addr, TcpListener},
    path::Path,
};

use crate::{Error, Result};

const FIRST: u16 = 24_000;
const LAST: u16 = 24_999;

/// A port that no other cluster of this user takes as long as this value lives.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    _reservation: File,
}

impl Port {
    /// Finds a port nobody listens on and reserves it.
    pub(crate) fn reserve() -> Result<Self> {
        let user = rustix::process::getuid().as_raw();
        let folder = env::temp_dir().join(format!("pe-app-cluster-ports-{user}"));
        fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
        for number in candidates() {
            if let Some(reservation) = try_reserve(&folder, number)? {
                return Ok(Self { number, _reservation: reservation });
            }
        }
        Err(Error::NoFreePort { first: FIRST, last: LAST })
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

fn try_reserve(folder: &Path, number: u16) -> Result<Option<File>> {
    let path = folder.join(number.to_string());
    let file = File::create(&path).map_err(Error::file("create", &path))?;
    let free = file.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok();
    Ok(free.then_some(file))
}

/// All ports of the range from a random one on, so that a port is not used again at once: clients cache by port.
fn candidates() -> impl Iterator<Item = u16> {
    let span = u64::from(LAST - FIRST) + 1;
    let random = RandomState::new().build_hasher().finish();
    let start = FIRST + u16::try_from(random % span).unwrap_or_default();
    (start..=LAST).chain(FIRST..start)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_port_of_the_range_is_tried_once() {
        let all: Vec<u16> = candidates().collect();
        assert_eq!(all.len(), 1000);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 1000);
    }

    #[test]
    fn a_reserved_port_is_not_given_twice() {
        let folder = tempfile::tempdir().unwrap();
        let port = Port::reserve().unwrap();
        let first = try_reserve(folder.path(), port.number()).unwrap();
        assert!(first.is_some(), "a free port can be reserved");
        assert!(try_reserve(folder.path(), port.number()).unwrap().is_none());
    }

    #[test]
    fn a_port_in_use_is_not_given() {
        let folder = tempfile::tempdir().unwrap();
        let port = Port::reserve().unwrap();
        let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.number())).unwrap();
        assert!(try_reserve(folder.path(), port.number()).unwrap().is_none());
    }
}
