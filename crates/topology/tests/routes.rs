//! Random tables of routes, followed packet by packet by a walker that knows nothing of how they are kept.

use isthmus_topology::switches::{Form, Leaves, Nodes, RouteError, Routes, Shortest, listed};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What a table says: of a switch for a destination the next switch, the layer and the line.
type Table = BTreeMap<(u32, u32), (u32, u16, usize)>;

/// A network, the nodes at it, a table as text, and what it says.
#[derive(Debug)]
struct Case {
    form: Form,
    nodes: Vec<u32>,
    text: String,
    table: Table,
}

/// Connected, some of its switches with nodes; rings among them.
fn networks() -> impl Strategy<Value = (Form, Vec<u32>)> {
    let tree = |switches: u32| -> Vec<_> { (1..switches).map(|switch| 0..switch).collect() };
    let random = (2u32..12).prop_flat_map(move |switches| {
        let more = prop::collection::vec((0..switches, 0..switches), 0..12);
        (tree(switches), more).prop_map(|(parents, more)| {
            let tree = parents.into_iter().zip(1..);
            let more = more.into_iter().filter(|(a, b)| a != b);
            tree.chain(more).collect::<Vec<_>>()
        })
    });
    let ring =
        (3u32..12).prop_map(|switches| (0..switches).map(|at| (at, (at + 1) % switches)).collect());
    prop_oneof![3 => random, 1 => ring].prop_flat_map(|cables| {
        let form = Form::of_cables(cables);
        let nodes = prop::collection::vec(0..form.switch_count(), 1..24);
        (Just(form), nodes)
    })
}

/// Shortest ways, of which some are led astray and some left out: `errs` of 64 each.
fn cases() -> impl Strategy<Value = Case> {
    let noise = prop::collection::vec(any::<(u8, u8, u8)>(), 144);
    let errs = prop::sample::select(vec![0u8, 1, 4, 20]);
    (networks(), noise, errs, 1u16..4).prop_map(|((form, nodes), noise, errs, layers)| {
        let switches = form.switch_count();
        let ways = Shortest::new(&form, &form.wiring(1)).unwrap();
        let cables = form.cables();
        let mut text = String::from("# switch, destination, next, layer\n\n");
        let mut table = Table::new();
        let mut line = 2;
        let mut noise = noise.into_iter();
        for at in 0..switches {
            let both = cables.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
            let beside: Vec<u32> = both.filter(|&(a, _)| a == at).map(|(_, b)| b).collect();
            let mut star = None;
            for to in (0..switches).filter(|&to| to != at) {
                let (left_out, astray, random) = noise.next().unwrap();
                let next = match astray % 64 < errs {
                    true => beside[random as usize % beside.len()],
                    false => ways.next(at, to).unwrap(),
                };
                let layer = u16::from(random / 16) % layers;
                if left_out % 64 < errs / 4 {
                    continue;
                }
                line += 1;
                table.insert((at, to), (next, layer, line));
                text += &match random % 4 {
                    _ if left_out % 64 == 63 && star.is_none() => {
                        star = Some((next, layer, line));
                        format!("{at} * {next} {layer}\n")
                    }
                    0 => format!("{at} {to} {next} layer={layer} # {left_out}\n"),
                    1 => format!("{at};{to}-{to},\"{next}\"\t{layer}\n"),
                    _ if layer == 0 => format!("  {at}  {to}  {next}\n"),
                    _ => format!("{at}, {to}, {next}, {layer}\n"),
                };
            }
            if let Some(star) = star {
                for to in (0..switches).filter(|&to| to != at) {
                    table.entry((at, to)).or_insert(star);
                }
            }
        }
        Case {
            form,
            nodes,
            text,
            table,
        }
    })
}

/// What becomes of a packet.
#[derive(Debug, PartialEq)]
enum Fate {
    Arrives(Vec<(u32, u32, u16)>),
    IsLostAt(u32),
    GoesAround(BTreeSet<u32>),
}

fn walk(table: &Table, from: u32, to: u32) -> Fate {
    let mut at = from;
    let mut way: Vec<(u32, u32, u16)> = Vec::new();
    while at != to {
        if let Some(start) = way.iter().position(|&(before, _, _)| before == at) {
            return Fate::GoesAround(way[start..].iter().map(|&(at, _, _)| at).collect());
        }
        let Some(&(next, layer, _)) = table.get(&(at, to)) else {
            return Fate::IsLostAt(at);
        };
        way.push((at, next, layer));
        at = next;
    }
    Fate::Arrives(way)
}

/// A set of channels each of which waits for one of the set: what is left when those that wait for nothing are
/// taken away again and again.
fn stuck(ways: &[Vec<(u32, u32, u16)>]) -> BTreeSet<(u32, u32, u16)> {
    let mut waits: BTreeSet<_> = ways
        .iter()
        .flat_map(|way| way.windows(2))
        .map(|two| (two[0], two[1]))
        .collect();
    loop {
        let held: BTreeSet<_> = waits.iter().map(|&(held, _)| held).collect();
        let before = waits.len();
        waits.retain(|(_, wanted)| held.contains(wanted));
        if waits.len() == before {
            return held;
        }
    }
}

fn number(names: &[String]) -> Vec<u32> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

#[test]
fn tables_lead_where_a_walker_goes() {
    let config = ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let count: [std::cell::Cell<u32>; 4] = Default::default();
    runner
        .run(
            &cases(),
            |Case {
                 form,
                 nodes,
                 text,
                 table,
             }| {
                let routes = Routes::read(&text, &form).unwrap();
                let ends: BTreeSet<u32> = nodes.iter().copied().collect();
                let pairs = ends
                    .iter()
                    .flat_map(|&to| ends.iter().map(move |&from| (from, to)));
                let fates: Vec<_> = pairs
                    .map(|(from, to)| (from, to, walk(&table, from, to)))
                    .collect();
                let line = |at: u32, to: u32| table[&(at, to)].2;
                let add = |which: usize| count[which].set(count[which].get() + 1);
                let wiring = form.wiring(Nodes::At(nodes));
                match routes.ways(&form, &wiring) {
                    Ok(ways) => {
                        let mut all = Vec::new();
                        for (from, to, fate) in fates {
                            let Fate::Arrives(way) = fate else {
                                return Err(TestCaseError::fail(format!(
                                    "{from} to {to}: {fate:?}"
                                )));
                            };
                            for &(at, next, layer) in &way {
                                prop_assert_eq!(ways.next(at, to), Some((next, layer)));
                            }
                            prop_assert_eq!(ways.next(to, to), None);
                            all.push(way);
                        }
                        prop_assert!(stuck(&all).is_empty());
                        let highest = all.iter().flatten().map(|&(_, _, layer)| layer).max();
                        prop_assert_eq!(ways.layers(), highest.unwrap_or(0) + 1);
                        add(0);
                    }
                    Err(error @ RouteError::Missing { .. }) => {
                        let RouteError::Missing {
                            line: expected_line,
                            at,
                            to,
                            from,
                        } = &error
                        else {
                            unreachable!()
                        };
                        let [at, to, from] =
                            [at, to, from].map(|name| name.parse::<u32>().unwrap());
                        prop_assert_eq!(walk(&table, from, to), Fate::IsLostAt(at));
                        prop_assert_eq!(expected_line.is_none(), at == from);
                        if let Some(expected_line) = expected_line {
                            let mut leads = table.iter().filter(|(_, (next, _, line))| {
                                next == &at && line == expected_line
                            });
                            prop_assert!(leads.next().is_some());
                        }
                        add(1);
                    }
                    Err(RouteError::Loop {
                        line: expected_line,
                        to,
                        circle,
                    }) => {
                        let (to, circle) = (to.parse().unwrap(), number(&circle));
                        let set = circle.iter().copied().collect();
                        prop_assert_eq!(walk(&table, circle[0], to), Fate::GoesAround(set));
                        prop_assert!(circle.iter().any(|&at| line(at, to) == expected_line));
                        prop_assert!(
                            fates.iter().any(|(_, last, fate)| *last == to
                                && matches!(fate, Fate::GoesAround(_)))
                        );
                        add(2);
                    }
                    Err(RouteError::Deadlock {
                        line: expected_line,
                        circle,
                    }) => {
                        let ways = fates.into_iter().map(|(_, _, fate)| match fate {
                            Fate::Arrives(way) => Ok(way),
                            fate => Err(TestCaseError::fail(format!("{fate:?}"))),
                        });
                        let stuck = stuck(&ways.collect::<Result<Vec<_>, _>>()?);
                        let circle = number(&circle);
                        for (at, next) in circle.iter().zip(circle.iter().cycle().skip(1)) {
                            prop_assert!(
                                stuck.iter().any(|(a, b, _)| a == at && b == next),
                                "{} {}",
                                at,
                                next
                            );
                        }
                        let mut lines = table.iter().filter(|(_, entry)| entry.2 == expected_line);
                        let on =
                            |&(&(at, _), &(next, layer, _)): &(&(u32, u32), &(u32, u16, usize))| {
                                stuck.contains(&(at, next, layer))
                            };
                        prop_assert!(lines.any(|entry| on(&entry)));
                        add(3);
                    }
                    Err(error) => return Err(TestCaseError::fail(error.to_string())),
                }
                Ok(())
            },
        )
        .unwrap();
    let [good, missing, loops, deadlocks] = count.map(|count| count.get());
    println!(
        "{good} tables are good, {missing} lack a route, {loops} go around, {deadlocks} deadlock"
    );
    assert!(
        [good, missing, loops, deadlocks]
            .iter()
            .all(|&count| count > 40)
    );
}

#[test]
fn what_is_wrong_with_a_table_has_its_line() {
    let form = Form::Cables {
        switches: 4,
        cables: vec![(0, 1), (1, 2), (2, 0), (2, 3)],
        names: ["a", "b", "c", "*"].map(str::to_owned).to_vec(),
    };
    let whole = "a * c\nb * c\nc a a\nc b b\nc \"*\" \"*\"\n\"*\" * c\n";
    let routes = Routes::read(whole, &form).unwrap();
    let ways = routes.ways(&form, &form.wiring(1)).unwrap();
    assert_eq!(
        (ways.next(0, 3), ways.next(3, 1), ways.layers()),
        (Some((2, 0)), Some((2, 0)), 1)
    );
    let cases = [
        (
            "a b\n",
            "2 words; a route has three and perhaps a layer",
            Some(1),
        ),
        (
            "\na b c 1 2\n",
            "5 words; a route has three and perhaps a layer",
            Some(2),
        ),
        (
            "a b {}\n",
            "3 words; a route has three and perhaps a layer",
            Some(1),
        ),
        (
            "a \"b c\n",
            "the quote opened in column 3 is not closed on its line",
            Some(1),
        ),
        ("a d c\n", "no switch is called \"d\"", Some(1)),
        (
            "* a c\n\"*\" a c\n* a d",
            "the route from \"*\" to \"a\" is given twice",
            Some(2),
        ),
        ("a 7-3 c", "\"7-3\" runs backwards", Some(1)),
        ("a 0-2 c", "no switch is called \"0\"", Some(1)),
        ("a a c", "a route from \"a\" to itself", Some(1)),
        (
            "# one\na c c # good\na b c high",
            "a layer of \"high\"",
            Some(3),
        ),
        ("a c c -1", "a layer of \"-1\"", Some(1)),
        ("a c c 256", "a layer of \"256\"", Some(1)),
        ("a * \"*\"", "no cable leads from \"a\" to \"*\"", Some(1)),
        ("a * a", "no cable leads from \"a\" to \"a\"", Some(1)),
        (
            "a * b\nb * a\na * c",
            "the route from \"a\" to \"*\" is given twice",
            Some(3),
        ),
        (
            "b a c\nc a b\na * b\n\"*\" * c\nc * a\n",
            "the routes to \"a\" lead around in a circle, at switches b, c",
            Some(1),
        ),
        (
            "a * c\nb * c\nc a a\nc b b\n\"*\" * c\n",
            "switch \"c\" has no route to \"*\": nobody reaches that from \"a\"",
            Some(1),
        ),
        (
            "",
            "switch \"b\" has no route to \"a\": nobody reaches that from \"b\"",
            None,
        ),
        (
            "a * b\nb * c\nc a a\nc b a\nc \"*\" \"*\"\n\"*\" * c\n",
            "packets could wait for one another in a circle, at switches b, c, a",
            Some(2),
        ),
    ];
    for (text, problem, line) in cases {
        let error = Routes::read(text, &form).and_then(|routes| {
            let ways = routes.ways(&form, &form.wiring(1));
            ways.map(|_| ())
        });
        let error = error.unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.line()),
            (problem, line),
            "{text}"
        );
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn runs_of_numbers_leave_out_the_switch_itself() {
    let ring = Form::Ring { switches: 6 };
    let routes = |text: &str| Routes::read(text, &ring);
    let around = "0 0-5 1\n1 0-5 2\n2 3-5 3\n2 0-1 3\n3 * 4\n4 * 5\n5 0-4 0 1\n";
    assert!(routes(around).is_ok());
    let twice = routes("0 1-3 1\n0 2 5\n").unwrap_err();
    assert_eq!(
        (twice.to_string(), twice.line()),
        (
            "the route from \"0\" to \"2\" is given twice".to_owned(),
            Some(2)
        )
    );
    let itself = routes("0 * 1\n5 5-5 0\n").unwrap_err();
    assert_eq!(
        (itself.to_string(), itself.line()),
        ("a route from \"5\" to itself".to_owned(), Some(2))
    );
    let far = routes("0 1-4000000000 1\n").unwrap_err();
    assert_eq!(far.to_string(), "no switch is called \"6\"");
    assert_eq!(
        routes("0 01 1\n").unwrap_err().to_string(),
        "no switch is called \"01\""
    );
}

/// A name of any length is matched in full, and shown shortened.
#[test]
fn long_names_are_names() {
    let (stem, tail) = ("s".repeat(60), "t".repeat(61));
    let edges = format!("{stem} {stem}a\n{stem}a {tail}\n{tail} {stem}\n");
    let found = listed(&edges, Leaves::Switches, "").unwrap();
    let text = format!(
        "{stem} * {stem}a\n{stem}a * {tail} 1\n{tail} {stem}a {stem}\n{tail} {stem} {stem} 1\n"
    );
    let routes = Routes::read(&text, &found.form).unwrap();
    let ways = routes.ways(&found.form, &found.form.wiring(1)).unwrap();
    assert_eq!(
        (ways.next(0, 2), ways.next(1, 0)),
        (Some((1, 0)), Some((2, 1)))
    );
    let twice = format!("{tail} * {stem}\n{tail} * {stem}\n");
    let error = Routes::read(&twice, &found.form).unwrap_err();
    let shown = &tail[..60];
    assert_eq!(
        error.to_string(),
        format!("the route from \"{shown}\" to \"*\" is given twice")
    );
}
