//! A matrix of doubles, two-dimensional block-cyclic over a square of ranks, into panels of columns; all ranks in one
//! memory.

use crate::clock::{Spread, timed};
use isthmus_redistribute::transfer::{Array, ArrayMut, Order, redistribute, strides};
use isthmus_redistribute::{Dim, Grid, Layout, Plan};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

values! {
    /// What to move.
    #[derive(Debug, Clone, Copy)]
    Case {
        /// The whole matrix, in units of 2^20 bytes.
        megabytes: u64 = 512,
        /// Rows and columns of a block.
        block: u64 = 16,
        /// Ranks: a square number.
        ranks: u32 = 4,
        /// Threads.
        threads: usize = 2,
        /// Bytes of an element.
        element: u64 = 8,
        /// Measurements, of which a first one is left out.
        runs: usize = 7,
    }
}

/// What it took.
#[derive(Debug, Serialize)]
pub struct Report {
    bytes: u64,
    /// Bytes moved in a second.
    rate: Spread,
    /// The same by as many threads that each copy their share from one end to the other.
    memcpy_rate: Spread,
    /// Each run against the plain copy beside it.
    ratio: Spread,
    cpu_s_per_gb: Spread,
}

/// Moves it again and again, between plain copies.
pub fn run(case: Case) -> Report {
    let side = ((case.megabytes << 20) / case.element).isqrt();
    let shape = [side, side];
    let across = case.ranks.isqrt();
    let blocks = Grid::new(
        &[across, across],
        &[Dim::cyclic(0, case.block), Dim::cyclic(1, case.block)],
    );
    let panels = Grid::new(&[case.ranks], &[Dim::WHOLE, Dim::block(0)]);
    let layout = |grid| Arc::new(Layout::grid(&shape, grid).expect("a layout"));
    let plan = Plan::new(layout(blocks), layout(panels)).expect("a plan");
    let bytes = |layout: &Layout, rank: u32| {
        vec![rank as u8 + 1; (layout.element_count(rank) * case.element) as usize]
    };
    let from: Vec<Vec<u8>> = (0..case.ranks)
        .map(|rank| bytes(plan.from(), rank))
        .collect();
    let mut to: Vec<Vec<u8>> = (0..case.ranks).map(|rank| bytes(plan.to(), rank)).collect();
    let strides_of = |layout: &Layout, rank: u32| {
        let extents: Vec<u64> = layout.parts(rank)[0]
            .iter()
            .map(|comb| comb.size())
            .collect();
        strides(&extents, case.element, Order::F)
    };
    let moved = side * side * case.element;
    let (mut rates, mut copies, mut ratios, mut costs) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for number in 0..=case.runs {
        let begin = Instant::now();
        let ((), cpu_s) = timed(|| {
            let ranks = 0..case.ranks;
            let sources: Vec<Vec<Array<'_>>> = ranks
                .zip(&from)
                .map(|(rank, bytes)| {
                    let strides = strides_of(plan.from(), rank);
                    vec![Array { bytes, strides }]
                })
                .collect();
            let mut targets: Vec<Vec<ArrayMut<'_>>> = (0..case.ranks)
                .zip(&mut to)
                .map(|(rank, bytes)| {
                    let strides = strides_of(plan.to(), rank);
                    vec![ArrayMut { bytes, strides }]
                })
                .collect();
            redistribute(&plan, case.element, &sources, &mut targets, case.threads)
                .expect("arrays that fit");
        });
        let took = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        copy(&from, &mut to, case.threads);
        let plain = begin.elapsed().as_secs_f64();
        if number > 0 {
            rates.push(moved as f64 / took);
            copies.push(moved as f64 / plain);
            ratios.push(plain / took);
            costs.push(cpu_s / (moved as f64 / 1e9));
        }
    }
    Report {
        bytes: moved,
        rate: Spread::of(rates),
        memcpy_rate: Spread::of(copies),
        ratio: Spread::of(ratios),
        cpu_s_per_gb: Spread::of(costs),
    }
}

/// Each thread copies whole arrays.
fn copy(from: &[Vec<u8>], to: &mut [Vec<u8>], threads: usize) {
    let share = from.len().div_ceil(threads);
    std::thread::scope(|scope| {
        for (from, to) in from.chunks(share).zip(to.chunks_mut(share)) {
            scope.spawn(move || {
                for (from, to) in from.iter().zip(to) {
                    let len = from.len().min(to.len());
                    to[..len].copy_from_slice(&from[..len]);
                }
            });
        }
    });
}

values! {
    /// A square of elements, on a square of ranks in blocks, to panels.
    #[derive(Debug, Clone, Copy)]
    Huge {
        /// Rows and columns.
        extent: u64 = 1_000_000,
        /// Ranks: a square number.
        ranks: u32 = 10_000,
        /// Rows and columns of a block.
        block: u64 = 2,
        /// Measurements.
        runs: u32 = 20,
    }
}

/// What one rank's plan took.
#[derive(Debug, Serialize)]
pub struct Planned {
    /// Ranks that it sends to.
    messages: usize,
    /// CPU seconds, both layouts included.
    plan_s: Spread,
    /// Bytes of the list of messages.
    bytes: usize,
}

/// Plans for one rank after another.
pub fn plan(case: Huge) -> Planned {
    let shape = [case.extent, case.extent];
    let across = case.ranks.isqrt();
    let mut messages = Vec::new();
    let times = (0..case.runs).map(|run| {
        let (found, plan_s) = timed(|| {
            let blocks = [Dim::cyclic(0, case.block), Dim::cyclic(1, case.block)];
            let panels = [Dim::WHOLE, Dim::block(0)];
            let layout = |grid| Arc::new(Layout::grid(&shape, grid).expect("a layout"));
            let from = layout(Grid::new(&[across, across], &blocks));
            let to = layout(Grid::new(&[case.ranks], &panels));
            Plan::new(from, to)
                .expect("a plan")
                .sends(run * 31 % case.ranks)
        });
        messages = found;
        plan_s
    });
    let plan_s = Spread::of(times.collect());
    Planned {
        messages: messages.len(),
        plan_s,
        bytes: size_of_val(messages.as_slice()),
    }
}
