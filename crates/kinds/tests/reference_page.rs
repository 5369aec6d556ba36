//! The reference of the guide, `docs/scenario-fields.md`, is made from `schema::fields`. After a
//! change of the fields regenerate it:
//! `UPDATE_DOCS=1 cargo test -p isthmus-kinds --test all reference_page`

use isthmus_kinds::KINDS;
use isthmus_scenario::FieldInfo;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const HEAD: &str = "\
# Fields of a scenario

<!-- Made from the table that the parser uses. Regenerate it with
     UPDATE_DOCS=1 cargo test -p isthmus-kinds --test all reference_page -->

Every field that a scenario file may have, made from the table that the parser itself uses. How a
file is put together is said in [Scenarios](scenario.md); `isthmus check --fields` prints the same
list.
";

/// The parts in the order of the page: the first name of their keys, the kind of machine whose
/// fields they list (empty: those that all kinds have), title and opening. Parts that all kinds
/// have also list the rows that kinds have in forms of their own.
const PARTS: &[(&str, &str, &str, &str)] = &[
    ("", "", "The experiment", "At the top of the file."),
    (
        "machine",
        "",
        "`[machine]`",
        "The kind decides which other fields of `[machine]` and `[workload]` there are.",
    ),
    (
        "machine",
        "hypercube",
        "`[machine]` of a hypercube",
        "`machine.kind = \"hypercube\"`. Letters are those of Fig. 2 of the hypercube paper; see \
         [The machine](machine.md).",
    ),
    (
        "machine",
        "sci",
        "`[machine]` of an SCI fabric",
        "`machine.kind = \"sci\"`: rings joined by switch nodes. Sections and tables are those of \
         the SCI paper.",
    ),
    (
        "machine",
        "fat-tree",
        "`[machine]` of a fat tree",
        "`machine.kind = \"fat-tree\"`: nodes below levels of switches. Sections are those of the \
         QsNET paper.",
    ),
    (
        "machine",
        "graph",
        "`[machine]` of switches joined in any form",
        "`machine.kind = \"graph\"`: rings, tori, meshes, dragonflies, or the cables listed; see \
         [Networks of switches](graphs.md). Sections are those of the QsNET paper, whose links and \
         interfaces the defaults describe.",
    ),
    (
        "machine",
        "interface",
        "`[machine]` of a network interface",
        "`machine.kind = \"interface\"`: cells of a torus and the interface through which they send; see \
         [A network interface](iwarp.md). Sections and figures are those of the paper on iWarp.",
    ),
    (
        "workload",
        "hypercube",
        "`[workload]` of a hypercube",
        "What every PE asks for; see [Workload and devices](workload.md).",
    ),
    (
        "workload",
        "sci",
        "`[workload]` of an SCI fabric",
        "What the nodes send each other, in files without jobs.",
    ),
    (
        "workload",
        "interface",
        "`[workload]` of a network interface",
        "A stream of application data units. A run is exact: nothing is drawn at random, and `[stop]` \
         has no effect.",
    ),
    (
        "workload",
        "sci-jobs",
        "`[workload]` of an SCI fabric with jobs",
        "The jobs and I/O servers, as of a fat tree, and how messages become transactions: in files \
         with a table `[workload.jobs.NAME]`.",
    ),
    (
        "workload",
        "hypercube-jobs",
        "`[workload]` of a hypercube with jobs",
        "The jobs, as of a fat tree, and how messages become worms: in files with a table \
         `[workload.jobs.NAME]`. The I/O servers are the I/O nodes.",
    ),
    (
        "workload",
        "fat-tree",
        "`[workload]` of a fat tree",
        "The jobs that run on the nodes, each in a table `[workload.jobs.NAME]` with a name of your \
         own, and the I/O servers that they share.",
    ),
    (
        "workload",
        "graph",
        "`[workload]` of switches joined in any form",
        "The jobs and I/O servers, as of a fat tree.",
    ),
    (
        "sweep",
        "",
        "`[sweep]`",
        "`KEY` stands for the key of a field, `NAME` for a name of your own.",
    ),
    ("measure", "", "`[measure]`", "What to report."),
    (
        "stop",
        "",
        "`[stop]`",
        "When a point is known well enough; see [Statistics](statistics.md).",
    ),
    (
        "verdict",
        "",
        "`[verdict]`",
        "When a point counts as saturated.",
    ),
    (
        "search",
        "",
        "`[search]`",
        "Asks for the load at which the machine saturates, for each combination of the other axes.",
    ),
];

/// A part of the page: a table, the kind of machine that has it, the heading, what it begins with.
type Part = (String, String, String, String);

/// All parts: those above, and one for each table of a kind that has none there, behind the last of its
/// table.
fn parts(fields: &[FieldInfo]) -> Vec<Part> {
    let own = |&(table, kind, title, opening): &(&str, &str, &str, &str)| {
        [table, kind, title, opening].map(str::to_owned).into()
    };
    let mut parts: Vec<Part> = PARTS.iter().map(own).collect();
    for field in fields {
        if part(&parts, field).is_some() {
            continue;
        }
        let (table, kind) = (table(field).to_owned(), field.machine.clone());
        let last = parts.iter().rposition(|part| part.0 == table);
        let title = format!("`[{table}]` with `machine.kind = \"{kind}\"`");
        let opening = format!("Fields of `[{table}]` of this kind of machine.");
        let at = last.map_or(parts.len(), |last| last + 1);
        parts.insert(at, (table, kind, title, opening));
    }
    parts
}

/// The table in which a field is.
fn table(field: &FieldInfo) -> &str {
    field.key.split_once('.').map_or("", |(first, _)| first)
}

/// The place of the part that lists the field.
fn part(parts: &[Part], field: &FieldInfo) -> Option<usize> {
    let place = |kind: &str| {
        let mut parts = parts.iter();
        parts.position(|part| (part.0.as_str(), part.1.as_str()) == (table(field), kind))
    };
    place(&field.machine).or_else(|| place(""))
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A default as it would be written, or in words.
fn default(field: &FieldInfo) -> String {
    match toml::from_str::<toml::Table>(&format!("x = {}", field.default)) {
        Ok(_) => format!("`{}`", field.default),
        Err(_) => cell(&field.default),
    }
}

/// What may be written: the words themselves, or what it is and its range.
fn value(field: &FieldInfo) -> String {
    match (field.holds.as_str(), field.range.as_str()) {
        ("a word", words) => cell(words),
        (holds, "any" | "true or false") => cell(holds),
        (holds, range) if range.starts_with(holds.trim_start_matches("a list of ")) => cell(range),
        (holds, range) => format!("{}: {}", cell(holds), cell(range)),
    }
}

/// Which units each kind of value may have.
fn units(fields: &[FieldInfo]) -> String {
    let mut kinds: Vec<(&str, &str)> = Vec::new();
    for field in fields {
        let kind = (field.holds.as_str(), field.units.as_str());
        if !kind.1.is_empty() && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut table = "\n## Units\n\n| value | units |\n|---|---|\n".to_owned();
    for (holds, units) in kinds {
        let _ = writeln!(table, "| {holds} | {units} |");
    }
    table
}

fn page() -> String {
    let fields = KINDS.formats().fields();
    let mut page = HEAD.to_owned();
    page.push_str(&units(&fields));
    let mut written = 0;
    let parts = parts(&fields);
    for (place, (name, machine, title, opening)) in parts.iter().enumerate() {
        let rows: Vec<&FieldInfo> = fields
            .iter()
            .filter(|&field| part(&parts, field) == Some(place))
            .collect();
        assert!(!rows.is_empty(), "no field in the part `{name}` {machine}");
        written += rows.len();
        let _ = write!(
            page,
            "\n## {title}\n\n{opening}\n\n| key | value | default | meaning |\n|---|---|---|---|\n"
        );
        for field in rows {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {}.{} |",
                field.key,
                value(field),
                default(field),
                cell(&field.meaning),
                only(field, machine)
            );
        }
    }
    assert_eq!(
        written,
        fields.len(),
        "every field belongs to a part of the page"
    );
    page
}

/// Where the field applies, beyond what the part of the page says.
fn only(field: &FieldInfo, machine: &str) -> String {
    let mut conditions = Vec::new();
    if let (Some(kind), "") = (field.machine.strip_suffix("-jobs"), machine) {
        conditions.push(format!("machine.kind = \"{kind}\"` and `workload.jobs"));
    } else if field.machine != machine {
        conditions.push(format!("machine.kind = \"{}\"", field.machine));
    }
    if !field.applies.is_empty() {
        conditions.push(cell(&field.applies));
    }
    match conditions[..] {
        [] => String::new(),
        _ => format!(" *Only with* `{}`.", conditions.join("` and `")),
    }
}

#[test]
fn the_page_of_the_guide_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario-fields.md");
    let wanted = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &wanted).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/scenario-fields.md is not what the fields say; regenerate it with \
         UPDATE_DOCS=1 cargo test -p isthmus-kinds --test all reference_page"
    );
}
