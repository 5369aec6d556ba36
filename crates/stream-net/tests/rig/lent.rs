//! Packets of which a ring says only where their data lies, as if they came over it whole.

use super::proxy::RingReads;
use isthmus_ring::Loan;
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream_net::loan;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

/// Packets that were read where they lay, and those that were taken back first, by all of these.
pub static LENT: AtomicU64 = AtomicU64::new(0);
pub static REVOKED: AtomicU64 = AtomicU64::new(0);

/// Reads packets in order, whichever way they come.
pub struct Unlent {
    from: RingReads,
    ready: VecDeque<u8>,
    next: u64,
    early: BTreeMap<u64, Vec<u8>>,
    /// Packets that were read where they lay.
    had: BTreeSet<u64>,
}

impl Unlent {
    /// Of rings of at most `most` bytes.
    pub fn new(mut from: RingReads, most: u64) -> Self {
        from.0.borrow(most);
        Self {
            from,
            ready: VecDeque::new(),
            next: 0,
            early: BTreeMap::new(),
            had: BTreeSet::new(),
        }
    }

    /// The next packet: header, data, and whether that was lent; none if there is no more of it than what was read.
    fn packet(&mut self) -> io::Result<Option<(Header, Vec<u8>, bool)>> {
        let mut told: Option<Loan> = None;
        let mut head = [0; Header::BYTES];
        loop {
            self.from.read_exact(&mut head)?;
            if !loan::is_record(&head) {
                break;
            }
            told = Some(loan::add(&head, told).expect("drivers tell of loans"));
        }
        let header = Header::decode(&head).expect("drivers send packets");
        let mut data = vec![0; header.bytes as usize];
        let Some(told) = told else {
            self.from.read_exact(&mut data)?;
            return Ok(Some((header, data, false)));
        };
        let good = self.from.0.read_lent(&told, &mut data, 10_000, |_, _| ());
        let good = good.expect("drivers lend what is there");
        let count = if good { &LENT } else { &REVOKED };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(good.then_some((header, data, true)))
    }

    fn take(&mut self) -> io::Result<()> {
        let Some((header, data, lent)) = self.packet()? else {
            return Ok(());
        };
        let packet = [&header.encode()[..], &data].concat();
        if header.kind != Kind::Data {
            self.ready.extend(packet);
        } else if header.sequence > self.next {
            self.early.insert(header.sequence, packet);
        } else if !lent && self.had.remove(&header.sequence) {
            // It was read where it lay, and taken back before the sender heard of that.
        } else {
            self.ready.extend(packet);
            self.next = self.next.max(header.sequence + 1);
            while let Some(packet) = self.early.remove(&self.next) {
                self.ready.extend(packet);
                self.next += 1;
            }
        }
        if lent {
            self.had.insert(header.sequence);
        }
        Ok(())
    }
}

impl Read for Unlent {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() {
            match self.take() {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => other?,
            }
        }
        self.ready.read(bytes)
    }
}
