//! What every file of a journal says of itself before its content, and how that is checked.
//!
//! A file is one line, then the content. The line names the run (scenario, seed, form, versions),
//! the entry, what the entry is about, and the SHA-256 of the content's bytes. A reader knows all
//! of that but the content, so that it writes the line anew and compares bytes: there is no byte
//! in a file whose change goes unseen.

use crate::result::{AxisValue, SCHEMA};
use isthmus_scenario::Described;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::{self, Debug, Write};

/// Version of the form of a journal's files.
const FORMAT: u32 = 1;
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
            name: format!("{}.kept", self.name),
            ..self.clone()
        }
    }

    /// The entry that says which run the journal is of.
    pub fn header() -> Self {
        Self {
            name: "journal".to_owned(),
            machine: String::new(),
            work: String::new(),
        }
    }
}

/// The first line of a file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
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
    sha256: String,
}

impl Line {
    fn of(run: &Run, entry: &Entry, content: &[u8]) -> Self {
        Self {
            isthmus: "journal".to_owned(),
            format: FORMAT,
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            digest: run.digest.clone(),
            seed: run.seed,
            quick: run.quick,
            entry: entry.name.clone(),
            machine: entry.machine.clone(),
            work: entry.work.clone(),
            sha256: hex(Sha256::digest(content).as_slice()),
        }
    }

    /// What of the run or the entry differs, in words; `None` if only the content does.
    fn differs(&self, found: &Self) -> Option<Mismatch> {
        // Versions first: another one may write everything else differently.
        if (&self.version, self.schema) != (&found.version, found.schema) {
            let (here, there) = (&self.version, &found.version);
            let what = format!("the version of isthmus, {there} there and {here} here,");
            return Some(Mismatch::Run(what));
        }
        let rows = [
            (self.format != found.format, "the form of the journal"),
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

/// The bytes of a file with this content.
pub(crate) fn sealed(run: &Run, entry: &Entry, content: &[u8]) -> Vec<u8> {
    let line = serde_json::to_vec(&Line::of(run, entry, content));
    let mut bytes = line.expect("strings and numbers are JSON");
    bytes.push(b'\n');
    bytes.extend_from_slice(content);
    bytes
}

/// The content of a file, if its every byte is as [`sealed`] wrote it for this run and entry.
pub(crate) fn opened<'b>(run: &Run, entry: &Entry, bytes: &'b [u8]) -> Result<&'b [u8], Mismatch> {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    let (line, content) = match end {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &bytes[..0]),
    };
    let expected = Line::of(run, entry, content);
    let written = serde_json::to_vec(&expected).expect("strings and numbers are JSON");
    if end.is_some() && line == written {
        return Ok(content);
    }
    if line.len() > LINE_MAX {
        return Err(Mismatch::Changed("its first line is not that of a journal"));
    }
    match serde_json::from_slice::<Line>(line) {
        Ok(found) => Err(expected.differs(&found).unwrap_or(Mismatch::Changed(
            "its bytes are not those that were written",
        ))),
        // Journals of isthmus 0.1 are bare JSON objects with a version.
        Err(_) if end.is_none() && line.starts_with(b"{\"schema\":") => {
            Err(Mismatch::Run("the form of the journal".to_owned()))
        }
        Err(_) => Err(Mismatch::Changed("its first line is not that of a journal")),
    }
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
        }
        for length in 0..bytes.len() {
            assert!(
                opened(&run, &entry, &bytes[..length]).is_err(),
                "cut at {length}"
            );
        }
        let longer = [&bytes[..], b"\n"].concat();
        assert!(opened(&run, &entry, &longer).is_err());
    }

    #[test]
    fn files_of_others_are_told_by_what_differs() {
        let ours = entry("point-00001");
        let refused = |run_of: Run, of: Entry| {
            let bytes = sealed(&run_of, &of, b"{}");
            opened(&run(), &ours, &bytes).unwrap_err()
        };
        let seed = Run { seed: 2, ..run() };
        assert_eq!(
            refused(seed, ours.clone()),
            Mismatch::Run("the seed".to_owned())
        );
        let quick = Run {
            quick: true,
            ..run()
        };
        assert_eq!(
            refused(quick, ours.clone()),
            Mismatch::Run("--quick".to_owned())
        );
        let scenario = Run {
            digest: "e".repeat(64),
            ..run()
        };
        let what = Mismatch::Run("the scenario".to_owned());
        assert_eq!(refused(scenario, ours.clone()), what);
        let what = Mismatch::Entry("it is of another point");
        assert_eq!(refused(run(), entry("point-00002")), what);
        let machine = Entry {
            machine: "n".repeat(64),
            ..ours.clone()
        };
        let what = Mismatch::Entry("it is of another machine");
        assert_eq!(refused(run(), machine), what);
        let work = Entry {
            work: "v".repeat(64),
            ..ours.clone()
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
