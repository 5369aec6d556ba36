//! How an end waits: it looks again for a moment, then sleeps.

use std::sync::OnceLock;
use std::thread::{available_parallelism, yield_now};

/// Looks before a thread offers its processor to others.
const LOOKS: u32 = 200;
/// Times that it offers it before it sleeps.
const OFFERS: u32 = 8;

/// Looks for a moment whether `ready` is true. A moment is some microseconds, so that the copy of a
/// chunk on the other processor is waited for; where there is one processor only, none.
pub(crate) fn spin<E>(mut ready: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
    static ALONE: OnceLock<bool> = OnceLock::new();
    let alone = *ALONE.get_or_init(|| available_parallelism().is_ok_and(|cores| cores.get() == 1));
    if !alone {
        for _ in 0..LOOKS {
            if ready()? {
                return Ok(true);
            }
            std::hint::spin_loop();
        }
    }
    for _ in 0..OFFERS {
        if ready()? {
            return Ok(true);
        }
        yield_now();
    }
    ready()
}
