//! Format of the first line of each journal file, which identifies the file and contains its checksum.
//!
//! A file is one line, then the content. The line names the run (scenario, seed, `--quick`, versions), the
//! entry, the machine and workload of the entry, and last the seal: the SHA-256 of the rest of the line and
//! of the content's bytes. The seal therefore protects the line as well as the content. [`of_run`] detects a
//! change of any byte of a file and checks the run; [`opened`] also checks the machine and the workload.

use crate::result::{AxisValue, SCHEMA};
use isthmus_scenario::Described;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::{self, Debug, Write};

/// Version of the file format of journals.
const FORMAT: u32 = 2;
/// Name of the journal entry whose file identifies the run.
pub(crate) const HEADER: &str = "journal";
/// Suffix of the names of journal entries that contain the partial results of an unfinished point or search.
pub(crate) const KEPT: &str = ".kept";
/// Maximum length in bytes of a first line that is parsed to explain why it is invalid.
const LINE_MAX: usize = 4096;

/// Identity of the run to which a journal belongs: scenario, seed, `--quick` and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// SHA-256 of the scenario in hexadecimal.
    pub digest: String,
    /// Master seed of the run.
    pub seed: u64,
    /// Whether the run is shortened by the option `--quick`.
    pub quick: bool,
    /// Version of isthmus that carries out the run.
    pub version: String,
}

/// Identity of one journal file: its name, and the inputs that determine its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Name of the entry, and of its file without the extension.
    pub name: String,
    /// SHA-256 of the machine's description in hexadecimal.
    pub machine: String,
    /// SHA-256 of the other inputs in hexadecimal: the workload's description, the values of the axes, the
    /// search.
    pub work: String,
}

impl Entry {
    /// Return the entry `name` for the machine with the digest `machine`, under `workload` at these axis
    /// values. `more` is any other input that affects the result of the entry.
    pub fn new(
        name: String,
        machine: String,
        workload: &Described,
        values: &[Option<AxisValue>],
        more: &dyn Debug,
    ) -> Self {
        Self {
            name,
            machine,
            work: described(&(workload, values, more)),
        }
    }

    /// Return the entry that contains the partial results of this point or search until it is finished.
    pub fn kept(&self) -> Self {
        Self {
            name: format!("{}{KEPT}", self.name),
            ..self.clone()
        }
    }

    /// Return the entry that identifies the journal's run.
    pub fn header() -> Self {
        Self::named(HEADER)
    }

    /// Return the entry `name` with empty digests of machine and workload.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            machine: String::new(),
            work: String::new(),
        }
    }
}

/// First line of a journal file without its seal (the checksum).
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    isthmus: String,
    format: u32,
    schema: u32,
    version: String,
    digest: String,
    seed: u64,
    quick: bool,
    entry: String,
    machine: String,
    work: String,
}

impl Head {
    /// Return the first line, without seal, of the file of `entry` in the journal of `run`.
    fn of(run: &Run, entry: &Entry) -> Self {
        Self {
            isthmus: "journal".to_owned(),
            format: FORMAT,
            schema: SCHEMA,
            version: run.version.clone(),
            digest: run.digest.clone(),
            seed: run.seed,
            quick: run.quick,
            entry: entry.name.clone(),
            machine: entry.machine.clone(),
            work: entry.work.clone(),
        }
    }

    /// Return a mismatch if another version of isthmus wrote the file whose first line is `found`.
    fn other_isthmus(&self, found: &Self) -> Option<Mismatch> {
        let what = if self.version != found.version {
            let (here, there) = (&self.version, &found.version);
            format!("the version of isthmus, {there} there and {here} here,")
        } else if (self.format, self.schema) != (found.format, found.schema) {
            "the form of the journal".to_owned()
        } else {
            return None;
        };
        Some(Mismatch::Run(what))
    }

    /// Compare the first line of a journal file with the expected one. Return a mismatch that names the first field
    /// that differs; `None` if the lines are equal.
    fn differs(&self, found: &Self) -> Option<Mismatch> {
        let rows = [
            (self.digest != found.digest, "the scenario"),
            (self.seed != found.seed, "the seed"),
            (self.quick != found.quick, "--quick"),
        ];
        if let Some((_, what)) = rows.into_iter().find(|(differs, _)| *differs) {
            return Some(Mismatch::Run(what.to_owned()));
        }
        let rows = [
            (self.entry != found.entry, "it is of another point"),
            (self.machine != found.machine, "it is of another machine"),
            (self.work != found.work, "it is of another workload"),
        ];
        let (_, what) = rows.into_iter().find(|(differs, _)| *differs)?;
        Some(Mismatch::Entry(what))
    }
}

/// Reason why the content of a journal file must not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The file belongs to another run; the text names the property that differs.
    Run(String),
    /// The file holds another point or search of this run than its name says; the text names the difference.
    Entry(&'static str),
    /// The file was changed after it was written; the text describes the damage.
    Changed(&'static str),
}

/// Texts before and after the hexadecimal digits of the seal (the checksum) in the first line of a file.
const SEAL: (&[u8], &[u8]) = (b",\"sha256\":\"", b"\"}");
/// Number of hexadecimal digits of a seal, which is a SHA-256.
const DIGITS: usize = 64;

/// Return the bytes of a journal file: the first line with its seal, then `content`.
pub(crate) fn sealed(run: &Run, entry: &Entry, content: &[u8]) -> Vec<u8> {
    let mut bytes =
        serde_json::to_vec(&Head::of(run, entry)).expect("strings and numbers are JSON");
    // Remove the closing brace of the JSON object: the seal becomes its last field.
    bytes.pop();
    let seal = seal(&bytes, content);
    for part in [SEAL.0, seal.as_bytes(), SEAL.1, b"\n", content] {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// Return the content of a file, if every byte is as [`sealed`] wrote it for this run and entry.
pub(crate) fn opened<'b>(run: &Run, entry: &Entry, bytes: &'b [u8]) -> Result<&'b [u8], Mismatch> {
    let expected = Head::of(run, entry);
    let (found, content) = unsealed(&expected, bytes)?;
    match expected.differs(&found) {
        Some(mismatch) => Err(mismatch),
        None => Ok(content),
    }
}

/// Check that every byte of the file is as [`sealed`] wrote it for this run and an entry with this name. The
/// machine and the workload of the entry are not checked.
pub(crate) fn of_run(run: &Run, name: &str, bytes: &[u8]) -> Result<(), Mismatch> {
    let mut expected = Head::of(run, &Entry::named(name));
    let (found, _) = unsealed(&expected, bytes)?;
    expected.machine.clone_from(&found.machine);
    expected.work.clone_from(&found.work);
    expected.differs(&found).map_or(Ok(()), Err)
}

/// Return the first line and the content of a journal file. Return an error if the seal is invalid or another
/// version of isthmus than that of `expected` wrote the file.
fn unsealed<'b>(expected: &Head, bytes: &'b [u8]) -> Result<(Head, &'b [u8]), Mismatch> {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    let (line, content) = match end {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &bytes[..0]),
    };
    // Journals of isthmus 0.1 are plain JSON objects with a version.
    if end.is_none() && line.starts_with(b"{\"schema\":") {
        return Err(Mismatch::Run("the form of the journal".to_owned()));
    }
    let strange = Mismatch::Changed("its first line is not that of a journal");
    let Some((head, found_seal)) = split_line(line) else {
        return Err(strange);
    };
    let Ok(found) = serde_json::from_slice::<Head>(&[head, b"}"].concat()) else {
        return Err(strange);
    };
    if let Some(other) = expected.other_isthmus(&found) {
        return Err(other);
    }
    if end.is_none() || seal(head, content).as_bytes() != found_seal {
        return Err(Mismatch::Changed(
            "its bytes are not those that were written",
        ));
    }
    Ok((found, content))
}

/// Split the first line of a journal file into the description of the file (JSON without the last brace) and the seal,
/// its SHA-256; `None` if the line has another form.
fn split_line(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = (line.len() <= LINE_MAX)
        .then_some(line)?
        .strip_suffix(SEAL.1)?;
    let (head, found_seal) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    Some((head.strip_suffix(SEAL.0)?, found_seal))
}

/// Return the seal of a file in hexadecimal: the SHA-256 of its first line without the seal and of its
/// content.
fn seal(head: &[u8], content: &[u8]) -> String {
    let mut hashed = Sha256::new();
    hashed.update(head);
    hashed.update(b"\n");
    hashed.update(content);
    hex(hashed.finalize().as_slice())
}

/// Return the SHA-256, in hexadecimal, of the `Debug` form of a machine or a workload.
pub(crate) fn described(description: &dyn Debug) -> String {
    /// Adapter that writes formatted text into a hash.
    struct Hashed(Sha256);
    impl Write for Hashed {
        /// Add the text to the hash.
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut hashed = Hashed(Sha256::new());
    write!(hashed, "{description:?}").expect("hashing cannot fail");
    hex(hashed.0.finalize().as_slice())
}

/// Return bytes as text in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return a run for the tests.
    fn run() -> Run {
        Run {
            digest: "d".repeat(64),
            seed: 1,
            quick: false,
            version: "0.2.0".to_owned(),
        }
    }

    /// Return a journal entry with this name for the tests.
    fn entry(name: &str) -> Entry {
        Entry {
            name: name.to_owned(),
            machine: "m".repeat(64),
            work: "w".repeat(64),
        }
    }

    /// Checks that [`opened`] returns the content of a journal file unchanged, whatever its bytes.
    #[test]
    fn opened_returns_any_sealed_content() {
        for content in [&b""[..], b"{}", b"\n\n", &[0, 255, 10, 13]] {
            let bytes = sealed(&run(), &entry("point-00001"), content);
            assert_eq!(opened(&run(), &entry("point-00001"), &bytes), Ok(content));
        }
    }

    /// Tests each flipped bit of a small journal file, and each position at which it can be truncated.
    #[test]
    fn opened_detects_every_changed_bit_and_every_truncation() {
        let (run, entry) = (run(), entry("point-00001"));
        let bytes = sealed(&run, &entry, b"{\"mean\":1.25}");
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(opened(&run, &entry, &flipped).is_err(), "bit {bit}");
            assert!(of_run(&run, &entry.name, &flipped).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(
                opened(&run, &entry, &bytes[..length]).is_err(),
                "cut at {length}"
            );
            assert!(of_run(&run, &entry.name, &bytes[..length]).is_err());
        }
        let longer = [&bytes[..], b"\n"].concat();
        assert!(opened(&run, &entry, &longer).is_err());
        assert!(of_run(&run, &entry.name, &longer).is_err());
        assert_eq!(of_run(&run, &entry.name, &bytes), Ok(()));
    }

    /// Checks that [`of_run`] reports files of another run or another entry, for any machine and workload.
    #[test]
    fn of_run_reports_files_of_other_runs_and_entries() {
        let own = entry("point-00001");
        let check =
            |run_of: Run, of: &Entry| of_run(&run(), &own.name, &sealed(&run_of, of, b"{}"));
        let what = |what: &str| Err(Mismatch::Run(what.to_owned()));
        assert_eq!(check(Run { seed: 2, ..run() }, &own), what("the seed"));
        let quick = Run {
            quick: true,
            ..run()
        };
        assert_eq!(check(quick, &own), what("--quick"));
        let digest = "e".repeat(64);
        assert_eq!(check(Run { digest, ..run() }, &own), what("the scenario"));
        let version = "0.3.0".to_owned();
        let versions = "the version of isthmus, 0.3.0 there and 0.2.0 here,";
        assert_eq!(check(Run { version, ..run() }, &own), what(versions));
        let other = Err(Mismatch::Entry("it is of another point"));
        assert_eq!(check(run(), &entry("point-00002")), other);
        assert_eq!(check(run(), &own.kept()), other);
        let work = "v".repeat(64);
        assert_eq!(
            check(
                run(),
                &Entry {
                    work,
                    ..own.clone()
                }
            ),
            Ok(())
        );
    }

    /// Checks that the error for a file of another run or entry names the property that differs.
    #[test]
    fn opened_reports_the_property_that_differs() {
        let own = entry("point-00001");
        let refused = |run_of: Run, of: Entry| {
            let bytes = sealed(&run_of, &of, b"{}");
            opened(&run(), &own, &bytes).unwrap_err()
        };
        let seed = Run { seed: 2, ..run() };
        assert_eq!(
            refused(seed, own.clone()),
            Mismatch::Run("the seed".to_owned())
        );
        let quick = Run {
            quick: true,
            ..run()
        };
        assert_eq!(
            refused(quick, own.clone()),
            Mismatch::Run("--quick".to_owned())
        );
        let scenario = Run {
            digest: "e".repeat(64),
            ..run()
        };
        let what = Mismatch::Run("the scenario".to_owned());
        assert_eq!(refused(scenario, own.clone()), what);
        let what = Mismatch::Entry("it is of another point");
        assert_eq!(refused(run(), entry("point-00002")), what);
        let machine = Entry {
            machine: "n".repeat(64),
            ..own.clone()
        };
        let what = Mismatch::Entry("it is of another machine");
        assert_eq!(refused(run(), machine), what);
        let work = Entry {
            work: "v".repeat(64),
            ..own.clone()
        };
        let what = Mismatch::Entry("it is of another workload");
        assert_eq!(refused(run(), work), what);
    }

    /// Checks that journals of isthmus 0.1, whose first line has another form, are rejected.
    #[test]
    fn journals_of_version_0_1_are_rejected() {
        let old =
            b"{\"schema\":2,\"version\":\"0.1.0\",\"digest\":\"\",\"seed\":1,\"quick\":false}";
        let what = Mismatch::Run("the form of the journal".to_owned());
        assert_eq!(opened(&run(), &Entry::header(), old), Err(what));
    }
}
