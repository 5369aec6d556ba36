//! What goes before a packet whose data is not sent, but lent: where it lies in the rings of ranks.
//!
//! Records of [`Header::BYTES`], little-endian, as many as it takes; behind the last stands the
//! packet's header, and behind that nothing, as the data is where they say. A sink that takes what
//! is lent says so in the ring that it reads ([`isthmus_ring::Consumer::borrow`]); no other gets
//! such records.
//!
//! | at | bytes | field |
//! |---|---|---|
//! | 0 | 2 | the letters `IR` |
//! | 2 | 1 | version, 1 |
//! | 3 | 1 | stretches in this record, 1 to 5 |
//! | 4 | 4 | how often it was said which rings are shown |
//! | 8 | 8 | the epoch |
//! | 16 | 16 each | stretches: position (8 bytes), ring (4), bytes (4); the rest 0 |
//! | 96 | 12 | zero |
//! | 108 | 4 | CRC32C of bytes 0 to 107 |

use crate::error::{Error, Result};
use isthmus_ring::{Loan, STRETCHES, Stretch};
use isthmus_stream::checksum::crc32c;
use isthmus_stream::wire::Header;

const MAGIC: [u8; 2] = *b"IR";
const VERSION: u8 = 1;
/// Stretches of a record.
const EACH: usize = 5;
const FIRST_AT: usize = 16;
const STRETCH_BYTES: usize = 16;
const SUM_AT: usize = Header::BYTES - 4;

/// A record.
pub type Record = [u8; Header::BYTES];

/// Whether these bytes are to be a record, and not a packet's header.
#[must_use]
pub fn is_record(bytes: &Record) -> bool {
    bytes[..2] == MAGIC
}

/// The records of a loan; none of one without stretches.
#[must_use]
pub fn encode(loan: &Loan) -> Vec<u8> {
    let mut records = Vec::with_capacity(loan.stretches.len().div_ceil(EACH) * Header::BYTES);
    for some in loan.stretches.chunks(EACH) {
        let mut out = [0; Header::BYTES];
        out[..2].copy_from_slice(&MAGIC);
        (out[2], out[3]) = (VERSION, some.len() as u8);
        out[4..8].copy_from_slice(&loan.told.to_le_bytes());
        out[8..16].copy_from_slice(&loan.epoch.to_le_bytes());
        let places = out[FIRST_AT..].chunks_exact_mut(STRETCH_BYTES);
        for (place, one) in places.zip(some) {
            place[..8].copy_from_slice(&one.position.to_le_bytes());
            place[8..12].copy_from_slice(&one.ring.to_le_bytes());
            place[12..].copy_from_slice(&one.len.to_le_bytes());
        }
        let sum = crc32c(&out[..SUM_AT]);
        out[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        records.extend(out);
    }
    records
}

/// Adds what a record says to what those before it said of the same packet.
///
/// # Errors
/// [`Error::Garbled`], with what is wrong first.
pub fn add(record: &Record, loan: Option<Loan>) -> Result<Loan> {
    let refuse = |what: &str| Err(Error::Garbled(format!("a record of a loan: {what}")));
    if record[..2] != MAGIC {
        return refuse("it begins with the letters IR, these bytes do not");
    }
    if record[2] != VERSION {
        return refuse(&format!("version {}: {VERSION} is known", record[2]));
    }
    let short = |at: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&record[at..at + 4]);
        u32::from_le_bytes(word)
    };
    let long = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&record[at..at + 8]);
        u64::from_le_bytes(word)
    };
    if crc32c(&record[..SUM_AT]) != short(SUM_AT) {
        return refuse("its checksum is not that of its bytes");
    }
    let count = usize::from(record[3]);
    if !(1..=EACH).contains(&count) {
        return refuse(&format!("{count} stretches: 1 to {EACH} are in one"));
    }
    let end = FIRST_AT + count * STRETCH_BYTES;
    if record[end..SUM_AT].iter().any(|byte| *byte != 0) {
        return refuse("what says nothing is not zero");
    }
    let (told, epoch) = (short(4), long(8));
    let mut loan = loan.unwrap_or_else(|| Loan {
        epoch,
        told,
        stretches: Vec::new(),
    });
    if (loan.epoch, loan.told) != (epoch, told) {
        return refuse("it goes on with what another began");
    }
    if loan.stretches.len() + count > STRETCHES {
        return refuse(&format!("more than {STRETCHES} stretches"));
    }
    for at in (FIRST_AT..end).step_by(STRETCH_BYTES) {
        let (position, ring, len) = (long(at), short(at + 8), short(at + 12));
        if len == 0 {
            return refuse("a stretch of no bytes");
        }
        loan.stretches.push(Stretch {
            ring,
            position,
            len,
        });
    }
    Ok(loan)
}
