//! The estimate of fat trees beside what is simulated, and beside queues that are solved exactly.

use isthmus_experiment::result::{Measure, RunResult};
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;

fn run(file: &str) -> RunResult {
    let scenario = KINDS
        .parse(file, "tree.toml", &[])
        .unwrap_or_else(|e| panic!("{e}\n{file}"));
    let experiment =
        Experiment::new(&KINDS, scenario, Options::default()).expect("a good experiment");
    experiment.run().expect("a whole run")
}

fn measure<'r>(result: &'r RunResult, name: &str) -> &'r Measure {
    let mut measures = result.points[0].measures.iter();
    measures
        .find(|m| m.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// The same numbers on every machine.
struct Draw(u64);

impl Draw {
    fn of(&mut self, count: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }

    fn one<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.of(texts.len())]
    }
}

fn scenario(draw: &mut Draw) -> String {
    let levels = draw.one(&["2", "2", "3"]);
    let switching = draw.one(&["circuit", "cut-through"]);
    let (placement, mapping) = (
        draw.one(&["clustered", "distributed"]),
        draw.one(&["dedicated", "shared"]),
    );
    let servers = draw.one(&["1", "2", "4", "4"]);
    let message = draw.one(&["4 KiB", "16 KiB", "64 KiB"]);
    let sizes = draw.one(&["fixed", "exponential"]);
    let traffic = match draw.of(4) {
        0 => "traffic = \"uniform\"".to_owned(),
        _ => format!(
            "traffic = \"io\"\ndestinations = \"{}\"\nread_ratio = {}",
            draw.one(&["random", "interleaved", "blocked"]),
            draw.one(&["0", "1", "0.5"])
        ),
    };
    let arrivals = match draw.of(3) {
        0 => format!("think = \"{}\"", draw.one(&["0 s", "1 ms", "5 ms"])),
        1 => format!(
            "arrivals = \"open\"\nload = \"{} MB/s\"\noutstanding = {}",
            draw.one(&["10", "40", "120"]),
            draw.one(&["1", "4", "\"unlimited\""])
        ),
        _ => format!("outstanding = {}", draw.one(&["1", "4", "16"])),
    };
    format!(
        "version = 1\nname = \"tree\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = {levels}\n\
         switching = \"{switching}\"\n[workload]\nmapping = \"{mapping}\"\n[workload.servers]\n\
         placement = \"{placement}\"\ncount = {servers}\n[workload.jobs.all]\n{traffic}\n\
         message = \"{message}\"\nsizes = \"{sizes}\"\n{arrivals}\n[measure]\nchannels = false\n[stop]\n\
         rule = \"fixed\"\nmessages = 1000\nwarmup = \"mser5\"\nreplications = 2\n"
    )
}

/// The estimate, inside its domain or not.
fn estimate(measure: &Measure) -> f64 {
    let outside = measure.outside.as_ref().map(|outside| outside.value);
    measure.analytic.or(outside).expect("there is an estimate")
}

/// Simulation over estimate less one.
fn residual(measure: &Measure) -> f64 {
    measure.mean.unwrap() / estimate(measure) - 1.0
}

/// Distance of the estimate from all that the interval holds: noise is not the estimate's fault, and does
/// not help it beyond that.
fn off(measure: &Measure) -> f64 {
    let estimated = estimate(measure);
    let (low, high) = (measure.low.unwrap(), measure.high.unwrap());
    (estimated.clamp(low, high) / estimated - 1.0).abs()
}

/// Machines of all kinds; nothing in the estimate is fitted to them.
#[test]
fn near_what_is_simulated_at_random() {
    let mut draw = Draw(30003);
    let (mut residuals, mut beyond) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        let file = scenario(&mut draw);
        let result = run(&file);
        let accepted = measure(&result, "all.accepted");
        eprintln!(
            "{:?} {:?} {}",
            residual(accepted),
            accepted.mean,
            file.replace("\n", " ")
        );
        residuals.push(residual(accepted).abs());
        beyond.push(off(accepted));
    }
    let within = |of: &[f64], limit: f64| of.iter().filter(|&&residual| residual <= limit).count();
    let counts = [0.05, 0.1, 0.3].map(|limit| [within(&residuals, limit), within(&beyond, limit)]);
    assert_eq!(counts, [[34, 37], [38, 40], [40, 40]]);
}

/// Fifteen clients that write to one server and think, as machines that wait for repair.
fn thinking(think: &str) -> RunResult {
    run(&format!(
        "version = 1\nname = \"tree\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 2\n\
         [workload.servers]\nplacement = \"clustered\"\ncount = 1\n[workload.jobs.io]\ntraffic = \"io\"\n\
         message = \"32 KiB\"\nthink = \"{think}\"\n[measure]\nchannels = false\n[stop]\nrule = \"fixed\"\n\
         messages = 1500\nwarmup = \"mser5\"\nreplications = 4\n"
    ))
}

#[test]
fn clients_that_think_are_machines_that_wait_for_repair() {
    for (think_ns, think) in [(0.5e6, "500 us"), (1.5e6, "1.5 ms"), (4e6, "4 ms")] {
        let result = thinking(think);
        let servers = measure(&result, "servers.accepted");
        let estimated = estimate(servers);
        // Packets of 320 B, 378 B on a link of 400 MB/s. That a client alone takes 955.2 ns for each, not
        // 945, is 1% for those who find the server idle.
        let demand = (32_768.0 / 320.0 + 0.5) * 945.0;
        let (mut waiting, mut rate) = (0.0, 0.0);
        for clients in 1..=15 {
            // Mean value analysis: one more finds what the others leave (Reiser and Lavenberg, 1980).
            let time = demand * (1.0 + waiting);
            rate = f64::from(clients) / (think_ns + 2_200.0 + time);
            waiting = rate * time;
        }
        let expected = rate * 32_768.0 * 1e3;
        assert!(
            (estimated / expected - 1.0).abs() < 0.04,
            "{think}: {estimated}, by mean values {expected}"
        );
        let (low, high) = (servers.low.unwrap(), servers.high.unwrap());
        assert!(
            low <= 1.02 * expected && 0.98 * expected <= high,
            "{think}: [{low}, {high}], by mean values {expected}"
        );
    }
}

/// What the interfaces of servers that are read from can send bounds all that is read.
#[test]
fn servers_that_are_read_from_send_as_their_interfaces_do() {
    let file = "version = 1\nname = \"tree\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 2\n\
                [machine.nic]\ndma_period = \"1.6 us\"\n[workload.servers]\nplacement = \"distributed\"\ncount = 2\n\
                [workload.jobs.io]\ntraffic = \"io\"\nread_ratio = 1\ndestinations = \"interleaved\"\n\
                [stop]\nrule = \"fixed\"\nmessages = 300\nwarmup = \"none\"\n";
    let scenario = KINDS
        .parse(file, "tree.toml", &[])
        .unwrap_or_else(|e| panic!("{e}"));
    let result = Experiment::new(&KINDS, scenario, Options::default())
        .expect("a good experiment")
        .analyze();
    let servers = estimate(measure(&result, "servers.accepted"));
    assert!((servers / 200.0 - 1.0).abs() < 0.01, "{servers}");
    // By Little's law: seven clients, one message each, at one server.
    let response = estimate(measure(&result, "io.response"));
    assert!(
        (response / (7.0 * 1e6 / 200.0) - 1.0).abs() < 0.01,
        "{response}"
    );
}

/// Two nodes alone: more messages under way fill the pauses, and a lone packet does not wait for the engine
/// that sent it.
#[test]
fn pairs_that_meet_nobody() {
    for message in ["1 B", "4 KiB", "64 KiB"] {
        for outstanding in [1, 2, 16] {
            let result = run(&format!(
                "version = 1\nname = \"tree\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 2\n\
                 [workload.jobs.all]\ntraffic = \"ping\"\nnodes = [0, 5]\nmessage = \"{message}\"\n\
                 outstanding = {outstanding}\n[measure]\nchannels = false\n[stop]\nrule = \"fixed\"\n\
                 messages = 300\nwarmup = \"none\"\nreplications = 2\n"
            ));
            let residual = residual(measure(&result, "all.accepted"));
            assert!(
                residual.abs() < 0.03,
                "{message}, {outstanding}: {residual}"
            );
        }
    }
}

/// Fifteen clients of one server by circuits are inside the domain. Uniform traffic with cut-through, whose links
/// between switches are busy for about half of the time, is outside; and so are the messages of nodes with two jobs,
/// and a response that is shorter than the pause before it.
#[test]
fn values_outside_the_domain_are_marked() {
    let inside = |circuits: bool, jobs: &str, name: &str| {
        let switching = if circuits { "circuit" } else { "cut-through" };
        let file = format!(
            "version = 1\nname = \"tree\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 2\n\
             switching = \"{switching}\"\n[workload]\nmapping = \"shared\"\n[workload.servers]\n\
             placement = \"clustered\"\ncount = 1\n{jobs}[stop]\nrule = \"fixed\"\nmessages = 6000\n"
        );
        let scenario = KINDS
            .parse(&file, "tree.toml", &[])
            .unwrap_or_else(|e| panic!("{e}"));
        let experiment = Experiment::new(&KINDS, scenario, Options::default());
        let result = experiment.expect("a good experiment").analyze();
        let found = measure(&result, name);
        assert!(found.analytic.is_some() != found.outside.is_some());
        found
            .outside
            .as_ref()
            .map_or(String::new(), |outside| outside.reason.clone())
    };
    let io = "[workload.jobs.io]\ntraffic = \"io\"\n";
    let all = "[workload.jobs.all]\ntraffic = \"uniform\"\n";
    assert_eq!(inside(true, io, "io.accepted"), "");
    assert_eq!(inside(true, io, "io.response"), "");
    assert_eq!(inside(true, all, "all.accepted"), "");
    assert!(inside(false, all, "all.accepted").contains("with cut-through"));
    assert!(inside(true, &format!("{io}{all}"), "io.accepted").contains("several jobs"));
    let idle = format!("{all}message = \"1 KiB\"\nthink = \"1 ms\"\n");
    assert_eq!(inside(false, &idle, "all.accepted"), "");
    assert!(inside(false, &idle, "all.response").contains("all pauses are equal"));
    let varied = format!("{idle}think_times = \"exponential\"\n");
    assert_eq!(inside(false, &varied, "all.response"), "");
}
