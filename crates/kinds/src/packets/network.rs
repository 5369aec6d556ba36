//! Reads the parameters of links, switches and interfaces from `[machine]` of a scenario file and checks them.

use super::no_effect::REQUEST;
use super::table::{AgeTable, LateTable, Memory, NetworkTable, NicTable, SwitchingTable};
use isthmus_machine::packets::spec::{
    Adaptive, Age, AgeFrom, LatePackets, NetworkSpec, Nic, Readings, Switching,
};
use isthmus_scenario::format::{Problem, Settings, rounded};
use isthmus_units::{Bandwidth, Bytes, Time};

/// Longest time of a packet on a link: engines store this time in picoseconds in 32 bits.
const PACKET_MAX: Time = Time::from_us(4_000);

/// Read and check the parameters of the network. `adaptive` is the rule by which packets choose among links.
pub fn network(
    settings: &Settings,
    table: NetworkTable,
    adaptive: Adaptive,
) -> Result<NetworkSpec, Problem> {
    let limit = table.age_limit;
    let (age, age_from) = match table.age {
        AgeTable::Saturating(since) => {
            let limit = limit.expect("ages that saturate have a limit, given or by default");
            (Age::Saturating { limit }, since.age_from)
        }
        AgeTable::Unlimited(since) => (Age::Unlimited, since.age_from),
        AgeTable::PerSwitch => (Age::PerSwitch, AgeFrom::default()),
    };
    let spec = NetworkSpec {
        bandwidth: table.bandwidth,
        switch_latency: table.switch_latency,
        virtual_channels: table.virtual_channels,
        switching: switching(
            settings,
            table.switching,
            table.switch_latency,
            table.virtual_channels,
        )?,
        age,
        readings: Readings {
            age_from,
            age_tie: table.age_tie,
            adaptive,
        },
        nic: nic(settings, &table.nic, table.memory)?,
        late: match table.late {
            LateTable::Free => None,
            LateTable::Charged {
                late_after: after,
                late_cost: cost,
            } => Some(LatePackets { after, cost }),
        },
    };
    check_links(settings, &spec)?;
    Ok(spec)
}

/// Return the fields whose values follow from other fields: times, and lengths that the payload limits.
pub fn derived(network: &NetworkSpec) -> Vec<(&'static str, String)> {
    let hop = match network.switching {
        Switching::Circuit {
            acknowledgement_hop,
            ..
        } => ("machine.acknowledgement_hop", acknowledgement_hop),
        Switching::CutThrough { credit, .. } => ("machine.credit", credit),
    };
    let nic = &network.nic;
    let times = [
        hop,
        ("machine.nic.dma_period", nic.dma_period),
        ("machine.nic.receive_delay", nic.receive_delay),
    ];
    let times = times.map(|(key, time)| (key, time.to_string()));
    // The fields of these two lengths are cut to the payload by default: list those that equal the payload.
    let lengths = [("machine.nic.padding", nic.padding), (REQUEST, nic.request)];
    let cut = lengths
        .into_iter()
        .filter(|(_, length)| *length == nic.payload);
    let cut = cut.map(|(key, length)| (key, length.to_string()));
    times.into_iter().chain(cut).collect()
}

/// Return the switching technique, or a problem if buffers are smaller than the number of virtual channels.
fn switching(
    settings: &Settings,
    table: SwitchingTable,
    latency: Time,
    channels: u32,
) -> Result<Switching, Problem> {
    match table {
        SwitchingTable::Circuit {
            acknowledgement,
            acknowledgement_hop,
        } => Ok(Switching::Circuit {
            acknowledgement,
            acknowledgement_hop: acknowledgement_hop.unwrap_or(latency),
        }),
        SwitchingTable::CutThrough { buffer, .. } if channels > buffer => {
            let places = if buffer == 1 { "packet" } else { "packets" };
            Err(settings.problem(
                "machine.buffer",
                format!("{channels} virtual channels, but buffers of {buffer} {places}"),
                format!("give {channels} or more, one for each, or fewer virtual channels"),
            ))
        }
        SwitchingTable::CutThrough {
            buffer,
            output_buffer,
            speedup,
            credit,
        } => Ok(Switching::CutThrough {
            buffer,
            credit: credit.unwrap_or(latency),
            output_buffer,
            speedup,
        }),
    }
}

/// Check that a request fits into a packet, if the file sets the length of requests.
pub(super) fn check_request(settings: &Settings, payload: Bytes) -> Result<(), Problem> {
    let request: Bytes = settings.held(REQUEST);
    if request <= payload || settings.given(REQUEST).is_none() {
        return Ok(());
    }
    let problem = format!("{request} is more than a packet can hold, {payload}");
    Err(settings.problem(REQUEST, problem, format!("give at most {payload}")))
}

/// Return the properties of the network interface. By default padding and requests are no longer than a packet.
fn nic(settings: &Settings, table: &NicTable, memory: Memory) -> Result<Nic, Problem> {
    // With these times of the DMA engine, the simulation gives the peak bandwidths of uni- and bidirectional pings in
    // section 4 of the QsNET paper.
    let (period, delay) = match memory {
        Memory::Elan => (Time::from_ps(955_200), Time::from_ns(188)),
        Memory::Main => (Time::from_ns(1_600), Time::from_ns(2_400)),
    };
    let padding = "machine.nic.padding";
    let nic = Nic {
        payload: table.payload,
        overhead: table.overhead,
        padding: match settings.given(padding) {
            Some(_) => table.padding,
            None => table.padding.min(table.payload),
        },
        request: table.request.min(table.payload),
        packets_in_flight: table.packets_in_flight,
        dma_period: table.dma_period.unwrap_or(period),
        dma_block: table.dma_block,
        receive_delay: table.receive_delay.unwrap_or(delay),
        software_latency: table.software_latency,
        read_turnaround: table.read_turnaround,
        dma_slice: table.dma_slice,
    };
    if nic.padding > nic.payload {
        return Err(settings.problem(
            padding,
            format!(
                "{} is more than a packet can hold, {}: most of each packet would be padding",
                nic.padding, nic.payload
            ),
            format!("give at most {}", nic.payload),
        ));
    }
    Ok(nic)
}

/// Check that a byte takes a whole number of picoseconds on a link, and that a packet takes no longer than engines
/// can count.
fn check_links(settings: &Settings, spec: &NetworkSpec) -> Result<(), Problem> {
    let key = "machine.bandwidth";
    let bits_per_s = spec.bandwidth.bits_per_s();
    let ps = 8e12 / bits_per_s as f64;
    if 8_000_000_000_000 % bits_per_s != 0 {
        return Err(settings.problem(
            key,
            format!(
                "a byte takes {} ps, which is not a whole number of picoseconds",
                rounded(ps, 6)
            ),
            format!(
                "give one with whole picoseconds for each byte, {}",
                near(ps)
            ),
        ));
    }
    let nic = &spec.nic;
    let padded = nic.payload.get().next_multiple_of(nic.padding.get());
    let longest = (padded + nic.overhead.get()) as f64 * ps;
    if longest <= PACKET_MAX.ps() as f64 {
        return Ok(());
    }
    Err(settings.problem(
        key,
        format!(
            "a full packet takes {} us on a link",
            rounded(longest / 1e6, 6)
        ),
        format!("give faster links or shorter packets, {PACKET_MAX} at most"),
    ))
}

/// Return words for the bandwidths nearest to a time of `ps` picoseconds per byte at which a byte takes a whole number
/// of picoseconds.
fn near(ps: f64) -> String {
    let bandwidth = |ps: f64| Bandwidth::from_bits_per_s((8e12 / ps) as u64);
    let exact = |ps: &f64| 8_000_000_000_000 % (*ps as u64) == 0;
    let slower = (0..10_000)
        .map(|more| ps.ceil() + f64::from(more))
        .find(exact);
    match slower {
        Some(slower) => format!("for example {}", bandwidth(slower)),
        None => "for example 400 MB/s".to_owned(),
    }
}
