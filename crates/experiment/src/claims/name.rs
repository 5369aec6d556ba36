//! Names of workers: `worker-HOST-PID-` and 16 hexadecimal digits. The first eight digits identify the boot
//! and the PID namespace of PID; the other eight are random.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};

/// Maximum number of characters of the host name in a worker's name.
const HOST_MAX: usize = 64;

/// Unique name of a worker process, split into its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The whole name, which is also the name of the worker's file without the extension.
    pub text: String,
    /// Name of the worker's host, cut to 64 characters.
    pub host: String,
    /// Process ID of the worker on that host.
    pub process: u32,
    /// Eight digits that identify the boot and the PID namespace of `process`.
    space: String,
}

impl Name {
    /// Return a unique name for a worker of this process.
    pub(crate) fn new() -> Self {
        let host = host_name();
        let process = std::process::id();
        // If the PID namespace is unknown, use a second random number, which matches no other process.
        let random = || RandomState::new().build_hasher().finish() as u32;
        let space = format!("{:08x}", boot_and_pid_namespace().unwrap_or_else(random));
        Self {
            text: format!("worker-{host}-{process}-{space}{:08x}", random()),
            host,
            process,
            space,
        }
    }

    /// Parse the content of a claim file. Return `None` if it is not a worker's name.
    pub fn parsed(text: &str) -> Option<Self> {
        let (rest, random) = text.strip_prefix("worker-")?.rsplit_once('-')?;
        let (host, process) = rest.rsplit_once('-')?;
        let is_host = |host: &str| {
            let mut bytes = host.bytes();
            (1..=HOST_MAX).contains(&host.len())
                && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
        };
        let is_random = random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !(is_host(host) && is_random) {
            return None;
        }
        Some(Self {
            text: text.to_owned(),
            host: host.to_owned(),
            process: process.parse().ok()?,
            space: random[..8].to_owned(),
        })
    }

    /// Return whether the worker was a process of this host that has ended. Containers may share a host name
    /// and reuse process IDs, so an ID is compared only within its own namespace.
    pub fn is_dead(&self) -> bool {
        let Some(process) = i32::try_from(self.process).ok() else {
            return false;
        };
        let Some(process) = rustix::process::Pid::from_raw(process) else {
            return false;
        };
        self.host == host_name()
            && boot_and_pid_namespace().is_some_and(|here| format!("{here:08x}") == self.space)
            && rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH)
    }
}

/// Return a hash of the boot of this host and of the PID namespace of this process: two processes with the same hash and
/// PID are one. `None` if Linux does not report them.
fn boot_and_pid_namespace() -> Option<u32> {
    if !cfg!(target_os = "linux") {
        return Some(0);
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let numbers = fs::read_link("/proc/self/ns/pid").ok()?;
    let text = format!("{} {}", boot.trim(), numbers.display());
    // Use the hash FNV-1a, because it has the same value in every process and version.
    let hash = (text.bytes()).fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    Some(hash)
}

/// Return the name of this host in the form that names of workers contain.
fn host_name() -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let fit = |c: char| if c.is_ascii_alphanumeric() { c } else { '.' };
    let host: String = host.chars().map(fit).take(HOST_MAX).collect();
    if host.is_empty() { "host".into() } else { host }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Checks that parsing the text of a new name gives that name, and that its process is alive.
    #[test]
    fn a_new_name_is_parsed_and_its_process_is_alive() {
        let name = Name::new();
        assert_eq!(Name::parsed(&name.text), Some(name.clone()));
        assert!(!name.is_dead());
    }

    /// Checks that a process that has ended is dead only for a name of the same PID namespace.
    #[test]
    fn processes_of_another_namespace_are_not_dead() {
        let (mut child, name) = (Command::new("true").spawn().unwrap(), Name::new());
        child.wait().unwrap();
        let of = |space: &str| {
            let text = format!("worker-{}-{}-{space}01234567", name.host, child.id());
            Name::parsed(&text).unwrap()
        };
        assert!(of(&name.space).is_dead());
        let other = format!("{:08x}", !u32::from_str_radix(&name.space, 16).unwrap());
        assert!(!of(&other).is_dead());
        assert_eq!(Name::new().space, name.space);
    }

    /// Checks that texts which are not names of workers are not parsed.
    #[test]
    fn invalid_names_are_rejected() {
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
