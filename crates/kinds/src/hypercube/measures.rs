//! Names of the latencies that results of a hypercube contain: two for each class of messages and two for each I/O
//! operation.

use isthmus_machine::hypercube::{Class, Machine, Operation};
use isthmus_workload::spec::TrafficSpec;
use std::sync::LazyLock;

/// Names of the latencies in the order of the results.
pub(crate) static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let classes = Class::ALL.into_iter().flat_map(|class| {
        // `header` is measured from the generation of a message, `router` from the router of its sender.
        ["header", "router"].map(|quantity| format!("{}.{quantity}", class.name()))
    });
    let operations = Operation::ALL.into_iter().flat_map(|operation| {
        // `network` is the time in the network, `response` the whole time of the operation.
        ["network", "response"].map(|quantity| format!("{}.{quantity}", operation.name()))
    });
    classes.chain(operations).collect()
});

/// Return the index, in the list of measures, of the first of the two latencies of a message class;
/// the second follows.
#[inline]
pub(super) fn of_class(class: Class) -> usize {
    2 * class as usize
}

/// Return the index, in the list of measures, of the first of the two latencies of an I/O
/// operation; the second follows.
#[inline]
pub(super) fn of_operation(operation: Operation) -> usize {
    2 * (Class::ALL.len() + operation as usize)
}

/// Return whether `traffic` on `machine` can produce the latency with this index at all, however rarely.
pub(super) fn occurs(measure: usize, machine: &Machine, traffic: &TrafficSpec) -> bool {
    let shares = traffic.collectives;
    let io = traffic.io_probability > 0.0;
    let plain = shares.broadcast + shares.scatter + shares.gather < 1.0;
    let reads = io && plain && traffic.read_ratio > 0.0;
    let writes = io && plain && traffic.read_ratio < 1.0;
    let (scatters, gathers) = (io && shares.scatter > 0.0, io && shares.gather > 0.0);
    let broadcasts = io && shares.broadcast > 0.0;
    let several = machine.placement().io_node_count() > 1;
    let hot = traffic.hot_io_node.is_some();
    let remote = several && (traffic.locality < 1.0 || hot);
    let kind = measure / 2;
    match Class::ALL.get(kind) {
        Some(Class::PePe) => traffic.io_probability < 1.0,
        Some(Class::Request) => reads || broadcasts || scatters,
        Some(Class::Write) => writes || gathers,
        Some(Class::Forward) => remote && (reads || broadcasts || scatters) || several && gathers,
        Some(Class::ReplyLocal) => reads && (traffic.locality > 0.0 || !several || hot) || scatters,
        Some(Class::ReplyRemote) => several && (remote && reads || scatters),
        Some(Class::Redirect) => io && machine.redirects(),
        Some(Class::Broadcast) => broadcasts,
        None => match Operation::ALL[kind - Class::ALL.len()] {
            Operation::Read => reads,
            Operation::Write => writes,
            Operation::Broadcast => broadcasts,
            Operation::Scatter => scatters,
            Operation::Gather => gathers,
        },
    }
}
