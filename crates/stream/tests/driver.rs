//! A driver without time, for hand-written tests: a transmitting interface, or the orders of one.

use isthmus_stream::{
    AppId, Config, ConnectionId, ConnectionSpec, Event, Instant, Limits, LinkId, Manager, Order,
    OrderId, Protocol, StreamId, StreamSpec, Work,
};
use std::collections::VecDeque;

pub const NOW: Instant = Instant(1);

pub struct Driver {
    pub manager: Manager,
    pub app: AppId,
    pub orders: VecDeque<Order>,
    pub events: Vec<Event>,
}

impl Driver {
    pub fn new(config: Config) -> Self {
        let mut manager = Manager::new(config).expect("sizes above 0");
        let app = manager.add_application(Limits::NONE);
        Self {
            manager,
            app,
            orders: VecDeque::new(),
            events: Vec::new(),
        }
    }

    /// Opens a connection whose packets are done when they are sent.
    pub fn connection(&mut self) -> ConnectionId {
        let id = self.closed_connection(Protocol::Unconfirmed { reorder: 0 });
        self.manager.handle_connected(NOW, id);
        self.poll();
        id
    }

    pub fn closed_connection(&mut self, protocol: Protocol) -> ConnectionId {
        let spec = ConnectionSpec::new("anywhere", protocol, 0);
        let id = self.manager.open(NOW, self.app, spec);
        self.poll();
        id.expect("a connection")
    }

    pub fn submit(&mut self, spec: &StreamSpec) -> isthmus_stream::Result<StreamId> {
        let id = self.manager.submit(NOW, self.app, spec);
        self.poll();
        id
    }

    /// Offers all data of a stream.
    pub fn offer(&mut self, stream: StreamId, links: &[LinkId]) {
        for link in links {
            let offered = self.manager.handle_offered(NOW, stream, *link, u64::MAX);
            offered.expect("the stream uses the link");
        }
        self.poll();
    }

    pub fn poll(&mut self) {
        while let Some(order) = self.manager.poll_order() {
            self.orders.push_back(order);
        }
        while let Some(event) = self.manager.poll_event() {
            self.events.push(event);
        }
    }

    /// Carries out the first reported order that is `wanted`. None if there is none.
    pub fn carry_out(&mut self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
        let reported = |work: &Work| {
            matches!(
                work,
                Work::Fetch { .. }
                    | Work::Store { .. }
                    | Work::Send { .. }
                    | Work::Load { .. }
                    | Work::Deliver { .. }
            )
        };
        let mut orders = self.orders.iter();
        let place = orders.position(|order| reported(&order.work) && wanted(&order.work))?;
        let Order { id, work } = self.orders.remove(place)?;
        self.completed(id);
        Some(work)
    }

    pub fn completed(&mut self, order: OrderId) {
        self.manager.handle_completed(NOW, order, 0);
        self.poll();
    }

    /// Carries out all orders in order, and returns their work.
    pub fn run(&mut self) -> Vec<Work> {
        let mut done = Vec::new();
        while let Some(work) = self.carry_out(|_| true) {
            done.push(work);
        }
        done
    }
}

/// Formats the starts and moves of ADUs, a word each: stream, ADU, `>` or `.`.
pub fn words(events: &[Event]) -> String {
    let letter = |stream: &StreamId| char::from(b'A' + stream.0 as u8);
    let words = events.iter().filter_map(|event| match event {
        Event::AduStarted { stream, adu } => Some(format!("{}{adu}>", letter(stream))),
        Event::AduMoved { stream, adu, .. } => Some(format!("{}{adu}.", letter(stream))),
        Event::SwappedOut(stream) => Some(format!("{}-", letter(stream))),
        Event::Activated(stream) => Some(format!("{}+", letter(stream))),
        _ => None,
    });
    words.collect::<Vec<_>>().join(" ")
}
