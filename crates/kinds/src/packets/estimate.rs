//! Analytic estimate of jobs on a network of switches. Messages of open loops are modelled as trains of packets; the
//! function [paces] models closed loops.

use super::credits::Credits;
use super::followed::JobRoutes;
use super::latencies::{Job, Latencies};
use super::sent::{DATA, KINDS, Links};
use super::switches::{Switches, delay_of};
use super::{Fabric, TopologyGroup, paces, rules};
use crate::jobs::capacity::{PredictableJob, foretold, left_out};
use crate::jobs::is_io;
use isthmus_analytic::Error;
use isthmus_analytic::trains::{Channels, Class, STEP, Train, reason_outside};
use isthmus_experiment::subject::Overlay;
use isthmus_machine::packets::routes::Routes as _;
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;

/// Maximum number of routes that the model follows.
const ROUTES_MAX: u64 = 1 << 19;

/// Return the estimates of the analytic model for the jobs of `traffic` on the nodes of `layout`.
pub(super) fn overlay(switches: &impl Switches, traffic: &JobsTraffic, layout: &Layout) -> Overlay {
    let Some(choices) = switches.choices() else {
        return Overlay::absent("routes depend on the queues");
    };
    let asks: Vec<PredictableJob<'_>> = foretold(traffic).collect();
    let each = u64::from(choices[0]) * u64::from(choices[1]);
    let pairs = |asks: &PredictableJob<'_>| layout.pairs(asks.number, asks.job).count() as u64;
    if asks.iter().map(pairs).sum::<u64>() * each > ROUTES_MAX {
        return Overlay::absent(format!("there are more than {ROUTES_MAX} routes"));
    }
    // The model of trains covers only Poisson arrivals at jobs whose nodes do not wait for messages. Estimate others as
    // closed loops.
    let is_known = asks.iter().all(|asks| asks.message.is_poisson);
    if !is_known || left_out(traffic).is_some() {
        return paces(switches, traffic, layout, TopologyGroup::Others);
    }
    solve(switches, layout, &asks, choices)
        .unwrap_or_else(|error| Overlay::absent(error.to_string()))
}

/// Return the estimates of the model of trains for these jobs. `choices` has the numbers of random choices on their
/// routes.
fn solve(
    switches: &impl Switches,
    layout: &Layout,
    asks: &[PredictableJob<'_>],
    choices: [u32; 2],
) -> Result<Overlay, Error> {
    let spec = switches.network().spec();
    let rules = rules(spec, switches.routes().classes()).checked()?;
    let full_ps = rules.packet_ns(rules.interface.payload) * 1e3;
    let credits = |delay| Credits::of(switches, full_ps, delay, false);
    // Use the delay of links only if all packets take one route: on random routes packets share only the link of their
    // node, which has no delay.
    let longest = match choices {
        [1, 1] => switches.longest_delay(),
        _ => Time::ZERO,
    };
    let links = Links {
        spec,
        rules,
        credits: credits(Time::ZERO)
            .zip(credits(longest))
            .map(<[Credits; 2]>::from),
    };
    let mut followed = JobRoutes::of(
        switches,
        |link| delay_of(switches, link),
        layout,
        asks,
        &links,
        choices,
    );
    let packets_apart = choices[0] > 1;
    let found = followed.solution(switches, &links, asks, packets_apart)?;
    followed.scale(1.0 + STEP);
    let more = followed.solution(switches, &links, asks, packets_apart)?;
    let mut overlay = Overlay::default();
    let mut io = None;
    for (number, asks) in asks.iter().enumerate() {
        let name = &asks.job.name;
        let (latencies, rate) = &found.jobs[number];
        let known = [
            ("response", latencies.response),
            ("network", latencies.network),
        ];
        for (quantity, value) in known.into_iter().filter(|(_, value)| value.is_finite()) {
            (overlay.measures).insert(format!("{name}.{quantity}"), value / 1e3);
        }
        // Convert bytes per nanosecond, which are GB/s, to MB/s.
        let total = rate * asks.message.bytes * 1e3;
        let nodes = layout.jobs[asks.number].len().max(1) as f64;
        let accepted = format!("{name}.accepted");
        overlay.measures.insert(accepted, total / nodes);
        if is_io(layout, asks.job) {
            *io.get_or_insert(0.0) += total;
        }
    }
    if let Some(io) = io.filter(|_| !layout.servers.is_empty()) {
        let each = io / layout.servers.len() as f64;
        overlay.measures.insert("servers.accepted".to_owned(), each);
    }
    let mut jobs = found.jobs.iter().zip(&more.jobs);
    let mixed = links.credits.as_ref().filter(|_| choices != [1, 1]);
    let mixed = mixed.map_or(0.0, |[near, _]| found.longest / near.places(full_ps));
    let reason = match followed.network.has_wide_links() {
        true => Some("several cables join the same switches".to_owned()),
        false => {
            jobs.find_map(|((at, _), (more, _))| reason_outside(at.response, more.response, mixed))
        }
    };
    if let Some(reason) = reason {
        overlay.bound(&reason, |_| true);
    }
    // Saturation is the offered load over the utilisation of the bottleneck, which is proportional to the load.
    if let [asks] = asks
        && let Some(offered) = asks.message.offered
    {
        overlay.saturation = Some(offered * 1e3 / found.busiest);
    }
    Ok(overlay)
}

/// Solution of the analytic model at one load.
struct Solution {
    /// Latencies of each job, and the job's message rate per ns.
    jobs: Vec<(Latencies, f64)>,
    /// Utilisation of the busiest node, link, buffer or client.
    busiest: f64,
    /// Mean number of packets of a message, for the kind with the longest messages.
    longest: f64,
}

impl JobRoutes {
    /// Solve the analytic model at the current message rates.
    fn solution(
        &mut self,
        switches: &impl Switches,
        links: &Links<'_>,
        asks: &[PredictableJob<'_>],
        packets_apart: bool,
    ) -> Result<Solution, Error> {
        let sent = self.predict_sent(links, asks);
        let classes = (sent.iter().enumerate()).map(|(class, sent)| {
            let train = Train::new(sent.paced(links))?;
            let by_turns = class % KINDS == DATA;
            Ok(Class {
                train: match packets_apart {
                    true => train.on_separate_routes(),
                    false => train,
                },
                by_turns,
                requested_one_by_one: by_turns
                    && asks[class / KINDS].job.outstanding.limit() == Some(1),
            })
        });
        let classes = classes.collect::<Result<Vec<Class>, Error>>()?;
        let channels = links.spec.virtual_channels / switches.routes().classes().max(1);
        let lanes = f64::from(channels);
        let channels = match links.rules.link.circuits.is_finite() {
            true => Channels::Circuits {
                channels: lanes,
                in_flight: links.rules.interface.in_flight.min(lanes),
            },
            false => Channels::Buffers(lanes),
        };
        let mut busiest = self.buffers(switches, |link| delay_of(switches, link), links, &classes);
        let queues = self.network.queues(&classes, channels);
        busiest = busiest.max(queues.busiest());
        let waits = queues.waits();
        let mut jobs = Vec::new();
        for (number, asks) in asks.iter().enumerate() {
            let kinds = KINDS * number..KINDS * (number + 1);
            let job = Job {
                asks,
                links,
                sent: &sent[kinds.clone()],
                waits: &waits[kinds],
            };
            let latencies = job.latencies()?;
            busiest = busiest.max(latencies.busiest_alone);
            jobs.push((latencies, job.rate()));
        }
        let packets = classes.iter().map(|class| class.train.packets);
        Ok(Solution {
            jobs,
            busiest,
            longest: packets.fold(0.0, f64::max),
        })
    }
}
