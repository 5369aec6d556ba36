//! Drives either engine with the same packets and writes down everything that comes out.

use isthmus_kernel::{Cycles, RunUntil};
use isthmus_sci::{
    Class, Counters, Delivery, Dropped, Fabric, Handler, Offers, Packet, RingEngine, Rules, Stall,
};
use isthmus_topology::rings::Segment;

/// A packet to be offered; a request may be answered.
#[derive(Debug, Clone)]
pub struct Demand {
    pub time: Cycles,
    pub node: u32,
    pub symbols: u32,
    pub route: Vec<Segment>,
    pub answer: Option<Answer>,
}

/// What comes back to a request.
#[derive(Debug, Clone)]
pub struct Answer {
    pub turnaround: Cycles,
    pub symbols: u32,
    pub route: Vec<Segment>,
}

/// Everything that one run shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    pub delivered: Vec<Delivery<(u32, Class)>>,
    pub dropped: Vec<Dropped<(u32, Class)>>,
    /// At the end of each part of the run.
    pub parts: Vec<Part>,
    /// Sums over the parts.
    pub counters: Counters,
}

/// What is seen at the end of a part.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub now: Cycles,
    pub under_way: u64,
    pub stall: Option<Stall>,
    pub wedged: Vec<u32>,
    /// Symbols of sends and of echoes that each link carried in this part.
    pub links: Vec<(u64, u64)>,
}

pub struct Recorder<'a> {
    demands: &'a [Demand],
    delivered: Vec<Delivery<(u32, Class)>>,
    dropped: Vec<Dropped<(u32, Class)>>,
    generated: u64,
}

impl Handler for Recorder<'_> {
    type Tag = (u32, Class);

    fn generated(&mut self, _: u32, _: Cycles, _: Self::Tag, _: &mut Offers<Self::Tag>) {
        self.generated += 1;
    }

    fn delivered(&mut self, delivery: &Delivery<Self::Tag>, offers: &mut Offers<Self::Tag>) {
        self.delivered.push(*delivery);
        let (number, class) = delivery.tag;
        if class == Class::Request
            && let Some(answer) = &self.demands[number as usize].answer
        {
            let packet = Packet {
                node: delivery.node,
                class: Class::Response,
                symbols: answer.symbols,
                route: &answer.route,
                tag: (number, Class::Response),
            };
            offers.offer(delivery.tail + answer.turnaround, packet);
        }
    }

    fn dropped(&mut self, dropped: &Dropped<Self::Tag>, _: &mut Offers<Self::Tag>) {
        self.dropped.push(*dropped);
    }
}

/// Runs `parts` times `length` cycles, asking after each part for stalls of `patience` cycles.
pub fn run<E>(
    fabric: &Fabric,
    rules: Rules,
    demands: &[Demand],
    parts: u64,
    length: Cycles,
    patience: Cycles,
) -> Log
where
    E: RingEngine<(u32, Class)> + for<'a> RunUntil<Recorder<'a>>,
{
    let mut engine = E::new(fabric, rules).unwrap();
    let mut recorder = Recorder {
        demands,
        delivered: Vec::new(),
        dropped: Vec::new(),
        generated: 0,
    };
    for (number, demand) in demands.iter().enumerate() {
        let packet = Packet {
            node: demand.node,
            class: Class::Request,
            symbols: demand.symbols,
            route: &demand.route,
            tag: (number as u32, Class::Request),
        };
        engine.offer(demand.time, packet);
    }
    let mut seen = Vec::new();
    let mut counters: Option<Counters> = None;
    for part in 1..=parts {
        engine.run_until(part * length, &mut recorder);
        assert_eq!(engine.now(), part * length);
        let gone = recorder.delivered.len() + recorder.dropped.len();
        assert_eq!(engine.under_way() + gone as u64, recorder.generated);
        let counted = engine.counters();
        engine.reset_counters();
        let links = counted.send_symbols.iter().zip(&counted.echo_symbols);
        let links: Vec<(u64, u64)> = links.map(|(&send, &echo)| (send, echo)).collect();
        assert!(
            links.iter().all(|(send, echo)| send + echo <= length),
            "a link carries more than a symbol in a cycle: {links:?} in {length}"
        );
        seen.push(Part {
            now: engine.now(),
            under_way: engine.under_way(),
            stall: engine.stalled(patience),
            wedged: engine.wedged(),
            links,
        });
        counters = Some(match counters {
            Some(before) => sum(before, &counted),
            None => counted,
        });
    }
    recorder.delivered.sort_by_key(|delivery| delivery.tag);
    recorder.dropped.sort_by_key(|dropped| dropped.tag);
    Log {
        delivered: recorder.delivered,
        dropped: recorder.dropped,
        parts: seen,
        counters: counters.expect("there is a part"),
    }
}

fn sum(mut one: Counters, other: &Counters) -> Counters {
    for (one, other) in [
        (&mut one.send_symbols, &other.send_symbols),
        (&mut one.echo_symbols, &other.echo_symbols),
        (&mut one.sends, &other.sends),
        (&mut one.retries, &other.retries),
        (&mut one.delivered, &other.delivered),
        (&mut one.dropped, &other.dropped),
    ] {
        one.iter_mut()
            .zip(other)
            .for_each(|(one, other)| *one += other);
    }
    one
}
