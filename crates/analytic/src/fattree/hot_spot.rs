//! What each client of one server gets, by its distance (section 4.3 of the QsNET paper).
//!
//! Clients that always have packets waiting share the server's link. How depends on the arbitration
//! of the switches, between two rules:
//! - the oldest packet goes first, its age counted from its injection: all clients get the same
//!   ([`equal`]);
//! - each switch serves its inputs in turn: then a client is worth more the fewer switches its
//!   packets cross ([`in_turn`]). Ages that count from the arrival at each switch come to the same.
//!
//! Ages that saturate lie between the two.

use crate::Error;
use crate::error::{check, check_not_negative};

/// One level of switches above the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Links down of a switch, parallel ones included.
    pub down: u32,
    /// Children of a switch.
    pub children: u32,
    /// Links up of a switch; 0 at the top.
    pub up: u32,
}

/// Clients whose nearest common ancestors with the server are on one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// The level, from 1.
    pub level: u32,
    /// How many clients; all nodes at this distance.
    pub clients: u32,
    /// What each of them gets, in the unit of the server's rate.
    pub rate: f64,
}

/// All nodes but the server are clients and get the same.
///
/// # Errors
/// As [`in_turn`].
pub fn equal(levels: &[Level], rate: f64) -> Result<Vec<Group>, Error> {
    let mut groups = groups(levels, rate)?;
    let clients: u32 = groups.iter().map(|group| group.clients).sum();
    for group in &mut groups {
        group.rate = rate / f64::from(clients);
    }
    Ok(groups)
}

/// All nodes but the server are clients; every switch serves its inputs in turn.
///
/// On the way to the server, a switch of level i has (m - 1) p inputs from its other children and u
/// from above, all of which always have packets. Of what leaves it the part (m - 1) p / ((m - 1) p
/// + u) is from below, for the clients at that distance; the rest is what the next level delivers.
///
/// # Errors
/// No level, a switch without or with uneven links down, a top with links up or another level
/// without, a rate that is negative or not finite, a tree of one node.
pub fn in_turn(levels: &[Level], rate: f64) -> Result<Vec<Group>, Error> {
    let mut groups = groups(levels, rate)?;
    let mut left = rate;
    for (level, group) in levels.iter().zip(&mut groups) {
        let below = f64::from(level.down - level.down / level.children);
        let inputs = below + f64::from(level.up);
        if inputs == 0.0 {
            continue;
        }
        let taken = left * below / inputs;
        if group.clients > 0 {
            group.rate = taken / f64::from(group.clients);
        }
        left -= taken;
    }
    Ok(groups)
}

fn groups(levels: &[Level], rate: f64) -> Result<Vec<Group>, Error> {
    check_not_negative("rate of the server", rate)?;
    let mut groups = Vec::with_capacity(levels.len());
    let mut below = 1.0f64;
    for (number, level) in (1u32..).zip(levels) {
        let fits =
            level.children > 0 && level.down > 0 && level.down.is_multiple_of(level.children);
        let down = f64::from(level.down);
        check(
            "links down of a switch",
            down,
            "a multiple of its children",
            fits,
        )?;
        let is_top = number as usize == levels.len();
        let closes = is_top == (level.up == 0);
        let up = f64::from(level.up);
        check(
            "links up of a switch",
            up,
            "0 at the top and only there",
            closes,
        )?;
        let nodes = below * f64::from(level.children);
        let clients = nodes - below;
        check(
            "clients",
            clients,
            "a number of nodes",
            clients <= f64::from(u32::MAX),
        )?;
        groups.push(Group {
            level: number,
            clients: clients as u32,
            rate: 0.0,
        });
        below = nodes;
    }
    check("nodes of the tree", below, "2 or more", below >= 2.0)?;
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn k_ary(arity: u32, levels: u32) -> Vec<Level> {
        let level = |number| Level {
            down: arity,
            children: arity,
            up: if number == levels { 0 } else { arity },
        };
        (1..=levels).map(level).collect()
    }

    #[test]
    fn three_groups_of_the_quaternary_tree() {
        let clients =
            |groups: &[Group]| -> Vec<u32> { groups.iter().map(|group| group.clients).collect() };
        let rate = 320.0 / 945.0;
        let turns = in_turn(&k_ary(4, 3), rate).unwrap();
        assert_eq!(clients(&turns), [3, 12, 48]);
        // Seven inputs of the server's leaf switch; a seventh of one of these again above it.
        let expected = [rate / 7.0, rate / 49.0, rate * 16.0 / 49.0 / 48.0];
        for (group, expected) in turns.iter().zip(expected) {
            assert!((group.rate - expected).abs() < 1e-15);
        }
        let same = equal(&k_ary(4, 3), rate).unwrap();
        assert!(
            same.iter()
                .all(|group| (group.rate - rate / 63.0).abs() < 1e-15)
        );
    }

    #[test]
    fn all_that_the_server_takes_is_somebodys() {
        for arity in 2..9 {
            for levels in 1..5 {
                let tree = k_ary(arity, levels);
                for groups in [in_turn(&tree, 2.5), equal(&tree, 2.5)] {
                    let groups = groups.unwrap();
                    let sum: f64 = groups.iter().map(|g| g.rate * f64::from(g.clients)).sum();
                    assert!((sum - 2.5).abs() < 1e-12);
                    let falls = groups
                        .windows(2)
                        .all(|pair| pair[0].rate > pair[1].rate - 1e-12);
                    assert!(falls, "{groups:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        assert!(in_turn(&[], 1.0).is_err());
        assert!(in_turn(&k_ary(4, 3), f64::NAN).is_err());
        let mut tree = k_ary(4, 3);
        tree[2].up = 4;
        assert_eq!(
            in_turn(&tree, 1.0).unwrap_err().to_string(),
            "links up of a switch is 4; it must be 0 at the top and only there"
        );
        tree = k_ary(4, 3);
        tree[1].down = 7;
        assert!(equal(&tree, 1.0).is_err());
        assert!(equal(&k_ary(1, 1), 1.0).is_err());
    }
}
