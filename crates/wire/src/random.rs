//! Random keys.

use crate::error::{Error, Result};
use rustix::rand::{GetRandomFlags, getrandom};

/// Return 128 random bits in hexadecimal.
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
