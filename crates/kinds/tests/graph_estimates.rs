//! The estimate of networks of switches: exact where it must be, against `check` and against the simulation.

use isthmus_experiment::result::{Measure, RunResult};
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;

fn experiment(machine: &str, job: &str) -> Experiment {
    let text = format!(
        "version = 1\nname = \"x\"\n[machine]\nkind = \"graph\"\nbandwidth = \"1 GB/s\"\nswitch_latency = \"100 ns\"\n\
         {machine}\n[machine.nic]\npayload = \"256 B\"\noverhead = \"16 B\"\ndma_period = \"10 ns\"\n\
         receive_delay = \"0 s\"\nsoftware_latency = \"500 ns\"\n[workload.jobs.j]\n{job}\n[measure]\n\
         channels = false\n[stop]\nrule = \"fixed\"\nmessages = 4000\nwarmup_messages = 500\nreplications = 2\n"
    );
    let scenario = KINDS
        .parse(&text, "g.toml", &[])
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    Experiment::new(&KINDS, scenario, Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn measure<'r>(result: &'r RunResult, name: &str) -> &'r Measure {
    let mut measures = result.points[0].measures.iter();
    measures
        .find(|m| m.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// What the model says, inside its domain or not.
fn model(measure: &Measure) -> f64 {
    let outside = measure.outside.as_ref().map(|outside| outside.value);
    measure.analytic.or(outside).expect("a value of the model")
}

/// Messages so rare that none meets another take what the model says to a ten-thousandth: with circuits, with buffers of
/// one packet, over cables with a delay, in several packets of which the last is short.
#[test]
fn a_message_alone_takes_what_the_model_says() {
    let ring = "graph = \"ring\"\nswitches = 7\ndelay = \"40 ns\"\nvirtual_channels = 2";
    for switching in [
        "switching = \"circuit\"",
        "switching = \"cut-through\"\nbuffer = 2",
        "switching = \"cut-through\"\nbuffer = 64",
    ] {
        for message in [1, 256, 2000] {
            let job = format!(
                "traffic = \"shift\"\noffset = 3\nmessage = \"{message} B\"\nload = \"{message} B/s\""
            );
            let run = experiment(&format!("{ring}\n{switching}"), &job).run();
            let run = run.expect("a whole run");
            let network = measure(&run, "j.network");
            let (found, simulated) = (model(network), network.mean.expect("a mean"));
            assert!(
                (found / simulated - 1.0).abs() < 1e-4,
                "{switching}, {message} B: {found} for {simulated}"
            );
        }
    }
}

/// Two nodes at one switch that send to each other meet nobody: each is a queue M/D/1. A message of 4 x 272 ns waits
/// rho S / (2 (1 - rho)), and takes 500 ns before its start, S, and the switch.
#[test]
fn two_nodes_at_a_switch_are_md1() {
    let machine =
        "graph = \"mesh\"\nsize = \"1x1\"\nnodes_per_switch = 2\nswitching = \"cut-through\"";
    for load in [100.0, 500.0, 700.0] {
        let job =
            format!("traffic = \"shift\"\noffset = 1\nmessage = \"1 KiB\"\nload = \"{load} MB/s\"");
        let found = experiment(machine, &job).analyze();
        let service: f64 = 4.0 * 272.0;
        let rho = load / 1e3 / 1024.0 * service;
        let wait = rho * service / (2.0 * (1.0 - rho));
        let expected = (500.0 + wait + service + 100.0) / 1e3;
        let response = model(measure(&found, "j.response"));
        assert!(
            (response / expected - 1.0).abs() < 1e-9,
            "{response} for {expected}"
        );
        assert_eq!(model(measure(&found, "j.accepted")), load);
    }
}

/// The model calls a network saturated where `check`, whose loads are held to a naive walk over all pairs, says that a
/// link is asked for more than it carries.
#[test]
fn it_saturates_where_check_says_so() {
    let torus = "graph = \"torus\"\nsize = \"4x4\"\nnodes_per_switch = 2\nswitching = \"cut-through\"\nbuffer = 64\n\
                 virtual_channels = 4";
    let mesh = torus.replace("torus", "mesh");
    for (machine, traffic) in [
        (torus, "uniform\""),
        (&*mesh, "uniform\""),
        (&*mesh, "shift\"\noffset = 5"),
    ] {
        let at = |load: f64| {
            let job = format!(
                "traffic = \"{traffic}\nmessage = \"256 B\"\nload = \"{:.0} B/s\"",
                load * 1e6
            );
            experiment(machine, &job)
        };
        let capacity = at(100.0).capacity();
        let shares = capacity[0].parts.iter().map(|part| {
            let demand = part.demand.expect("a demand");
            demand / part.supply.expect("a supply")
        });
        let full = 100.0 / shares.fold(0.0, f64::max);
        for (load, expected) in [(0.999 * full, "Stable"), (1.001 * full, "Saturated")] {
            let verdict = at(load).analyze().points[0].verdict.verdict;
            assert_eq!(format!("{verdict:?}"), expected, "{machine}, {traffic}");
        }
    }
}

/// Packets that meet: within 10% of the simulation at half the load, inside the domain; beside it a reason.
#[test]
fn it_is_near_the_simulation_where_it_holds() {
    let torus = "graph = \"torus\"\nsize = \"4x4\"\nswitching = \"cut-through\"\nbuffer = 64\nvirtual_channels = 4";
    let job = |load| format!("traffic = \"uniform\"\nmessage = \"2 KiB\"\nload = \"{load} MB/s\"");
    let run = experiment(torus, &job(450)).run().expect("a whole run");
    let response = measure(&run, "j.response");
    let (found, simulated) = (response.analytic.expect("inside"), response.mean.unwrap());
    assert!(
        (found / simulated - 1.0).abs() < 0.1,
        "{found} for {simulated}"
    );
    let full = experiment(torus, &job(800)).analyze();
    let outside = measure(&full, "j.response").outside.as_ref();
    assert!(outside.expect("a reason").reason.contains("14%"));
}

/// Ways that depend on what links hold are not modelled.
#[test]
fn ugal_has_no_estimate() {
    let machine = "graph = \"dragonfly\"\nnodes = 1\nrouters = 2\ngroups = 3\ngroup_routing = \"ugal\"\n\
                   virtual_channels = 3";
    for arrivals in ["load = \"10 MB/s\"", "outstanding = 1"] {
        let found = experiment(machine, &format!("traffic = \"uniform\"\n{arrivals}")).analyze();
        let point = &found.points[0];
        assert!((point.measures.iter()).all(|m| m.analytic.is_none() && m.outside.is_none()));
        let reason = point.unmodelled.as_deref();
        assert_eq!(reason, Some("routes depend on the queues"));
    }
}

/// Closed loops: pairs without contention, with long and short buffers and with circuits, messages that fit into short buffers
/// and longer ones; and one server that all read.
#[test]
fn loops_without_contention_and_one_server() {
    let ring = "graph = \"ring\"\nswitches = 6\ndelay = \"200 ns\"\nvirtual_channels = 4";
    let cut = "switching = \"cut-through\"\nbuffer =";
    let pair = |bytes: &str| {
        format!("traffic = \"shift\"\noffset = 1\nmessage = \"{bytes}\"\noutstanding = 1")
    };
    let long = pair("64 KiB");
    let server = "traffic = \"io\"\nread_ratio = 1\nmessage = \"16 KiB\"\noutstanding = 2\n\
                  [workload.servers]\nplacement = \"clustered\"\ncount = 1";
    for (switching, job) in [
        (format!("{cut} 32"), long.clone()),
        (format!("{cut} 4"), pair("256 B")),
        (format!("{cut} 4"), pair("512 B")),
        (format!("{cut} 4"), pair("1 KiB")),
        (format!("{cut} 4"), pair("4 KiB")),
        (format!("{cut} 4"), long.clone()),
        (String::new(), long),
        (format!("{cut} 32"), server.to_owned()),
    ] {
        let found = experiment(&format!("{ring}\n{switching}"), &job).run();
        let found = found.expect("a whole run");
        let accepted = measure(&found, "j.accepted");
        let residual = model(accepted) / accepted.mean.expect("a mean") - 1.0;
        assert!(residual.abs() < 0.03, "{switching}, {job}: {residual:+.3}");
    }
}
