//! Names of workers: `worker-HOST-PID-RANDOM`.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Most characters of a host's name in that of a worker.
const HOST_MAX: usize = 64;

/// The name of a worker, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The whole of it, that of its file without the ending.
    pub text: String,
    /// The machine, as far as its name fits in here.
    pub host: String,
    /// The process there.
    pub process: u32,
}

impl Name {
    /// A name for this process that no other worker has.
    pub(crate) fn new() -> Self {
        let host = here();
        let process = std::process::id();
        let random = RandomState::new().build_hasher().finish();
        Self {
            text: format!("worker-{host}-{process}-{random:016x}"),
            host,
            process,
        }
    }

    /// What a claim says; none if it is no worker's name.
    pub fn parsed(text: &str) -> Option<Self> {
        let (rest, random) = text.strip_prefix("worker-")?.rsplit_once('-')?;
        let (host, process) = rest.rsplit_once('-')?;
        let is_host = |host: &str| {
            let mut bytes = host.bytes();
            (1..=HOST_MAX).contains(&host.len())
                && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
        };
        let is_random = random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_host(host) && is_random).then_some(Self {
            text: text.to_owned(),
            host: host.to_owned(),
            process: process.parse().ok()?,
        })
    }

    /// Whether it is a process of this host that is no more.
    pub fn is_dead(&self) -> bool {
        let Some(process) = i32::try_from(self.process).ok() else {
            return false;
        };
        let Some(process) = rustix::process::Pid::from_raw(process) else {
            return false;
        };
        self.host == here()
            && rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH)
    }
}

/// The name of this host as it is in names of workers.
fn here() -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let fit = |c: char| if c.is_ascii_alphanumeric() { c } else { '.' };
    let host: String = host.chars().map(fit).take(HOST_MAX).collect();
    if host.is_empty() { "host".into() } else { host }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_name_says_is_read_again() {
        let name = Name::new();
        assert_eq!(Name::parsed(&name.text), Some(name.clone()));
        assert!(!name.is_dead());
    }

    #[test]
    fn what_is_no_name_is_none() {
        let random = "0123456789abcdef";
        for text in [
            String::new(),
            "worker".into(),
            format!("worker-{random}"),
            format!("worker-a/b-1-{random}"),
            format!("worker--1-{random}"),
            format!("worker-a-x-{random}"),
            "worker-a-1-0123".into(),
            format!("worker-a-1-{random}\n"),
        ] {
            assert_eq!(Name::parsed(&text), None, "{text:?}");
        }
    }
}
