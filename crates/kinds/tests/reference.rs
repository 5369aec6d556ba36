//! The reference and the parser read one table; these tests hold them to it.

use isthmus_kinds::KINDS;
use isthmus_scenario::FieldInfo;
use std::collections::BTreeSet;

#[test]
fn what_kinds_say_of_their_fields_can_be() {
    assert_eq!(KINDS.formats().flaws(), [""; 0]);
}

#[test]
fn keys_are_unique_and_rows_complete() {
    let fields = KINDS.formats().fields();
    let keys: BTreeSet<(&str, &str)> = fields
        .iter()
        .map(|field| (field.key.as_str(), field.machine.as_str()))
        .collect();
    assert_eq!(keys.len(), fields.len());
    // What all kinds have in one form, none has in a form of its own.
    for field in fields.iter().filter(|field| !field.machine.is_empty()) {
        assert!(!keys.contains(&(field.key.as_str(), "")), "{field:?}");
    }
    for field in &fields {
        let complete = [&field.holds, &field.default, &field.range, &field.meaning];
        assert!(complete.iter().all(|text| !text.is_empty()), "{field:?}");
    }
}

/// A small file of each kind of machine.
const SMALLEST: [(&str, &str); 5] = [
    (
        "hypercube",
        "version = 1\nname = \"d\"\nmachine.kind = \"hypercube\"\nmachine.dimension = 4\n\
         machine.lanes.io_link = 2\nworkload.interarrival = \"1 ms\"\n",
    ),
    (
        "sci",
        "version = 1\nname = \"d\"\nmachine.kind = \"sci\"\nmachine.fabric = \"ring\"\n\
         machine.size = 8\nworkload.load = \"1 GB/s\"\n",
    ),
    (
        "sci-jobs",
        "version = 1\nname = \"d\"\nmachine.kind = \"sci\"\nmachine.fabric = \"ring\"\n\
         machine.size = 8\nworkload.jobs.NAME.traffic = \"uniform\"\n",
    ),
    (
        "hypercube-jobs",
        "version = 1\nname = \"d\"\nmachine.kind = \"hypercube\"\nmachine.dimension = 3\n\
         machine.lanes.io_link = 1\nworkload.jobs.NAME.traffic = \"uniform\"\n",
    ),
    (
        "fat-tree",
        "version = 1\nname = \"d\"\nmachine.kind = \"fat-tree\"\nmachine.arity = 4\n\
         machine.levels = 3\nworkload.jobs.NAME.traffic = \"uniform\"\n",
    ),
];

/// The word of a kind of machine in files of a form.
fn word_of(form: &str) -> &str {
    form.strip_suffix("-jobs").unwrap_or(form)
}

/// The fields that a file of this kind of machine may have, those of the sweep left out.
fn fields_of(kind: &str) -> Vec<FieldInfo> {
    let mut fields = KINDS.formats().fields();
    // Machines are those of the kind, whatever its work.
    let of_machine = word_of(kind);
    fields.retain(|field| {
        let of_kind = match field.key.starts_with("machine.") {
            true => of_machine,
            false => kind,
        };
        (field.machine.is_empty() || field.machine == of_kind) && !field.key.starts_with("sweep.")
    });
    fields
}

/// Writing every default out changes nothing, so the reference states the true defaults.
#[test]
fn stated_defaults_are_the_defaults() {
    for (kind, base) in SMALLEST {
        let implicit = KINDS.parse(base, "base", &[]).expect("it is right");
        assert_eq!(implicit.form(), kind);
        let mut checked = 0;
        for field in fields_of(kind) {
            let stated = toml::from_str::<toml::Table>(&format!("x = {}", field.default)).is_ok();
            if !stated || !field.applies.is_empty() || field.key.starts_with("search.") {
                continue;
            }
            let text = format!("{base}{} = {}\n", field.key, field.default);
            let explicit = KINDS
                .parse(&text, "explicit", &[])
                .unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(explicit.machine, implicit.machine, "{}", field.key);
            assert_eq!(explicit.workload, implicit.workload, "{}", field.key);
            assert_eq!(explicit.stop, implicit.stop, "{}", field.key);
            assert_eq!(explicit.measure, implicit.measure, "{}", field.key);
            assert_eq!(explicit.verdict, implicit.verdict, "{}", field.key);
            assert_eq!(explicit.seed, implicit.seed, "{}", field.key);
            checked += 1;
        }
        assert!(
            checked > 25,
            "only {checked} fields of {kind} state a default"
        );
    }
}

/// Every key of the reference is one that the parser knows, for its kind of machine and no other.
#[test]
fn documented_keys_are_known_to_their_kind() {
    let problem = |kind: &str, key: &str| {
        // A job called NAME, so that the keys of the reference are those of that job.
        let word = word_of(kind);
        let base = format!("version = 1\nname = \"d\"\nmachine.kind = \"{word}\"\n");
        let base = match kind {
            "fat-tree" | "sci-jobs" | "hypercube-jobs" => format!("{base}[workload.jobs.NAME]\n"),
            _ => base,
        };
        let setting = format!("{key}=[{{}}]");
        KINDS
            .parse(&base, "base", &[setting])
            .expect_err("[{}] is no value")
            .problem
    };
    let kinds = SMALLEST.map(|(kind, _)| kind);
    for kind in kinds {
        for field in fields_of(kind) {
            let problem = problem(kind, &field.key);
            assert!(
                !problem.starts_with("no such key"),
                "{}: {problem}",
                field.key
            );
        }
    }
    let fields = KINDS.formats().fields();
    for kind in kinds {
        let own: BTreeSet<String> = fields_of(kind).into_iter().map(|field| field.key).collect();
        let others = fields.iter().filter(|field| {
            let is_other = !field.machine.is_empty() && field.machine != kind;
            is_other && !own.contains(&field.key) && !field.key.starts_with("sweep.")
        });
        for field in others {
            assert_eq!(
                problem(kind, &field.key),
                format!("no such key with machine.kind = \"{}\"", word_of(kind)),
                "{}",
                field.key
            );
        }
    }
}

#[test]
fn rows_are_objects_for_scripts() {
    let json = serde_json::to_value(KINDS.formats().fields()).expect("rows are plain");
    let row = json
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["key"] == "machine.lanes.pe"))
        .expect("the reference has k");
    assert_eq!(row["type"], "a whole number of lanes");
    assert_eq!(row["range"], "1 to 65535");
    assert_eq!(row["default"], "dimension + 2");
    let row = json
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["key"] == "workload.burst_gap"))
        .expect("the reference has the gap of a burst");
    assert_eq!(row["applies"], "workload.arrival = \"bursty\"");
    assert_eq!(row["units"], "ps, ns, us, ms, s, min, h");
    assert_eq!(row["machine"], "hypercube");
}
