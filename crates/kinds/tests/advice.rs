//! The advice of refusals: every field of every form takes values from its least to its greatest and each of its words, and
//! the advice of each refusal is followed. It must lead to a scenario that is accepted, and never back to one that was refused.

use isthmus_kinds::KINDS;
use isthmus_scenario::ScenarioError;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Right scenarios, at least one of each form; jobs are called `u`.
const BASES: &[(&str, &str)] = &[
    (
        "hypercube",
        "kind = \"hypercube\"\ndimension = 4\nlanes.io_link = 1\n\
         [workload]\ninterarrival = \"1 ms\"\nio_probability = 0.1\n",
    ),
    (
        "hypercube",
        "kind = \"hypercube\"\ndimension = 3\nlanes.io_link = 0\n\
         [workload]\narrival = \"closed\"\nthink = \"1 ms\"\n",
    ),
    (
        "sci",
        "kind = \"sci\"\nfabric = \"bidirectional-torus\"\nsize = \"4x4\"\n[workload]\nload = \"1 GB/s\"\n",
    ),
    (
        "fat-tree",
        "kind = \"fat-tree\"\narity = 4\nlevels = 2\n[workload.jobs.u]\ntraffic = \"uniform\"\n",
    ),
    (
        "fat-tree",
        "kind = \"fat-tree\"\ntree = \"ports\"\nnodes = 8\nports = { down = [4, 2], up = [2] }\n\
         preset = \"infiniband-hdr\"\n\
         [workload]\nservers = { placement = \"clustered\", count = 2 }\n\
         [workload.jobs.u]\ntraffic = \"io\"\nread_ratio = 0.5\nload = \"1 GB/s\"\n",
    ),
    (
        "graph",
        "kind = \"graph\"\ngraph = \"torus\"\nsize = \"4x4\"\nswitching = \"cut-through\"\n\
         [workload.jobs.u]\ntraffic = \"uniform\"\nload = 0.1\n",
    ),
    (
        "graph",
        "kind = \"graph\"\ngraph = \"dragonfly\"\nnodes = 2\nrouters = 2\ngroups = 3\n\
         [workload.jobs.u]\ntraffic = \"shift\"\noffset = 4\n",
    ),
    (
        "graph",
        "kind = \"graph\"\ngraph = \"edges\"\nedges = \"a b\\nb c\"\nnodes_per_switch = 4\n\
         [workload]\nservers = { placement = \"distributed\", count = 2, device.kind = \"disk\" }\n\
         [workload.jobs.u]\ntraffic = \"checkpoint\"\nperiod = \"1 s\"\nvolume = \"1 MB\"\n",
    ),
    ("interface", "kind = \"interface\"\n"),
    (
        "interface",
        "kind = \"interface\"\n[workload]\nsink = \"interface\"\nload = \"10 MB/s\"\n",
    ),
    (
        "interface",
        "kind = \"interface\"\n[workload]\norigin = \"interface\"\n",
    ),
    (
        "interface",
        "kind = \"interface\"\n[workload]\nsink = \"cells\"\n",
    ),
    (
        "sci-jobs",
        "kind = \"sci\"\nfabric = \"ring\"\nsize = 8\n[workload.jobs.u]\ntraffic = \"uniform\"\nload = 0.1\n",
    ),
    (
        "hypercube-jobs",
        "kind = \"hypercube\"\ndimension = 4\nlanes.io_link = 1\n\
         [workload.jobs.u]\ntraffic = \"io\"\nread_ratio = 1\n",
    ),
];

/// A field, as the reference has it.
struct Field {
    key: String,
    holds: String,
    range: String,
    of: String,
}

/// Steps that advice may take.
const STEPS_MAX: usize = 6;

/// What advice says to do.
#[derive(Debug, Clone, PartialEq)]
enum Change {
    Remove(String),
    Set(String, Value),
}

fn parse(scenario: &Table) -> Result<(), ScenarioError> {
    let text = toml::to_string(scenario).expect("a table is TOML");
    KINDS.parse(&text, "s.toml", &[]).map(drop)
}

/// Values of a field that by themselves are possible, the least and the greatest among them.
fn values(field: &Field) -> Vec<Value> {
    let texts = |texts: &[&str]| -> Vec<Value> { texts.iter().map(|&text| text.into()).collect() };
    let toml = |text: &str| -> Vec<Value> {
        let table: Table = format!("x = {text}").parse().expect("a list of values");
        match &table["x"] {
            Value::Array(values) => values.clone(),
            other => panic!("{other} is no list"),
        }
    };
    let times = ["0 s", "1 ps", "35 ns", "1 ms", "24 h"];
    let rates = ["0.0000116 /s", "1 /ms", "1000 /ns"];
    let bandwidths = ["1 bit/s", "40 MB/s", "1 GB/s", "3 GB/s", "1 TB/s"];
    match field.holds.as_str() {
        "a word" => quoted(&field.range).into_iter().map(Value::from).collect(),
        "a whole number" | "a whole number of lanes" => {
            let (least, most) = field.range.split_once(' ').expect("a least number");
            let least: i64 = least.parse().expect("a least number");
            let most = most.rsplit(' ').next().and_then(|most| most.parse().ok());
            let most = most.unwrap_or(i64::MAX);
            let of = [least, least + 1, least + 2, 5, 32, 1000, most];
            of.into_iter()
                .filter(|value| (least..=most).contains(value))
                .map(Value::from)
                .collect()
        }
        "a whole number or \"unlimited\"" => toml("[1, 2, 65536, \"unlimited\"]"),
        "a number" => toml("[0, 0.5, 1, 2, 100]"),
        "a share" => toml("[0, 0.001, 0.5, \"99.9%\", 1]"),
        "a time" => texts(&times),
        "a rate" => texts(&rates),
        "a rate or a time" => [texts(&times), texts(&rates)].concat(),
        "an amount of data" => texts(&[
            "0 B", "1 B", "32 B", "63 B", "1000 B", "4 KiB", "1 MiB", "1 TiB",
        ]),
        "a bandwidth" => texts(&bandwidths),
        "a bandwidth or a share" => [texts(&bandwidths), toml("[0.001, 0.5, 1]")].concat(),
        "true or false" => toml("[true, false]"),
        "a list of node numbers" => toml("[[], [0], [0, 1], [3, 5]]"),
        "a list of pairs of node numbers" => toml("[[], [[0, 1]], [[0, 1], [2, 3]]]"),
        "a size" => toml("[2, 8, \"1x4\", \"2x2\", \"8x8\", \"4x4x4\"]"),
        "a list of rings" => toml("[[[0, 1, 2], [2, 3]], [[0, 1], [2, 3]]]"),
        "a list of percentiles" => toml("[[50], [50, 99.9]]"),
        "a set of nodes" => toml("[\"all\", \"part 1 of 2\", \"part 1 of 16\", [0], [0, 1]]"),
        "a list of messages" => toml("[[[0, 1, \"64 KiB\"]], [[0, \"server 0\", \"1 B\"]]]"),
        "a grid" => toml("[1, 16, \"4x4\", \"1x16\"]"),
        "a list of whole numbers" => toml("[[1], [4], [4, 2], [2, 2, 2]]"),
        "a list of names" => toml("[[\"u\"]]"),
        "a list of measures" => toml("[[\"u.response\"], [\"latency\"]]"),
        "a name" => Vec::new(),
        "text" => toml("[\"a b\", \"0 1\\n1 2\", \"* * 0\"]"),
        other => panic!("{}: no values of {other}", field.key),
    }
}

/// The texts in quotation marks.
pub fn quoted(text: &str) -> Vec<String> {
    let between = text.split('"').skip(1).step_by(2);
    between.map(str::to_owned).collect()
}

/// What a hint says to do, each of its ways.
fn advice(error: &ScenarioError) -> Vec<Change> {
    let (field, hint) = (error.field.as_str(), error.hint.as_str());
    let mut ways = Vec::new();
    if hint.starts_with("remove it") || hint.starts_with("leave it out") {
        ways.push(Change::Remove(field.to_owned()));
    }
    if let Some((_, table)) = hint.split_once("remove [") {
        let table = table.split(']').next().expect("a table");
        ways.push(Change::Remove(table.to_owned()));
    }
    if hint == "give one of the two" {
        let other = error.problem.rsplit(' ').next().expect("the other");
        ways.push(Change::Remove(other.to_owned()));
    }
    let words: Vec<&str> = hint.split(' ').collect();
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| words[before]);
        let after = |n: usize| words.get(at + n).copied().unwrap_or_default();
        let rest = words[at + 1..].join(" ");
        match (*word, before) {
            ("=", Some(key)) => {
                let key = key_of(key, field);
                ways.extend(alternatives(&rest).map(|value| Change::Set(key.clone(), value)));
            }
            ("to", Some(key)) if words[..at].contains(&"set") => {
                ways.extend(quantity(&rest).map(|value| Change::Set(key_of(key, field), value)));
            }
            ("above", Some(key)) if after(1) == "0" && words[..at].contains(&"set") => {
                ways.push(Change::Set(key_of(key, field), 0.5.into()));
            }
            ("give" | "use", _) => {
                let rest = rest.strip_prefix("at most ").unwrap_or(&rest);
                match quantity(rest) {
                    Some(value) => ways.push(Change::Set(field.to_owned(), value)),
                    None => {
                        let values = alternatives(rest).map(|v| Change::Set(field.to_owned(), v));
                        ways.extend(values);
                    }
                }
            }
            _ => {}
        }
    }
    ways
}

/// A key as a hint writes it: whole, or one of the same table, or one of a job.
fn key_of(key: &str, field: &str) -> String {
    match field.rsplit_once('.') {
        _ if key.contains('.') => key.to_owned(),
        Some((table, _)) if table.starts_with("workload.jobs") => format!("{table}.{key}"),
        Some(_) if ["traffic", "arrivals", "read_ratio"].contains(&key) => {
            format!("workload.jobs.u.{key}")
        }
        Some((table, _)) => format!("{table}.{key}"),
        None => key.to_owned(),
    }
}

/// The words or the value that a text begins with.
fn alternatives(text: &str) -> impl Iterator<Item = Value> {
    let mut values = Vec::new();
    let mut rest = text;
    while let Some((word, after)) = rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        values.push(Value::from(word));
        rest = [", or ", ", ", " or "]
            .iter()
            .find_map(|between| after.strip_prefix(between))
            .unwrap_or_default();
    }
    if values.is_empty() {
        values.extend(quantity(text));
    }
    values.into_iter()
}

/// The number that a text begins with, with its unit if it has one.
fn quantity(text: &str) -> Option<Value> {
    let mut words = text.split([' ', ',', ';', ':']);
    let number = words.next()?;
    let parsed: f64 = number.parse().ok()?;
    let unit = words.next().unwrap_or_default();
    let units = "ps ns us ms s h B KiB MiB kB MB B/s bit/s kB/s MB/s GB/s kbit/s Mbit/s Gbit/s /s /ms /us /ns";
    if units.split(' ').any(|known| known == unit) {
        return Some(format!("{number} {unit}").into());
    }
    match number.parse::<i64>() {
        Ok(whole) => Some(whole.into()),
        Err(_) => Some(parsed.into()),
    }
}

/// The scenario after a change; `None` if there is nothing to change.
fn changed(scenario: &Table, change: &Change) -> Option<Table> {
    let mut changed = scenario.clone();
    let (key, value) = match change {
        Change::Remove(key) => (key, None),
        Change::Set(key, value) => (key, Some(value)),
    };
    let mut parts = key.split('.').peekable();
    let mut table = &mut changed;
    loop {
        let part = parts.next()?;
        if parts.peek().is_none() {
            return match value {
                Some(value) => {
                    table.insert(part.to_owned(), value.clone());
                    Some(changed)
                }
                None => table.remove(part).map(|_| changed),
            };
        }
        table = match value {
            Some(_) => table
                .entry(part)
                .or_insert_with(|| Table::new().into())
                .as_table_mut()?,
            None => table.get_mut(part)?.as_table_mut()?,
        };
    }
}

/// Whether advice on the field of a refusal was senseless: it gave a value that the field cannot hold, or asked for a field
/// that was not given and has no effect.
fn is_senseless(scenario: &Table, field: &str, next: &Table) -> bool {
    let Err(error) = parse(next) else {
        return false;
    };
    let impossible = ["zero is ", "is out of range"].map(|words| error.problem.contains(words));
    let is_new = changed(scenario, &Change::Remove(field.to_owned())).is_none();
    let has_no_effect = is_new && error.problem.starts_with("it has no effect");
    error.field == field && (has_no_effect || impossible.contains(&true))
}

/// Whether advice leads from a scenario to one that is accepted, or to a refusal that leaves the choice to the reader;
/// never by one on the path.
fn leads_out(scenario: &Table, path: &[Table]) -> bool {
    let Err(error) = parse(scenario) else {
        return true;
    };
    let ways = advice(&error);
    if ways.is_empty() {
        return true;
    }
    if path.len() > STEPS_MAX {
        return false;
    }
    let path = [path, std::slice::from_ref(scenario)].concat();
    ways.iter()
        .filter_map(|way| changed(scenario, way))
        .any(|next| !path.contains(&next) && leads_out(&next, &path))
}

#[test]
fn advice_of_refusals_leads_to_scenarios_that_are_accepted() {
    let (mut tried, mut refused, mut followed) = (0, 0, 0);
    let mut open = BTreeMap::<String, usize>::new();
    let (mut wrong, mut done) = (Vec::new(), BTreeSet::new());
    let fields = KINDS.formats().fields().into_iter();
    let fields: Vec<Field> = fields
        .map(|field| Field {
            key: field.key.replace("NAME", "u"),
            holds: field.holds,
            range: field.range,
            of: field.machine,
        })
        .collect();
    for (form, text) in BASES {
        let base: Table = format!("version = 1\nname = \"x\"\n[machine]\n{text}")
            .parse()
            .expect("a base is TOML");
        parse(&base).unwrap_or_else(|error| panic!("{form}: {error}"));
        let kind = base["machine"]["kind"].as_str().expect("a kind");
        let own = |field: &&Field| {
            let of = field.of.as_str();
            (of.is_empty() || of == *form || of == kind)
                && !field.key.starts_with("sweep.")
                && !["machine.kind", "machine.placement"].contains(&field.key.as_str())
        };
        // Of what all kinds have, one base of each form is enough.
        let first = done.insert(form);
        for field in fields.iter().filter(own) {
            let key = &field.key;
            if !first
                && !["machine", "workload"]
                    .iter()
                    .any(|table| key.starts_with(table))
            {
                continue;
            }
            for value in values(field) {
                let set = Change::Set(key.clone(), value.clone());
                let Some(scenario) = changed(&base, &set) else {
                    continue;
                };
                let Err(error) = parse(&scenario) else {
                    tried += 1;
                    continue;
                };
                if error.problem.starts_with("no such key") {
                    continue;
                }
                tried += 1;
                refused += 1;
                let ways = advice(&error);
                followed += ways.len();
                if ways.is_empty() {
                    *open.entry(format!("{error}")).or_default() += 1;
                }
                for way in ways {
                    let next = changed(&scenario, &way);
                    let out = next.is_some_and(|next| {
                        next != scenario
                            && !is_senseless(&scenario, &error.field, &next)
                            && leads_out(&next, std::slice::from_ref(&scenario))
                    });
                    if !out {
                        wrong.push(format!("{form}: {key} = {value}: {error}\n    {way:?}"));
                    }
                }
            }
        }
    }
    println!("{tried} values, {refused} refused, {followed} pieces of advice followed");
    if std::env::var_os("OPEN").is_some() {
        for (error, count) in &open {
            println!("open {count}: {error}");
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(refused > 300 && followed > 300, "{refused} {followed}");
}
