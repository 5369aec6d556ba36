//! Among which bytes elements lie, against going through all of them.

use crate::families::starts;
use crate::oracle::{Spec, shapes, specs};
use isthmus_redistribute::{End, Plan, Section, spans};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone, Debug)]
struct Case {
    shape: Vec<u64>,
    from: Spec,
    to: Spec,
    element: u64,
    /// In the memory at which end.
    end: End,
    /// Whether the first index counts fastest in it.
    columns: bool,
    gap: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let gap = prop_oneof![Just(0), 1..8_u64, 8..400_u64];
    let memory = (
        1..20_u64,
        prop_oneof![Just(End::From), Just(End::To)],
        any::<bool>(),
        gap,
    );
    let layouts = shapes().prop_flat_map(|shape| (specs(&shape), specs(&shape), Just(shape)));
    (layouts, memory).prop_map(|((from, to, shape), (element, end, columns, gap))| Case {
        shape,
        from,
        to,
        element,
        end,
        columns,
        gap,
    })
}

/// Bytes from one element to the next along each dimension.
fn strides(extents: &[u64], element: u64, columns: bool) -> Vec<u64> {
    let mut strides = vec![0; extents.len()];
    let mut dims: Vec<usize> = (0..extents.len()).collect();
    if !columns {
        dims.reverse();
    }
    let mut step = element;
    for dim in dims {
        strides[dim] = step;
        step *= extents[dim];
    }
    strides
}

/// Where each element begins.
fn begins(section: &Section, end: End, strides: &[u64]) -> Vec<u64> {
    let mut begins = vec![0];
    for (families, stride) in section.dims.iter().zip(strides) {
        let places: Vec<u64> = families
            .iter()
            .flat_map(|family| {
                starts(family).flat_map(move |at| {
                    let first = match end {
                        End::From => at.from,
                        End::To => at.to,
                    };
                    first..first + family.len
                })
            })
            .collect();
        begins = begins
            .iter()
            .flat_map(|begin| places.iter().map(move |place| begin + place * stride))
            .collect();
    }
    begins
}

fn one_by_one(sections: &[Section], case: &Case, strides: &[u64]) -> Vec<Range<u64>> {
    let mut begins: Vec<u64> = sections
        .iter()
        .flat_map(|section| begins(section, case.end, strides))
        .collect();
    begins.sort_unstable();
    let mut found: Vec<Range<u64>> = Vec::new();
    for begin in begins {
        match found.last_mut() {
            Some(last) if begin <= last.end + case.gap => last.end = begin + case.element,
            _ => found.push(begin..begin + case.element),
        }
    }
    found
}

#[test]
fn every_element_is_in_a_span_and_gaps_are_wide() {
    let (several, single) = (Cell::new(0), Cell::new(0));
    let config = Config {
        cases: 1500,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&cases(), |case| {
            let layout = |spec: &Spec| Arc::new(spec.layout(&case.shape));
            let plan = Plan::new(layout(&case.from), layout(&case.to)).unwrap();
            let at_end = match case.end {
                End::From => plan.from(),
                End::To => plan.to(),
            };
            for from in 0..plan.from().rank_count() as u32 {
                for to in 0..plan.to().rank_count() as u32 {
                    let own = match case.end {
                        End::From => from,
                        End::To => to,
                    };
                    let parts = at_end.parts(own);
                    let mut sections = plan.sections(from, to);
                    // Of several parts each is a memory of its own.
                    let part = |section: &Section| match case.end {
                        End::From => section.from_part,
                        End::To => section.to_part,
                    };
                    sections.retain(|section| part(section) == 0);
                    if sections.is_empty() {
                        continue;
                    }
                    let extents: Vec<u64> = parts[0].iter().map(|comb| comb.size()).collect();
                    let strides = strides(&extents, case.element, case.columns);
                    let found = spans(&sections, case.end, case.element, &strides, case.gap);
                    let naive = one_by_one(&sections, &case, &strides);
                    prop_assert_eq!(&found, &naive, "from {} to {}", from, to);
                    let count = if naive.len() > 1 { &several } else { &single };
                    count.set(count.get() + 1);
                }
            }
            Ok(())
        })
        .unwrap();
    println!("{} in one span, {} in several", single.get(), several.get());
    assert!(single.get() > 2000 && several.get() > 2000);
}
