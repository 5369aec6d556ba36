//! The networks and directories that applications may reach through the daemon.

use crate::leftovers::is_journal;
use crate::refusal::refusal;
use isthmus_daemon::{Network, Roots, open_path};
use isthmus_nic_protocol::{Refusal, RefusalKind};
use isthmus_stream_net::{Destination, NAME_MAX, is_part, replaceable};
use isthmus_wire::address::{look_up, numeric};
use isthmus_wire::{Error, Result};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// List of the prefixes of all destinations of connections, for error messages.
const KINDS: &str = "raw:tcp:, raw:accept:, raw:unix: with a path, tcp:, tcp:accept:, file:, framebuffer:, udp: or \
     udp:accept:";
/// Prefixes of the destinations, such as `tcp:HOST:PORT`, of connections that do not wait for a peer.
const PREFIXES_WITHOUT_ACCEPT: [&str; 7] = [
    "raw:tcp:",
    "raw:unix:",
    "raw:given:",
    "tcp:",
    "file:",
    "framebuffer:",
    "udp:",
];
/// Prefixes of destinations, such as `tcp:accept:PORT`, where the daemon waits until a peer connects. Each has the
/// protocol of this peer.
const ACCEPT: [(&str, PeerKind); 3] = [
    ("raw:accept:", PeerKind::Packets),
    ("tcp:accept:", PeerKind::Bytes),
    ("udp:accept:", PeerKind::Datagrams),
];

/// The protocol of a peer for which a connection waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PeerKind {
    /// Packets over a TCP connection; the header of the first packet contains the channel number.
    Packets,
    /// Plain bytes without headers.
    Bytes,
    /// UDP datagrams; the header of each contains the channel number.
    Datagrams,
}

/// Return the protocol and the address of a destination that waits for a peer; None for other
/// destinations.
pub(crate) fn parse_accept(words: &str) -> Option<(PeerKind, &str)> {
    let mut all = ACCEPT.into_iter();
    all.find_map(|(begin, kind)| Some((kind, words.strip_prefix(begin)?)))
}

/// The policy of a daemon: the destinations that applications may reach.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Networks with the addresses to which applications may open connections.
    pub to: Vec<Network>,
    /// Networks at whose addresses connections may wait for peers.
    pub accept: Vec<Network>,
    /// Directories below which applications may write files and connect to Unix sockets.
    pub files: Vec<PathBuf>,
}

impl Default for Policy {
    /// Return the default policy: loopback networks, and no files.
    fn default() -> Self {
        Self {
            to: Network::loopback(),
            accept: Network::loopback(),
            files: Vec::new(),
        }
    }
}

impl Policy {
    /// Resolve and open the directories of the policy.
    ///
    /// # Errors
    /// A directory does not exist.
    pub(crate) fn resolved(mut self) -> Result<(Self, Roots)> {
        for directory in &mut self.files {
            let what = format!("directory {} for files", directory.display());
            let real = std::fs::canonicalize(&*directory);
            let real = real.map_err(|error| Error::system(&what, error))?;
            if !real.is_dir() {
                let text = format!("{what}: it is none; give one that is there");
                return Err(Error::Config(text));
            }
            *directory = real;
        }
        let roots = Roots::open(&self.files)?;
        Ok((self, roots))
    }

    /// Return the destination, if the policy allows it, with host names and symbolic links
    /// resolved. This may take long.
    pub(crate) fn check(
        &self,
        words: &str,
        roots: &Roots,
    ) -> std::result::Result<Allowed, Refusal> {
        if let Some((kind, address)) = parse_accept(words) {
            let address = numeric(address).map_err(|found| {
                let right = "an address is numeric with a port up to 65535, as 127.0.0.1:5000";
                let why = found.as_deref().unwrap_or(right);
                refusal(RefusalKind::Garbled, format!("`{words}`: {why}"))
            })?;
            within(&self.accept, address, "--accept")?;
            return Ok(Allowed::Accept(kind, address));
        }
        let words = self.looked_up(words)?;
        if !PREFIXES_WITHOUT_ACCEPT
            .into_iter()
            .any(|begin| words.starts_with(begin))
        {
            let text = format!("destination `{words}`: it begins with {KINDS}");
            return Err(refusal(RefusalKind::Garbled, text));
        }
        match Destination::parse(&words).map_err(crate::convert::refused)? {
            Destination::RawTcp(address)
            | Destination::Tcp(address)
            | Destination::Udp(address, _)
                if address.port() == 0 =>
            {
                let text = format!("destination `{words}`: nobody can be reached at port 0");
                Err(refusal(RefusalKind::Garbled, text))
            }
            Destination::RawTcp(address)
            | Destination::Tcp(address)
            | Destination::Udp(address, _) => {
                within(&self.to, address, "--to")?;
                Ok(Allowed::To(words))
            }
            Destination::File(path) => {
                let (path, directory) = resolve_below_root(roots, &words, &path)?;
                place(&words, &path, &directory)?;
                Ok(Allowed::Found(format!("file:{path}"), directory))
            }
            Destination::RawUnix(path) if !path.starts_with('@') => {
                let (path, directory) = resolve_below_root(roots, &words, Path::new(&path))?;
                let socket = socket(&words, &path, &directory)?;
                Ok(Allowed::Found(format!("raw:unix:{path}"), socket))
            }
            Destination::Framebuffer(_) => Ok(Allowed::To(words)),
            _ => Err(refusal(
                RefusalKind::Denied,
                format!(
                    "destination `{words}`: it is for programs that run a manager themselves; take \
                     {KINDS}"
                ),
            )),
        }
    }

    /// Replace the host name in a destination by an address of the host, if possible one that the
    /// policy allows.
    fn looked_up(&self, words: &str) -> std::result::Result<String, Refusal> {
        let kinds = ["raw:tcp:", "tcp:", "udp:"];
        let kind = kinds.into_iter().find(|kind| words.starts_with(kind));
        let Some(kind) = kind.filter(|kind| !words[kind.len()..].starts_with("given:")) else {
            return Ok(words.to_owned());
        };
        let rest = &words[kind.len()..];
        let (host, more) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        match numeric(host) {
            Ok(address) => return Ok(format!("{kind}{address}{more}")),
            Err(Some(why)) => {
                return Err(refusal(RefusalKind::Garbled, format!("`{words}`: {why}")));
            }
            Err(None) => {}
        }
        let port = host.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        if !matches!(port, Some(Ok(_))) {
            let text =
                format!("`{words}`: a port up to 65535 stands behind the host, as {kind}nic:5000");
            return Err(refusal(RefusalKind::Garbled, text));
        }
        let found = look_up(host).map_err(|error| {
            let text = format!("`{words}`: looking {host} up: {error}");
            refusal(RefusalKind::Unknown, text)
        })?;
        let reached = |at: &&SocketAddr| within(&self.to, **at, "").is_ok();
        let address = found.iter().find(reached).or(found.first());
        match address {
            Some(address) => Ok(format!("{kind}{address}{more}")),
            None => {
                let text = format!("`{words}`: {host} has no address");
                Err(refusal(RefusalKind::Unknown, text))
            }
        }
    }
}

/// Check that a path lies below an allowed directory, after symbolic links to the directory are resolved.
/// Returns the resolved path and the directory, opened.
fn resolve_below_root(
    roots: &Roots,
    words: &str,
    path: &Path,
) -> std::result::Result<(String, OwnedFd), Refusal> {
    let refuse = |kind, why: String| Err(refusal(kind, format!("`{words}`: {why}")));
    let named = (path.is_absolute(), path.parent(), path.file_name());
    let (true, Some(parent), Some(name)) = named else {
        let why = "a path begins with / and ends with a name, as /data/image";
        return refuse(RefusalKind::Garbled, why.into());
    };
    let shown: Vec<_> = roots
        .paths()
        .map(|path| path.display().to_string())
        .collect();
    // Resolve symbolic links here. Opening the real directory later follows none.
    let real = match std::fs::canonicalize(parent) {
        Ok(real) => real,
        Err(_) if shown.is_empty() => parent.to_owned(),
        Err(error) => {
            let why = format!("directory {}: {error}", parent.display());
            return refuse(RefusalKind::Unknown, why);
        }
    };
    let directory = match roots.directory(&real) {
        Some(Ok(directory)) => directory,
        Some(Err(error)) => {
            let (real, why) = (real.display(), std::io::Error::from(error));
            let why = format!("directory {real}, which changed while it was looked up: {why}");
            return refuse(RefusalKind::Denied, why);
        }
        None => {
            let allowed = match shown.is_empty() {
                true => "nowhere".to_owned(),
                false => format!("below {}", shown.join(", ")),
            };
            let why = format!(
                "{} is not where this daemon writes ({allowed}): the operator adds a directory \
                 with --files",
                real.display()
            );
            return refuse(RefusalKind::Denied, why);
        }
    };
    match real.join(name).to_str() {
        Some(path) => Ok((path.to_owned(), directory)),
        None => refuse(RefusalKind::Garbled, "it is no UTF-8".into()),
    }
}

/// Refuse a path that cannot become a file, before any data is sent.
fn place(words: &str, path: &str, directory: &OwnedFd) -> std::result::Result<(), Refusal> {
    let refuse = |kind, why: String| Err(refusal(kind, format!("`{words}`: {why}")));
    let name = Path::new(path).file_name().unwrap_or_default();
    if name.len() > NAME_MAX {
        let bytes = name.len();
        let why = format!("a name of {bytes} bytes: take one of at most {NAME_MAX}");
        return refuse(RefusalKind::Garbled, why);
    }
    if name
        .to_str()
        .is_some_and(|name| is_part(name) || is_journal(name))
    {
        let why = "the daemon gives such names to files that it writes: take another";
        return refuse(RefusalKind::Denied, why.into());
    }
    match open_path(directory, Path::new(name)).and_then(rustix::fs::fstat) {
        Ok(there) => match replaceable(&there) {
            Ok(()) => Ok(()),
            Err(why) => refuse(RefusalKind::Conflict, format!("it is not replaced: {why}")),
        },
        Err(Errno::NOENT) => Ok(()),
        Err(error) => {
            let why = std::io::Error::from(error).to_string();
            refuse(RefusalKind::Garbled, why)
        }
    }
}

/// Open the Unix socket at a path. A symbolic link is refused, as it may lead out of the directory.
fn socket(words: &str, path: &str, directory: &OwnedFd) -> std::result::Result<OwnedFd, Refusal> {
    let refuse = |kind, why: String| refusal(kind, format!("`{words}`: {why}"));
    let name = Path::new(path).file_name().unwrap_or_default();
    let unknown = |error: Errno| {
        let why = format!(
            "{}; name a socket that is there",
            std::io::Error::from(error)
        );
        refuse(RefusalKind::Unknown, why)
    };
    let there = open_path(directory, Path::new(name)).map_err(unknown)?;
    let kind = rustix::fs::fstat(&there).map_err(unknown)?.st_mode;
    match FileType::from_raw_mode(kind) {
        FileType::Socket => Ok(there),
        FileType::Symlink => {
            let why = "it is a symbolic link: name the socket itself";
            Err(refuse(RefusalKind::Denied, why.into()))
        }
        _ => Err(refuse(RefusalKind::Conflict, "it is no socket".into())),
    }
}

/// A destination that the policy allows.
#[derive(Debug)]
pub(crate) enum Allowed {
    /// A destination in the form in which the driver, which moves the data, parses it.
    To(String),
    /// A destination below the directories for files, with the open directory of the file, or the
    /// open socket.
    Found(String, OwnedFd),
    /// A destination that waits for a peer with this protocol at this address.
    Accept(PeerKind, SocketAddr),
}

/// Check that one of the permitted networks contains the address; `flag` is the command-line option
/// that permits a network.
fn within(
    networks: &[Network],
    address: SocketAddr,
    flag: &str,
) -> std::result::Result<(), Refusal> {
    if networks
        .iter()
        .any(|network| network.contains(address.ip()))
    {
        return Ok(());
    }
    let networks: Vec<_> = networks.iter().map(Network::to_string).collect();
    let text = format!(
        "{} is in none of the networks that this daemon allows ({}): the operator adds it with \
         {flag}",
        address.ip(),
        networks.join(", ")
    );
    Err(refusal(RefusalKind::Denied, text))
}
