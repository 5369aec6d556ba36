//! Files that are wrong, and the one line that says so: the cases of all files `bad*.toml` beside this one.

use isthmus_kinds::KINDS;
use isthmus_scenario::Place;
use serde::Deserialize;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

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

/// The suites of this folder, by name.
fn suites() -> Vec<Suite> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = fs::read_dir(folder).expect("the folder of the tests");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.starts_with("bad") && name.ends_with(".toml")
    });
    paths.sort();
    let read = |path| fs::read_to_string(path).expect("a file of text");
    let suites = paths.iter().map(read);
    suites
        .map(|text| toml::from_str(&text).expect("the suite is TOML"))
        .collect()
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
