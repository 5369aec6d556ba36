//! Secrets that let somebody in.

use crate::error::{Error, Result};
use rustix::fs::OFlags;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

/// Characters of a secret at least, and at most.
const LENGTH: (usize, usize) = (16, 4096);

/// A secret, and the file that it was read from. It is never shown.
#[derive(Clone)]
pub struct Secret {
    token: Vec<u8>,
    file: Option<PathBuf>,
}

impl Secret {
    /// Reads the line of a file that only its owner may read, the daemon's user or root.
    ///
    /// # Errors
    /// A file that is not there, that others may read, or that holds none, or several lines.
    pub fn read(path: &Path) -> Result<Self> {
        let what = || format!("token file {}", path.display());
        let refuse = |why: &str| Err(Error::Config(format!("{}: {why}", what())));
        // Not kept waiting by a FIFO.
        let flags = OFlags::NONBLOCK.bits() as i32;
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = opened.map_err(|error| Error::system(what(), error))?;
        let found = file
            .metadata()
            .map_err(|error| Error::system(what(), error))?;
        if !found.is_file() {
            return refuse("it is not a regular file; name a file that holds the token");
        }
        if found.mode() & 0o077 != 0 {
            let mode = found.mode() & 0o777;
            return refuse(&format!(
                "others may read it (mode {mode:03o}); chmod 600 it"
            ));
        }
        let own = rustix::process::geteuid().as_raw();
        if ![own, 0].contains(&found.uid()) {
            return refuse("it is another user's; make it the daemon's");
        }
        let mut text = String::new();
        let read = file.take(2 * LENGTH.1 as u64).read_to_string(&mut text);
        read.map_err(|error| Error::system(what(), error))?;
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let token = lines.next().unwrap_or_default();
        if lines.next().is_some() {
            return refuse("it holds several lines; a token is one, the only one there");
        }
        if token.split_whitespace().nth(1).is_some() {
            return refuse("it holds several words; a token is one, without spaces");
        }
        let secret = Self::new(token).map(|secret| Self {
            file: Some(path.to_owned()),
            ..secret
        });
        secret.or_else(|_| {
            let (least, most) = LENGTH;
            refuse(&format!(
                "a token has {least} to {most} characters; openssl rand -hex 16 makes one"
            ))
        })
    }

    /// The secret that this is.
    ///
    /// # Errors
    /// One of fewer than 16 or more than 4,096 bytes.
    pub fn new(token: &str) -> Result<Self> {
        let (least, most) = LENGTH;
        if !(least..=most).contains(&token.len()) {
            let text = format!("a token of {} bytes: {least} to {most} can be", token.len());
            return Err(Error::Config(text));
        }
        Ok(Self {
            token: token.as_bytes().to_vec(),
            file: None,
        })
    }

    /// Read its file again; the same, if it has none.
    ///
    /// # Errors
    /// As [`Secret::read`].
    pub(crate) fn reread(&self) -> Result<Self> {
        self.file
            .as_deref()
            .map_or_else(|| Ok(self.clone()), Self::read)
    }

    /// Whether both are the same.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        same(&self.token, &other.token)
    }

    /// Whether somebody knows it.
    #[must_use]
    pub fn is(&self, token: &str) -> bool {
        same(&self.token, token.as_bytes())
    }
}

/// The tokens of a daemon.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// What each application shows, if one is asked for.
    pub clients: Option<Secret>,
    /// What operators show. Without it they are the daemon's own user, by its Unix socket.
    pub operators: Option<Secret>,
}

impl Tokens {
    /// Refuse one token for both: each program would be an operator.
    pub(crate) fn check(&self) -> Result<()> {
        if let (Some(clients), Some(operators)) = (&self.clients, &self.operators)
            && clients.equals(operators)
        {
            let text = "--token-file and --operator-token-file hold the same token, so that each \
                        program would be an operator: make another, openssl rand -hex 16";
            return Err(Error::Config(text.into()));
        }
        Ok(())
    }

    /// Read their files again.
    ///
    /// # Errors
    /// As [`Secret::read`]; one token for both.
    pub(crate) fn reread(&self) -> Result<Self> {
        let reread = |token: &Option<Secret>| token.as_ref().map(Secret::reread).transpose();
        let tokens = Self {
            clients: reread(&self.clients)?,
            operators: reread(&self.operators)?,
        };
        tokens.check()?;
        Ok(tokens)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Whether two secrets are the same, in a time that does not say where they differ.
pub(crate) fn same(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

/// 128 random bits, in hexadecimal.
pub(crate) fn unguessable() -> Result<String> {
    let mut bytes = [0; 16];
    match rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty()) {
        Ok(16) => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        _ => Err(Error::Config("the system gives no random bits".into())),
    }
}
