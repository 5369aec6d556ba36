//! What every file of a journal says of itself before its content, and how that is checked.
//!
//! A file is one line, then the content. The line names the run (scenario, seed, form, versions),
//! the entry, what the entry is about, and last the seal: the SHA-256 of the rest of the line and of the
//! content's bytes. So the line is as safe as the content, also for who knows only which run a
//! folder is of, and not what its points are about: there is no byte in a file whose change
//! goes unseen by [`of_run`], nor by [`opened`], which also knows the latter.

use crate::result::{AxisValue, SCHEMA};
use isthmus_scenario::Described;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::{self, Debug, Write};

/// Version of the form of a journal's files.
const FORMAT: u32 = 2;
/// The name of the entry that says which run a journal is of.
pub(crate) const HEADER: &str = "journal";
/// How the name of an entry ends that has what is finished of another one.
pub(crate) const KEPT: &str = ".kept";
/// The longest first line that is read to say what is wrong with it.
const LINE_MAX: usize = 4096;

/// Which run a journal belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// Digest of the scenario.
    pub digest: String,
    /// Master seed in use.
    pub seed: u64,
    /// Whether this is the shortened form.
    pub quick: bool,
    /// Version of isthmus.
    pub version: String,
}

/// Which entry of the journal a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its name, that of its file without the ending.
    pub name: String,
    /// Digest of the machine's description.
    pub machine: String,
    /// Digest of the rest: the workload's description, the values of the axes, the search.
    pub work: String,
}

impl Entry {
    /// The entry of that name about the machine of that digest under `workload` with those values of
    /// the axes; `more` is whatever else decides its result.
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

    /// The entry of what is finished of this one before it is.
    pub fn kept(&self) -> Self {
        Self {
            name: format!("{}{KEPT}", self.name),
            ..self.clone()
        }
    }

    /// The entry that says which run the journal is of.
    pub fn header() -> Self {
        Self::named(HEADER)
    }

    /// The entry of that name, about nothing.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            machine: String::new(),
            work: String::new(),
        }
    }
}

/// The first line of a file but for its seal.
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

    /// That the file is of another isthmus, which may write all but this otherwise.
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

    /// What of the run or the entry differs, in words.
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

/// Why the bytes of a file are not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The file is of another run: what differs.
    Run(String),
    /// The file is of this run and of another point.
    Entry(&'static str),
    /// The file is not as it was written.
    Changed(&'static str),
}

/// What stands in the first line between the head and the seal, and after that.
const SEAL: (&[u8], &[u8]) = (b",\"sha256\":\"", b"\"}");
/// Characters of a seal.
const DIGITS: usize = 64;

/// The bytes of a file with this content.
pub(crate) fn sealed(run: &Run, entry: &Entry, content: &[u8]) -> Vec<u8> {
    let mut bytes =
        serde_json::to_vec(&Head::of(run, entry)).expect("strings and numbers are JSON");
    // The head goes on with the seal.
    bytes.pop();
    let seal = seal(&bytes, content);
    for part in [SEAL.0, seal.as_bytes(), SEAL.1, b"\n", content] {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// The content of a file, if its every byte is as [`sealed`] wrote it for this run and entry.
pub(crate) fn opened<'b>(run: &Run, entry: &Entry, bytes: &'b [u8]) -> Result<&'b [u8], Mismatch> {
    let expected = Head::of(run, entry);
    let (found, content) = unsealed(&expected, bytes)?;
    match expected.differs(&found) {
        Some(mismatch) => Err(mismatch),
        None => Ok(content),
    }
}

/// That the file's every byte is as [`sealed`] wrote it for this run and the entry of this name, whatever that is
/// about.
pub(crate) fn of_run(run: &Run, name: &str, bytes: &[u8]) -> Result<(), Mismatch> {
    let mut expected = Head::of(run, &Entry::named(name));
    let (found, _) = unsealed(&expected, bytes)?;
    expected.machine.clone_from(&found.machine);
    expected.work.clone_from(&found.work);
    expected.differs(&found).map_or(Ok(()), Err)
}

/// Head and content of a file whose seal holds. Of what is `expected` it is of the same isthmus.
fn unsealed<'b>(expected: &Head, bytes: &'b [u8]) -> Result<(Head, &'b [u8]), Mismatch> {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    let (line, content) = match end {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &bytes[..0]),
    };
    // Journals of isthmus 0.1 are bare JSON objects with a version.
    if end.is_none() && line.starts_with(b"{\"schema\":") {
        return Err(Mismatch::Run("the form of the journal".to_owned()));
    }
    let strange = Mismatch::Changed("its first line is not that of a journal");
    let Some((head, found_seal)) = parted(line) else {
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

/// Split a first line into its head, without the last brace, and its seal.
fn parted(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = (line.len() <= LINE_MAX)
        .then_some(line)?
        .strip_suffix(SEAL.1)?;
    let (head, found_seal) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    Some((head.strip_suffix(SEAL.0)?, found_seal))
}

/// The SHA-256 of head and content.
fn seal(head: &[u8], content: &[u8]) -> String {
    let mut hashed = Sha256::new();
    hashed.update(head);
    hashed.update(b"\n");
    hashed.update(content);
    hex(hashed.finalize().as_slice())
}

/// SHA-256 of what a description's `Debug` form says.
pub(crate) fn described(description: &dyn Debug) -> String {
    struct Hashed(Sha256);
    impl Write for Hashed {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut hashed = Hashed(Sha256::new());
    write!(hashed, "{description:?}").expect("hashing cannot fail");
    hex(hashed.0.finalize().as_slice())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        Run {
            digest: "d".repeat(64),
            seed: 1,
            quick: false,
            version: "0.2.0".to_owned(),
        }
    }

    fn entry(name: &str) -> Entry {
        Entry {
            name: name.to_owned(),
            machine: "m".repeat(64),
            work: "w".repeat(64),
        }
    }

    #[test]
    fn content_comes_back_whatever_it_is() {
        for content in [&b""[..], b"{}", b"\n\n", &[0, 255, 10, 13]] {
            let bytes = sealed(&run(), &entry("point-00001"), content);
            assert_eq!(opened(&run(), &entry("point-00001"), &bytes), Ok(content));
        }
    }

    /// Every bit of a small file, and every place at which it can be cut.
    #[test]
    fn no_change_goes_unseen() {
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

    /// [`of_run`] reports files of another run or another entry, whatever the entry is about.
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

    #[test]
    fn opened_reports_what_differs() {
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

    #[test]
    fn journals_of_0_1_are_of_another_form() {
        let old =
            b"{\"schema\":2,\"version\":\"0.1.0\",\"digest\":\"\",\"seed\":1,\"quick\":false}";
        let what = Mismatch::Run("the form of the journal".to_owned());
        assert_eq!(opened(&run(), &Entry::header(), old), Err(what));
    }
}
