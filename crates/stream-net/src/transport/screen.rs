//! The transport that draws the bytes of application data units (ADUs) on a screen of a frame
//! buffer, each byte once, in order.

use crate::memory::Memory;
use crate::screen::Screen;
use isthmus_stream::wire::Header;
use isthmus_stream::{OrderId, PacketId};
use std::collections::VecDeque;

/// A packet that is queued to be drawn.
#[derive(Debug)]
struct Out {
    order: OrderId,
    packet: PacketId,
    adu: u64,
    offset: u64,
    bytes: u32,
}

/// A connection that draws packets on a screen.
#[derive(Debug)]
pub(crate) struct Drawing {
    screen: Box<dyn Screen>,
    queue: VecDeque<Out>,
}

impl Drawing {
    /// Creates the transport for this screen, without queued packets.
    pub fn new(screen: Box<dyn Screen>) -> Self {
        Self {
            screen,
            queue: VecDeque::new(),
        }
    }

    /// Queues a packet to be drawn.
    pub fn send(&mut self, order: OrderId, packet: PacketId, header: &Header) {
        self.queue.push_back(Out {
            order,
            packet,
            adu: header.adu,
            offset: header.offset,
            bytes: header.bytes,
        });
    }

    /// Draws the data of the queued packets on the screen, and adds the orders of these packets to
    /// `over`, the completed ones. Returns whether there were any packets.
    ///
    /// # Errors
    /// The reason for which the screen refuses the bytes.
    pub fn write(&mut self, memory: &Memory, over: &mut Vec<OrderId>) -> Result<bool, String> {
        let mut any = false;
        while let Some(out) = self.queue.pop_front() {
            any = true;
            // Draw nothing for an end mark, which has no data.
            if out.bytes > 0 {
                let data = memory.packet(out.packet).get(..out.bytes as usize);
                let data = data.ok_or("a packet is not where it was stored")?;
                self.screen.put(out.adu, out.offset, data)?;
            }
            over.push(out.order);
        }
        Ok(any)
    }
}
