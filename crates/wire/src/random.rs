//! Random keys, which a peer cannot guess.

use crate::error::{Error, Result};
use rustix::rand::{GetRandomFlags, getrandom};

/// Return 128 random bits.
///
/// # Errors
/// The system has no random bits.
pub fn random_bytes() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    match getrandom(&mut bytes[..], GetRandomFlags::empty()) {
        Ok(16) => Ok(bytes),
        _ => Err(Error::Config("the system gives no random bits".into())),
    }
}

/// Return a random key of 128 bits in hexadecimal.
///
/// # Errors
/// As [`random_bytes`].
pub fn random_key() -> Result<String> {
    let bytes = random_bytes()?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
