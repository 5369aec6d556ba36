//! What a scenario says of its machine agrees with the topology that is built from it.

use isthmus_kinds::KINDS;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_scenario::Scenario;
use isthmus_topology::{Hypercube, Placement};

fn scenario(dimension: u32, placement: &str) -> Scenario {
    let text = format!(
        "version = 1\nname = \"m\"\n[machine]\nkind = \"hypercube\"\ndimension = {dimension}\n\
         placement = {placement}\nlanes.io_link = 1\n[workload]\ninterarrival = \"1 ms\"\n"
    );
    KINDS
        .parse(&text, "m.toml", &[])
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_number_of_io_nodes_is_that_of_the_placement() {
    for dimension in 1..=16 {
        let cube = Hypercube::new(dimension).expect("up to 20 dimensions are possible");
        let count = |placement: &Placement| u32::try_from(placement.io_nodes().len()).ok();
        let io_nodes = |placement: &str| {
            let scenario = scenario(dimension, placement);
            scenario.machine.expect::<HypercubeSpec>().io_node_count()
        };
        assert_eq!(
            io_nodes("\"combined\""),
            count(&Placement::combined(cube)),
            "{dimension}"
        );
        if let Ok(hamming) = Placement::hamming(cube) {
            assert_eq!(io_nodes("\"hamming\""), count(&hamming), "{dimension}");
        }
        let stride = Placement::stride(&cube, 2).expect("every cube has 2 PEs");
        let two = io_nodes("{ kind = \"stride\", count = 2 }");
        assert_eq!(two, count(&stride));
    }
}

/// Hamming placement is refused exactly where the topology has none.
#[test]
fn hamming_is_possible_where_the_code_is_perfect() {
    for dimension in 1..=20 {
        let cube = Hypercube::new(dimension).expect("up to 20 dimensions are possible");
        let text = format!(
            "version = 1\nname = \"m\"\n[machine]\nkind = \"hypercube\"\ndimension = {dimension}\n\
             placement = \"hamming\"\nlanes.io_link = 1\n[workload]\ninterarrival = \"1 ms\"\n"
        );
        let parsed = KINDS.parse(&text, "m.toml", &[]);
        assert_eq!(
            parsed.is_ok(),
            Placement::hamming(cube).is_ok(),
            "{dimension}"
        );
    }
}

#[test]
fn an_error_of_those_who_build_points_into_the_file() {
    let scenario = scenario(3, "{ kind = \"list\", pes = [0, 7] }");
    let error = scenario.error_at("machine.faults.links", "PE 3 is cut off", "repair a link");
    assert_eq!(
        error.to_string(),
        "m.toml:3: machine.faults.links: PE 3 is cut off; repair a link"
    );
    let error = scenario.error_at("machine.placement.pes", "too far apart", "list more");
    assert_eq!(
        (error.line(), error.field.as_str()),
        (Some(6), "machine.placement.pes")
    );
}

#[test]
fn measures_are_checked_against_those_that_there_are() {
    let text = "version = 1\nname = \"m\"\nmachine.kind = \"hypercube\"\nmachine.dimension = 3\n\
                machine.lanes.io_link = 1\nworkload.interarrival = \"1 ms\"\n[stop]\n\
                of = [\"pe_pe.header\", \"read.netwrok\"]\n";
    let scenario = KINDS
        .parse(text, "m.toml", &[])
        .expect("the names have the right form");
    assert_eq!(
        scenario.check_measures(&["pe_pe.header", "read.netwrok"]),
        Ok(())
    );
    let error = scenario.check_measures(&["pe_pe.header", "read.network"]);
    assert_eq!(
        error.map_err(|error| error.to_string()),
        Err(
            "m.toml:8: stop.of: \"read.netwrok\" is not measured; did you mean \"read.network\"?"
                .to_owned()
        )
    );
}
