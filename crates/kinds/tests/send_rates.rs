//! Remarks on limits on messages in flight: when they appear, and the send rate that they state.

use crate::capacity::experiment;
use isthmus_experiment::capacity::bandwidth;
use isthmus_kinds::KINDS;
use isthmus_machine::sci::Machine;

/// Return all remarks on the capacity of a scenario.
fn remarks(text: &str) -> Vec<String> {
    experiment(text).capacity()[0].remarks.clone()
}

/// Checks the remark on a limit against a calculation by hand. A PE-PE message on the 3-cube: 3/2 * 8/7 links, 2
/// more channels and 31 further flits take 34.71 cycles of 0.05 us, 1.736 us. One message after another gives 576
/// /ms.
#[test]
fn the_send_rate_of_a_pe_is_as_calculated_by_hand() {
    let said = |rate: &str| {
        remarks(&format!(
            "version = 1\nname = \"x\"\n[machine]\nkind = \"hypercube\"\ndimension = 3\n\
             lanes.io_link = 2\n[workload]\nrate = \"{rate}\"\nio_probability = 0\noutstanding = 1\n"
        ))
        .join(" ")
    };
    let expected = "With 1 demand under way at a time, 1.736 us alone, a PE sends at most 576 /ms, less \
                    than the 600 /ms that it asks for: raise workload.outstanding.";
    assert!(said("600 /ms").contains(expected), "{}", said("600 /ms"));
    assert!(!said("500 /ms").contains("under way at a time"));
}

/// Checks the remark on a limit against a calculation by hand. Reads on a ring of 8: the response carries the
/// data, the request none. Each direction takes its symbols and 4 links on average.
#[test]
fn the_send_rate_on_a_ring_is_as_calculated_by_hand() {
    let said = |outstanding: &str| {
        let text = format!(
            "version = 1\nname = \"x\"\n[machine]\nkind = \"sci\"\nfabric = \"ring\"\nsize = 8\n\
             [workload]\nload = \"0.8 GB/s\"\ntransaction = \"read\"\noutstanding = {outstanding}\n"
        );
        let scenario = KINDS.parse(&text, "s.toml", &[]).unwrap();
        let machine = Machine::new(scenario.machine.expect()).unwrap();
        let lengths = machine.lengths(scenario.workload.expect());
        let symbols = f64::from(lengths.request + lengths.response.unwrap());
        let hop = machine.clock().cycles_exact(machine.spec().hop);
        let ns = (symbols + 2.0 * 4.0 * hop) * machine.clock().cycle_us() * 1e3;
        (ns, remarks(&text).join(" "))
    };
    let (ns, one) = said("1");
    // The bound is 64 B per `ns` nanoseconds; the offered load is 100 MB/s.
    let expected = format!("a node sends at most {}", bandwidth(64.0 / ns * 1e3));
    match 64.0 / ns * 1e3 < 100.0 {
        true => assert!(one.contains(&expected), "{one} without {expected}"),
        false => assert!(!one.contains("under way"), "{one}"),
    }
    assert!(!said("64").1.contains("under way"));
    assert!(!said("\"unlimited\"").1.contains("under way"));
}

/// Return the remarks on a switch of a fat tree whose only job is described by the text `job`.
fn remarks_on_a_tree(job: &str) -> Vec<String> {
    remarks(&format!(
        "version = 1\nname = \"x\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 1\n\
         [workload.jobs.io]\ntraffic = \"hot-spot\"\nhot_node = 0\nsizes = \"fixed\"\n{job}"
    ))
}

/// Checks the remark on a limit against a calculation by hand. Over one switch of the QsNET, 320 B take 1880 ns
/// in software, 945 ns on the wire, 35 ns in the switch and 35 + 50 ns for the acknowledgement. That is 2945 ns,
/// or 108.7 MB/s of the 335 MB/s that the interface can send.
#[test]
fn the_send_rate_on_a_tree_is_as_calculated_by_hand() {
    let said = "With 1 message of 320 B under way at a time, 2.945 us alone, a node of io sends at most \
                109 MB/s, less than the 200 MB/s that it asks for: raise workload.jobs.io.outstanding.";
    let one = "message = \"320 B\"\nload = \"200 MB/s\"\n";
    assert!(
        remarks_on_a_tree(one).contains(&said.to_owned()),
        "{:?}",
        remarks_on_a_tree(one)
    );
    let closed = remarks_on_a_tree("message = \"320 B\"\noutstanding = 2\n");
    assert!(
        closed.iter().any(|remark| remark.starts_with(
            "With 2 messages of 320 B under way at a time, 2.945 us alone, a node of io sends \
                          at most 217 MB/s, where it could send 335 MB/s"
        )),
        "{closed:?}"
    );
}

/// Checks that there is no remark on a limit on messages in flight that does not slow the sender.
#[test]
fn a_limit_that_does_not_slow_the_sender_causes_no_remark() {
    for job in [
        "message = \"320 B\"\nload = \"200 MB/s\"\noutstanding = 2\n",
        "message = \"320 B\"\noutstanding = 4\n",
        "message = \"320 B\"\nthink = \"1 us\"\n",
        "message = \"1 MB\"\n",
    ] {
        let found = remarks_on_a_tree(job);
        assert!(
            !found.iter().any(|remark| remark.contains("under way")),
            "{job}: {found:?}"
        );
    }
}
