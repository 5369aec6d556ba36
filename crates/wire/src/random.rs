//! Random keys, which a peer cannot guess.

use crate::error::{Error, Result};
use rustix::rand::{GetRandomFlags, getrandom};

/// Return a random key of 128 bits in hexadecimal.
///
/// # Errors
/// The system has no random bits.
pub fn random_key() -> Result<String> {
    let mut bytes = [0; 16];
    match getrandom(&mut bytes[..], GetRandomFlags::empty()) {
        Ok(16) => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        _ => Err(Error::Config("the system gives no random bits".into())),
    }
}
