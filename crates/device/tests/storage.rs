//! Devices beside naive references, which look at every cycle, unit and change of pace, and beside what
//! queueing theory says of them.

use isthmus_device::{Access, BurstTimes, Disk, Model, Request, Storage, Striping};
use isthmus_kernel::{Chance, Cycles, Gap, Stream, Streams, draw_below};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::VecDeque;

fn streams(seed: u64) -> impl FnMut(u64) -> Stream {
    move |number| Streams::new(seed, 0).stream("device", number)
}

/// When a disk has done accesses of these lengths that are asked for at these times: it looks at every
/// cycle.
fn disk_by_cycle(asked: &[(Cycles, Cycles)]) -> Vec<Cycles> {
    let mut done = vec![0; asked.len()];
    let mut waiting: VecDeque<usize> = VecDeque::new();
    let (mut next, mut now) = (0, 0);
    let mut doing: Option<(usize, Cycles)> = None;
    while next < asked.len() || !waiting.is_empty() || doing.is_some() {
        loop {
            if let Some((which, 0)) = doing {
                done[which] = now;
                doing = None;
            }
            while next < asked.len() && asked[next].0 == now {
                waiting.push_back(next);
                next += 1;
            }
            if doing.is_some() {
                break;
            }
            let Some(which) = waiting.pop_front() else {
                break;
            };
            doing = Some((which, asked[which].1));
        }
        if let Some((_, left)) = &mut doing {
            *left -= 1;
        }
        now += 1;
    }
    done
}

/// Units one by one: of which disk, counted from the first, and how long.
fn units(striping: &Striping, request: &Request) -> Vec<(u32, u64)> {
    let writes = request.access == Access::Write;
    let parity = if writes { striping.parity } else { 0 };
    let mut left = request.bytes;
    let mut units = Vec::new();
    loop {
        let mut longest = 0;
        for _ in parity..striping.disks {
            let unit = left.min(striping.unit);
            // The first unit is there though it be empty.
            if unit == 0 && !units.is_empty() {
                break;
            }
            units.push(unit);
            longest = longest.max(unit);
            left -= unit;
        }
        units.extend((0..parity).map(|_| longest));
        if left == 0 {
            break;
        }
    }
    (0..striping.disks).cycle().zip(units).collect()
}

fn array_by_unit(
    striping: &Striping,
    disk: &Disk,
    seed: u64,
    requests: &[Request],
) -> (Vec<Cycles>, u64) {
    let mut stream = streams(seed);
    let mut first = stream(0);
    let mut of_disks: Vec<Stream> = (1..=u64::from(striping.disks)).map(&mut stream).collect();
    // By disk when, for how long and for which request.
    let mut asked: Vec<Vec<(Cycles, Cycles, usize)>> = vec![Vec::new(); of_disks.len()];
    for (number, request) in requests.iter().enumerate() {
        let first = draw_below(u64::from(striping.disks), &mut first) as u32;
        let units = units(striping, request);
        for at in 0..striping.disks {
            let own = units.iter().filter(|(of, _)| *of == at);
            if own.clone().count() == 0 {
                continue;
            }
            let bytes = own.map(|(_, bytes)| bytes).sum();
            let which = ((first + at) % striping.disks) as usize;
            let access = disk.access(bytes, &mut of_disks[which]);
            asked[which].push((request.time, access, number));
        }
    }
    let mut done: Vec<Cycles> = requests.iter().map(|request| request.time).collect();
    let mut busy = 0;
    for asked in asked {
        let plain: Vec<(Cycles, Cycles)> = asked.iter().map(|&(at, long, _)| (at, long)).collect();
        busy += plain.iter().map(|(_, long)| long).sum::<Cycles>();
        for (at, (.., number)) in disk_by_cycle(&plain).into_iter().zip(asked) {
            done[number] = done[number].max(at);
        }
    }
    (done, busy)
}

/// A burst buffer from change to change: arrivals, ends of writes, full, empty, an old message gone.
/// How often it was full, and how many reads found their data there.
fn buffer_by_change(times: &BurstTimes, requests: &[Request]) -> (Vec<f64>, u32, u32) {
    let rate = |per_byte: f64| 1.0 / per_byte;
    let (fast, slow) = (rate(times.absorb), rate(times.drain));
    let capacity = times.capacity as f64;
    let mut done = vec![0.0; requests.len()];
    let mut now = 0.0;
    // Writes that wait or are being taken in, with what is left of them.
    let mut writes: VecDeque<(usize, f64)> = VecDeque::new();
    // What was taken in and has not drained, oldest first, and all of the messages that it is of.
    let mut inside: VecDeque<(usize, f64)> = VecDeque::new();
    let mut to_drain: VecDeque<usize> = VecDeque::new();
    let (mut given, mut fetched) = (0.0_f64, 0.0_f64);
    let (mut next, mut fulls, mut hits) = (0, 0, 0);
    loop {
        while next < requests.len() && requests[next].time as f64 <= now + 1e-9 {
            let request = &requests[next];
            let bytes = request.bytes as f64;
            let at = request.time as f64;
            match request.access {
                Access::Write => {
                    writes.push_back((next, bytes));
                    to_drain.push_back(next);
                }
                Access::Read => {
                    let of_stream = to_drain
                        .iter()
                        .filter(|&&held| requests[held].stream == request.stream);
                    let held: u64 = of_stream.map(|&held| requests[held].bytes).sum();
                    let (from, per_byte) = if held >= request.bytes {
                        hits += 1;
                        (&mut given, times.absorb)
                    } else {
                        (&mut fetched, times.drain)
                    };
                    *from = from.max(at) + bytes * per_byte;
                    done[next] = *from;
                }
            }
            next += 1;
        }
        let content: f64 = inside.iter().map(|(_, bytes)| bytes).sum();
        let full = content >= capacity - 1e-6;
        let inflow = match writes.front() {
            None => 0.0,
            Some(_) if full => slow,
            Some(_) => fast,
        };
        let outflow = if content > 1e-9 || inflow > 0.0 {
            slow
        } else {
            0.0
        };
        let mut step = f64::INFINITY;
        if next < requests.len() {
            step = step.min(requests[next].time as f64 - now);
        }
        if let Some(&(_, left)) = writes.front() {
            step = step.min(left / inflow);
        }
        if inflow > outflow && !full {
            step = step.min((capacity - content) / (inflow - outflow));
        }
        // One that is still being taken in never drains faster than it comes.
        if let Some(&(which, left)) = inside.front()
            && outflow > 0.0
            && writes.iter().all(|&(waits, _)| waits != which)
        {
            step = step.min(left / outflow);
        }
        if step == f64::INFINITY {
            return (done, fulls, hits);
        }
        let step = step.max(0.0);
        now += step;
        if let Some((which, left)) = writes.front_mut() {
            let taken = (inflow * step).min(*left);
            *left -= taken;
            match inside.back_mut() {
                Some((of, bytes)) if of == which => *bytes += taken,
                _ => inside.push_back((*which, taken)),
            }
            if *left <= 1e-7 {
                done[*which] = now;
                fulls += u32::from(full);
                writes.pop_front();
            }
        }
        let mut drains = outflow * step;
        while let Some((which, bytes)) = inside.front_mut() {
            let part = drains.min(*bytes);
            *bytes -= part;
            drains -= part;
            let complete = writes.iter().all(|(waits, _)| waits != which);
            if *bytes > 1e-6 || !complete {
                break;
            }
            assert_eq!(to_drain.pop_front(), Some(*which));
            inside.pop_front();
        }
    }
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let gap = prop_oneof![Just(0u64), 1u64..40, 40u64..600];
    let request = (gap, 0u64..200, any::<bool>(), 0u32..3);
    prop::collection::vec(request, 1..40).prop_map(|drawn| {
        let mut time = 0;
        let requests = drawn.into_iter().map(|(gap, bytes, write, stream)| {
            time += gap;
            let access = if write { Access::Write } else { Access::Read };
            Request {
                time,
                bytes,
                access,
                stream,
            }
        });
        requests.collect()
    })
}

fn disks() -> impl Strategy<Value = Disk> {
    (0u32..3, 0u32..3, 0u32..4).prop_map(|(seek, rotation, per_byte)| Disk {
        seek: f64::from(seek) * 11.0,
        rotation: f64::from(rotation) * 17.0,
        per_byte: f64::from(per_byte) * 0.6,
    })
}

fn served(model: &Model, seed: u64, requests: &[Request]) -> (Vec<Cycles>, Storage) {
    let mut storage = Storage::new(model, streams(seed));
    let served = requests.iter().map(|request| storage.serve(request));
    (served.collect(), storage)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_disk_is_what_a_look_at_every_cycle_says(
        disk in disks(), requests in requests(), seed in any::<u64>(),
    ) {
        let mut stream = streams(seed)(0);
        let asked: Vec<(Cycles, Cycles)> = requests
            .iter()
            .map(|request| (request.time, disk.access(request.bytes, &mut stream)))
            .collect();
        let (fast, storage) = served(&Model::Disk(disk), seed, &requests);
        prop_assert_eq!(fast, disk_by_cycle(&asked));
        let busy = asked.iter().map(|(_, long)| long).sum::<Cycles>();
        prop_assert_eq!(storage.busy()[0].total_cycles(), busy);
    }

    #[test]
    fn a_cache_lets_misses_through_to_its_disk(
        disk in disks(), requests in requests(), hit in 0.0..=1.0, access in 0u64..50, seed in any::<u64>(),
    ) {
        let mut stream = streams(seed)(0);
        let mut missed = Vec::new();
        let mut slow = Vec::new();
        for request in &requests {
            let in_memory = request.time + access;
            if Chance::new(hit).draw(&mut stream) {
                slow.push(Ok(in_memory));
            } else {
                missed.push((in_memory, disk.access(request.bytes, &mut stream)));
                slow.push(Err(missed.len() - 1));
            }
        }
        let by_disk = disk_by_cycle(&missed);
        let slow: Vec<Cycles> = slow.into_iter().map(|done| done.unwrap_or_else(|at| by_disk[at])).collect();
        prop_assert_eq!(served(&Model::Cache { access, hit, disk, queued: true }, seed, &requests).0, slow);
    }
}

/// What an array has met in all cases together.
#[derive(Default)]
struct Met {
    short_parity: Cell<u32>,
    several_rounds: Cell<u32>,
    full: Cell<u32>,
    hits: Cell<u32>,
    misses: Cell<u32>,
}

fn add(to: &Cell<u32>, more: u32) {
    to.set(to.get() + more);
}

#[test]
fn an_array_deals_out_units_as_one_by_one() {
    let met = Met::default();
    let case = (
        disks(),
        requests(),
        1u32..7,
        1u64..70,
        0u32..6,
        any::<u64>(),
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(600));
    let ran = runner.run(&case, |(disk, requests, disks, unit, parity, seed)| {
        let striping = Striping {
            disks,
            unit,
            parity: parity.min(disks - 1),
        };
        let (fast, storage) = served(&Model::Array { striping, disk }, seed, &requests);
        let (slow, busy) = array_by_unit(&striping, &disk, seed, &requests);
        prop_assert_eq!(fast, slow);
        let stations = storage.busy();
        let all: Cycles = stations.iter().map(|busy| busy.total_cycles()).sum();
        prop_assert_eq!((stations.len(), all), (disks as usize, busy));
        for request in &requests {
            let units = units(&striping, request);
            let last = units.last().map_or(0, |(_, bytes)| *bytes);
            let writes = request.access == Access::Write && striping.parity > 0;
            add(&met.short_parity, u32::from(writes && last < unit));
            add(&met.several_rounds, u32::from(units.len() > disks as usize));
        }
        Ok(())
    });
    ran.unwrap();
    assert!(met.short_parity.get() > 500 && met.several_rounds.get() > 500);
}

#[test]
fn a_burst_buffer_is_what_its_changes_say() {
    let met = Met::default();
    let case = (requests(), 1u64..900, 1u32..9, 0u32..30);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(800));
    let ran = runner.run(&case, |(requests, capacity, absorb, slower)| {
        let absorb = f64::from(absorb) * 0.25;
        let times = BurstTimes {
            capacity,
            absorb,
            drain: absorb * (1.0 + f64::from(slower) * 0.37),
        };
        let (fast, _) = served(&Model::BurstBuffer(times), 0, &requests);
        let (slow, full, hits) = buffer_by_change(&times, &requests);
        for (number, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
            prop_assert!(
                (*fast as f64 - slow).abs() < 0.51,
                "{}: {} and {}",
                number,
                fast,
                slow
            );
        }
        let reads = requests
            .iter()
            .filter(|request| request.access == Access::Read)
            .count() as u32;
        add(&met.full, full);
        add(&met.hits, hits);
        add(&met.misses, reads - hits);
        Ok(())
    });
    ran.unwrap();
    assert!(met.full.get() > 1_000 && met.hits.get() > 1_000 && met.misses.get() > 1_000);
}

/// Poisson arrivals of writes, so many, with bytes of these lengths: how long each waited for the disk.
fn mean_wait(model: &Model, gap: f64, mut bytes: impl FnMut() -> u64, count: u32) -> f64 {
    let mut arrivals = Streams::new(9, 0).stream("arrivals", 0);
    let mut storage = Storage::new(model, streams(4));
    let mut gaps = Gap::default();
    let (mut time, mut response, mut before) = (0, 0.0, 0);
    for _ in 0..count {
        time += gaps.exponential(gap, &mut arrivals);
        let bytes = bytes();
        let request = Request {
            time,
            bytes,
            access: Access::Write,
            stream: 0,
        };
        response += (storage.serve(&request) - time) as f64;
    }
    for busy in storage.busy() {
        before += busy.total_cycles();
    }
    (response - before as f64) / f64::from(count)
}

/// M/D/1: waiting of rho s / 2 (1 - rho). M/M/1: rho s / (1 - rho). M/G/1 with a seek uniform to twice
/// its mean and a latency uniform to a rotation: rho s (1 + c^2) / 2 (1 - rho), where c^2 s^2 is the
/// variance of both, (2 seek)^2 / 12 + rotation^2 / 12 (Pollaczek and Khinchine).
#[test]
fn a_disk_under_poisson_requests_waits_as_queueing_theory_says() {
    let plain = Disk {
        seek: 0.0,
        rotation: 0.0,
        per_byte: 100.0,
    };
    let (service, load) = (10_000.0, 0.7);
    let gap = service / load;
    let fixed = mean_wait(&Model::Disk(plain), gap, || 100, 400_000);
    let expected = load * service / (2.0 * (1.0 - load));
    assert!(
        (fixed / expected - 1.0).abs() < 0.02,
        "{fixed} for {expected}"
    );

    // A carry keeps the mean of whole bytes that of the exponential.
    let (mut sizes, mut size) = (Streams::new(3, 0).stream("sizes", 0), Gap::default());
    let exponential = || size.exponential(100.0, &mut sizes);
    let wait = mean_wait(&Model::Disk(plain), gap, exponential, 400_000);
    let expected = load * service / (1.0 - load);
    assert!(
        (wait / expected - 1.0).abs() < 0.03,
        "{wait} for {expected}"
    );

    let disk = Disk {
        seek: 3_000.0,
        rotation: 4_000.0,
        per_byte: 50.0,
    };
    let variance = (6_000f64.powi(2) + 4_000f64.powi(2)) / 12.0;
    let expected = load * service * (1.0 + variance / service.powi(2)) / (2.0 * (1.0 - load));
    let wait = mean_wait(&Model::Disk(disk), gap, || 100, 400_000);
    assert!(
        (wait / expected - 1.0).abs() < 0.02,
        "{wait} for {expected}"
    );
}

/// Filled at the rate a = 4 and drained at d = 1 a buffer of C = 3,000 is full after C / (a - d) = 1,000
/// cycles and 4,000 bytes; what follows goes at d. After a pause of 600 cycles it has room for 600.
#[test]
fn a_burst_buffer_fills_and_then_drains() {
    let times = BurstTimes {
        capacity: 3_000,
        absorb: 0.25,
        drain: 1.0,
    };
    let mut storage = Storage::new(&Model::BurstBuffer(times), streams(0));
    let mut write = |time, bytes| {
        let access = Access::Write;
        storage.serve(&Request {
            time,
            bytes,
            access,
            stream: 0,
        })
    };
    assert_eq!(write(0, 2_000), 500);
    assert_eq!(write(0, 2_000), 1_000);
    assert_eq!(write(0, 1), 1_001);
    assert_eq!(write(0, 99), 1_100);
    // 600 bytes have drained: 800 come in within 200 cycles, 10 more at the drain's rate.
    assert_eq!(write(1_700, 810), 1_700 + 200 + 10);
    // In the end all of it drains at d, without a pause.
    assert_eq!(storage.busy()[1].total_cycles(), 2_000 + 2_000 + 100 + 810);
}

/// A device that never comes to an end of anything still answers with times that can be added to.
#[test]
fn what_takes_for_ever_is_done_late() {
    let disk = Disk {
        seek: 1e18,
        rotation: 1e300,
        per_byte: 1e15,
    };
    let burst = BurstTimes {
        capacity: 1,
        absorb: 1e15,
        drain: 1e18,
    };
    let striping = Striping {
        disks: 3,
        unit: u64::MAX,
        parity: 2,
    };
    for model in [
        Model::Disk(disk),
        Model::Array { striping, disk },
        Model::BurstBuffer(burst),
    ] {
        for access in [Access::Write, Access::Read] {
            let request = |time| Request {
                time,
                bytes: 1 << 45,
                access,
                stream: 0,
            };
            let requests: Vec<Request> = (0..50).map(request).collect();
            let (done, storage) = served(&model, 1, &requests);
            assert!(
                done.iter().all(|&done| done > 1 << 59 && done <= Gap::MAX),
                "{done:?}"
            );
            assert!(storage.busy().iter().all(|busy| busy.cycles_by(60) <= 60));
        }
    }
}

/// Four disks with units of 100 bytes: 700 bytes are two units each on three of them and one on the last;
/// with one unit of parity in each row of four they are 3 rows, of which the last has a single unit and
/// one like it: 10 units.
#[test]
fn parity_takes_units_of_its_own() {
    let disk = Disk {
        seek: 0.0,
        rotation: 0.0,
        per_byte: 1.0,
    };
    let done = |parity, bytes, access| {
        let striping = Striping {
            disks: 4,
            unit: 100,
            parity,
        };
        let request = Request {
            time: 0,
            bytes,
            access,
            stream: 0,
        };
        let (done, storage) = served(&Model::Array { striping, disk }, 1, &[request]);
        let all: Cycles = storage.busy().iter().map(|busy| busy.total_cycles()).sum();
        let work = Model::Array { striping, disk }.work(access, bytes);
        assert!((work.each[0] * 4.0 - all as f64).abs() < 1e-9);
        (done[0], all)
    };
    assert_eq!(done(0, 700, Access::Write), (200, 700));
    assert_eq!(done(1, 700, Access::Write), (300, 1_000));
    assert_eq!(done(1, 650, Access::Write), (250, 900));
    assert_eq!(done(1, 700, Access::Read), (200, 700));
    // A row that is written whole: four thirds of the data, as long as a unit.
    assert_eq!(done(1, 300, Access::Write), (100, 400));
}
