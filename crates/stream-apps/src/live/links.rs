//! Writers of the data of the cells (processors) to the links to an interface, at a limited rate if
//! one is set.

use super::cells::Cells;
use crate::error::Error;
use isthmus_stream::{Format, LinkId, StreamId};
use isthmus_stream_net::rank::Sender;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The bytes of an application data unit (ADU) to write to links: large blocks or small blocks.
#[derive(Debug, Clone)]
pub enum Adu {
    /// Large blocks: the bytes in the order of the application data unit.
    Large(Arc<Vec<u8>>),
    /// Small blocks: the bytes divided among the cells (processors). Each block is a striping unit,
    /// which is written alone.
    Small(Arc<Cells>),
}

/// Writer of the data that cross one link, at a limited rate if one is set.
#[derive(Debug)]
pub struct Writer {
    pub sender: Sender,
    pub link: LinkId,
    pub stream: StreamId,
    pub format: Format,
    /// Rate of the link in bytes per second; `None`: unlimited.
    pub bytes_per_s: Option<u64>,
    pub deadline: Instant,
    /// Time of the first write of this writer.
    began: Option<Instant>,
    /// Number of bytes written so far; with `began` it determines when the next may be written.
    written: u64,
    /// Number of bytes of all previous application data units on this link.
    bytes_of_previous_adus: u64,
}

impl Writer {
    /// Create a writer that has written nothing.
    pub fn new(
        sender: Sender,
        (link, stream): (LinkId, StreamId),
        format: Format,
        bytes_per_s: Option<u64>,
        deadline: Instant,
    ) -> Self {
        Self {
            sender,
            link,
            stream,
            format,
            bytes_per_s,
            deadline,
            began: None,
            written: 0,
            bytes_of_previous_adus: 0,
        }
    }

    /// Write the striping units of an application data unit that cross this link.
    ///
    /// # Errors
    /// The link is closed, or accepts no data until the deadline.
    pub fn write(&mut self, number: u64, adu: &Adu) -> Result<(), Error> {
        let (Adu::Large(data), None) = (adu, self.bytes_per_s) else {
            return self.write_sus(number, adu);
        };
        let counted = (self.bytes_of_previous_adus, 0);
        let (stream, format) = (self.stream, &self.format);
        let adu = (number, data.as_slice());
        self.bytes_of_previous_adus =
            self.sender
                .send_adu(stream, format, adu, counted, self.deadline)?;
        Ok(())
    }

    /// Write the striping units of an application data unit one by one, at the rate of the link.
    fn write_sus(&mut self, number: u64, adu: &Adu) -> Result<(), Error> {
        let bytes = match adu {
            Adu::Large(data) => data.len(),
            Adu::Small(cells) => cells.held().len(),
        };
        let mut index = 0;
        while let Some(tu) = self.format.tu(number, bytes as u64, index) {
            let own = self.link;
            let sus: Vec<_> = self.format.sus(tu.bytes).collect();
            for su in sus.iter().filter(|su| su.link == own) {
                self.keep_pace(su.bytes);
                let begin = (tu.offset + su.offset) as usize;
                let data = match adu {
                    Adu::Large(data) => &data[begin..begin + su.bytes as usize],
                    Adu::Small(cells) => cells.block(index, u64::from(su.index)),
                };
                self.sender
                    .send_su(self.stream, &tu, su, data, self.deadline)?;
            }
            index += 1;
        }
        Ok(())
    }

    /// Wait until a link of the set rate would have carried all earlier bytes. Then count `bytes`
    /// more.
    fn keep_pace(&mut self, bytes: u64) {
        let Some(rate) = self.bytes_per_s else {
            return;
        };
        let began = *self.began.get_or_insert_with(Instant::now);
        let carried = Duration::from_secs_f64(self.written as f64 / rate as f64);
        let ahead = carried.saturating_sub(began.elapsed());
        if !ahead.is_zero() {
            std::thread::sleep(ahead);
        }
        self.written += bytes;
    }
}
