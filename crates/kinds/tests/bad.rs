//! Files that are wrong, and the one line that says so: the cases of `bad.toml`, `bad_sci.toml`,
//! `bad_sci_jobs.toml`, `bad_fattree.toml` and `bad_graph.toml`.

use isthmus_kinds::KINDS;
use isthmus_scenario::Place;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    base: String,
    case: Vec<Case>,
}

/// The base file with `replace` put in place of `find` and `append` after it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    find: Option<String>,
    #[serde(default)]
    replace: String,
    #[serde(default)]
    append: String,
    #[serde(default)]
    overrides: Vec<String>,
    error: String,
    column: Option<u32>,
}

/// One suite for each kind of machine.
fn suites() -> [Suite; 5] {
    [
        include_str!("bad.toml"),
        include_str!("bad_sci.toml"),
        include_str!("bad_sci_jobs.toml"),
        include_str!("bad_fattree.toml"),
        include_str!("bad_graph.toml"),
    ]
    .map(|text| toml::from_str(text).expect("the suite is TOML"))
}

fn text_of(base: &str, case: &Case) -> String {
    let mut text = base.to_owned();
    if let Some(find) = &case.find {
        assert_eq!(
            text.matches(find.as_str()).count(),
            1,
            "{}: `{find}`",
            case.name
        );
        text = text.replace(find.as_str(), &case.replace);
    }
    text + &case.append
}

#[test]
fn the_bases_are_right() {
    for suite in suites() {
        let scenario = KINDS.parse(&suite.base, "s.toml", &[]);
        assert!(scenario.is_ok(), "{scenario:?}");
    }
}

#[test]
fn each_case_gives_its_line() {
    let suites = suites();
    let cases = suites
        .iter()
        .flat_map(|suite| suite.case.iter().map(|case| (&suite.base, case)));
    let mut wrong = Vec::new();
    for (base, case) in cases {
        let text = text_of(base, case);
        match KINDS.parse(&text, "s.toml", &case.overrides) {
            Ok(_) => wrong.push(format!("{}: no error", case.name)),
            Err(error) => {
                if error.to_string() != case.error {
                    wrong.push(format!(
                        "{}\n  want: {}\n  have: {error}",
                        case.name, case.error
                    ));
                }
                if case.column.is_some() && error.column() != case.column {
                    wrong.push(format!("{}: column {:?}", case.name, error.column()));
                }
                let by_override = matches!(error.place, Place::Override { .. });
                assert_eq!(error.file().is_none(), by_override, "{}", case.name);
                assert!(
                    !error.problem.is_empty() && !error.hint.is_empty(),
                    "{}",
                    case.name
                );
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn names_of_cases_are_unique() {
    let mut names: Vec<String> = suites()
        .into_iter()
        .flat_map(|suite| suite.case)
        .map(|case| case.name)
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}
