//! Requests of heads of messages for channels, for the present cycle and for the next one.

use crate::channels::{ChannelId, WormId};

/// The request of a head for a channel. Requests of one cycle are served in the order of message
/// numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub number: u64,
    pub worm: WormId,
    pub channel: ChannelId,
}

/// The requests for channels in the present cycle and in the next one. They need little sorting:
/// heads move on in the order in which they are served, and new messages have the highest numbers.
/// Only worms that wake up come in any order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests {
    /// Requests of the present cycle. The first `served` of them have been served.
    present: Vec<Request>,
    /// Number of requests of the present cycle that have been served.
    served: usize,
    /// Requests for the next cycle from heads that were served in the present cycle, in the order
    /// of their messages.
    next: Vec<Request>,
    /// Requests for the next cycle, in any order, of worms that woke up in the present cycle.
    woken: Vec<Request>,
}

impl Requests {
    /// Return whether any request of the present cycle still has to be served.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.served < self.present.len()
    }

    /// Return whether any request is queued for the next cycle.
    #[inline]
    pub fn is_next(&self) -> bool {
        !(self.next.is_empty() && self.woken.is_empty())
    }

    /// Queue the request of a new message; it is served in the present cycle.
    #[inline]
    pub fn start(&mut self, request: Request) {
        self.present.push(request);
    }

    /// Queue the next request of a head that was just served; it is served in the next cycle.
    #[inline]
    pub fn continue_next(&mut self, request: Request) {
        debug_assert!(
            self.next
                .last()
                .is_none_or(|last| last.number < request.number)
        );
        self.next.push(request);
    }

    /// Queue the request of a worm (a message in the network) that has just woken up. It is served
    /// in the next cycle.
    #[inline]
    pub fn wake(&mut self, request: Request) {
        self.woken.push(request);
    }

    /// Return the requests of the present cycle that are not served yet.
    pub fn present(&self) -> &[Request] {
        &self.present[self.served..]
    }

    /// Remove and return the next request of the present cycle.
    #[inline]
    pub fn pop(&mut self) -> Request {
        let request = self.present[self.served];
        self.served += 1;
        request
    }

    /// Start the next cycle: its requests become the present ones. There may be none.
    #[inline]
    pub fn next_cycle(&mut self) {
        debug_assert!(!self.is_due());
        self.present.clear();
        self.served = 0;
        if self.woken.is_empty() {
            std::mem::swap(&mut self.present, &mut self.next);
        } else {
            self.merge_woken();
        }
    }

    /// Merge the sorted `woken` and `next` into `present`. Each step selects its element without a
    /// branch, because the processor cannot predict from which list the element comes.
    fn merge_woken(&mut self) {
        self.woken.sort_unstable_by_key(|request| request.number);
        let (mut next, mut woken) = (0, 0);
        while next < self.next.len() && woken < self.woken.len() {
            let (a, b) = (self.next[next], self.woken[woken]);
            let first = a.number < b.number;
            self.present.push(Request {
                number: a.number.min(b.number),
                worm: if first { a.worm } else { b.worm },
                channel: if first { a.channel } else { b.channel },
            });
            next += usize::from(first);
            woken += usize::from(!first);
        }
        self.present.extend_from_slice(&self.next[next..]);
        self.present.extend_from_slice(&self.woken[woken..]);
        self.next.clear();
        self.woken.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_kernel::Id;

    /// Return a request for the tests, by the message with this number.
    fn request(number: u64) -> Request {
        Request {
            number,
            worm: WormId::new(number as u32 + 100),
            channel: number as ChannelId + 200,
        }
    }

    /// Checks that the requests of a cycle are served in the order of message numbers.
    #[test]
    fn requests_of_a_cycle_are_served_by_number() {
        let mut requests = Requests::default();
        [30, 10, 70]
            .into_iter()
            .for_each(|number| requests.wake(request(number)));
        [5, 20, 40]
            .into_iter()
            .for_each(|number| requests.continue_next(request(number)));
        assert!(requests.is_next() && !requests.is_due());
        requests.next_cycle();
        requests.start(request(80));
        assert!(requests.is_due() && !requests.is_next());
        let mut served = Vec::new();
        while requests.is_due() {
            let Request {
                number,
                worm,
                channel,
            } = requests.pop();
            let expected = request(number);
            assert_eq!((worm, channel), (expected.worm, expected.channel));
            served.push(number);
        }
        assert_eq!(served, [5, 10, 20, 30, 40, 70, 80]);
        requests.next_cycle();
        assert!(!requests.is_due() && !requests.is_next());
    }
}
