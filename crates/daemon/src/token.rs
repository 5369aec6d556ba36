//! The secrets with which clients authenticate.

use isthmus_wire::{Error, Result};
use rustix::fs::OFlags;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

/// Minimum and maximum length of a secret in bytes.
const LENGTH: (usize, usize) = (16, 4096);

/// A secret, and the file from which it was read. The secret is never displayed.
#[derive(Clone)]
pub struct Secret {
    token: Vec<u8>,
    file: Option<PathBuf>,
}

impl Secret {
    /// Read the only line of a file that only its owner can read: the user of the daemon, or root.
    ///
    /// # Errors
    /// A file that is missing, readable by other users, or does not have exactly one line.
    pub fn read(path: &Path) -> Result<Self> {
        let what = || format!("token file {}", path.display());
        let refuse = |why: &str| Err(Error::Config(format!("{}: {why}", what())));
        // Without `NONBLOCK`, opening a FIFO would block.
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

    /// Create a secret from this text.
    ///
    /// # Errors
    /// The text has fewer than 16 or more than 4,096 bytes.
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

    /// Read the file of the secret again, if it has one.
    ///
    /// # Errors
    /// As [`Secret::read`].
    pub(crate) fn reread(&self) -> Result<Self> {
        self.file
            .as_deref()
            .map_or_else(|| Ok(self.clone()), Self::read)
    }

    /// Return whether both secrets have the same text.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        is_same(&self.token, &other.token)
    }

    /// Return whether the text `token` is this secret.
    #[must_use]
    pub fn is(&self, token: &str) -> bool {
        is_same(&self.token, token.as_bytes())
    }
}

/// The secrets with which clients and operators of a daemon authenticate.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// The secret of all clients; `None` admits every client that can connect.
    pub clients: Option<Secret>,
    /// The secret of operators; with `None`, clients of the daemon's own user are operators over
    /// the Unix socket.
    pub operators: Option<Secret>,
}

impl Tokens {
    /// Refuse the same secret for clients and operators: each client would be an operator.
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

    /// Read the files of both secrets again.
    ///
    /// # Errors
    /// As [`Secret::read`]; the same secret for clients and operators.
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
    /// Write the word `Secret` only, so that no message or log contains the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Compare two secrets in a time that does not depend on the position of the first difference.
#[must_use]
pub fn is_same(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}
