//! The audit log: one line for each request, with the time, the client, the request and the result.
//!
//! A thread writes the log, because a disk may block. A caller never waits: when too many lines
//! wait to be written, further ones are only counted, and the count is logged in their place.

use isthmus_wire::{Error, Result};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// Maximum number of lines that wait to be written.
const LINES: usize = 4096;

/// Maximum number of refused clients that are logged in a second.
const REFUSALS: u32 = 10;

/// Time within which the last lines must be written when the log is stopped.
const LAST: Duration = Duration::from_secs(2);

/// The destination of the audit log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Logs {
    /// No audit log is written.
    #[default]
    None,
    /// The log is written to standard error.
    Stderr,
    /// The log is appended to this file, which only the user of the daemon can read.
    File(PathBuf),
}

/// A message to the thread that writes the log.
enum Message {
    Line(String),
    /// Asks the thread to check the [`Flags`], which request to reopen the log or to stop.
    Check,
}

/// Flags that request an action of the thread that writes the log. They also reach it when the
/// queue is full.
#[derive(Debug, Default)]
struct Flags {
    reopen: AtomicBool,
    stop: AtomicBool,
}

/// The audit log of a daemon.
#[derive(Debug)]
pub struct Log {
    queue: Option<SyncSender<Message>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    lost: Arc<AtomicU64>,
    flags: Arc<Flags>,
}

impl Log {
    /// Start the thread that writes the log.
    ///
    /// # Errors
    /// The log file cannot be opened, or the system cannot start a thread.
    pub fn start(to: &Logs) -> Result<Self> {
        let lost = Arc::new(AtomicU64::new(0));
        let flags = Arc::new(Flags::default());
        let none = Self {
            queue: None,
            thread: Mutex::new(None),
            lost: Arc::clone(&lost),
            flags: Arc::clone(&flags),
        };
        let out: Out = match to {
            Logs::None => return Ok(none),
            Logs::Stderr => Out::Stderr,
            Logs::File(path) => {
                let what = format!("the log {}", path.display());
                let file = open(path).map_err(|error| Error::system(what, error))?;
                Out::File(path.clone(), file)
            }
        };
        let (queue, messages) = sync_channel(LINES);
        let (counts, seen) = (Arc::clone(&lost), Arc::clone(&flags));
        let thread = std::thread::Builder::new().name("log".into());
        let thread = thread.spawn(move || write(out, &messages, &counts, &seen));
        let thread = thread.map_err(|error| Error::system("the thread of the log", error))?;
        Ok(Self {
            queue: Some(queue),
            thread: Mutex::new(Some(thread)),
            lost,
            flags,
        })
    }

    /// Append a line to the log: the client `who`, its request `what`, and the result.
    pub fn record(&self, who: &str, what: &str, result: &str) {
        let Some(queue) = &self.queue else {
            return;
        };
        let time = time(SystemTime::now());
        let line = format!(
            "{time} {} | {} | {}\n",
            one_field(who),
            one_field(what),
            one_field(result)
        );
        if queue.try_send(Message::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Open the log file again, after another program has renamed it.
    pub fn reopen(&self) {
        self.flags.reopen.store(true, Ordering::Release);
        self.nudge();
    }

    /// Write the remaining lines and stop the writing thread, which is abandoned if that takes too
    /// long.
    pub fn stop(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = thread.take() else {
            return;
        };
        self.flags.stop.store(true, Ordering::Release);
        self.nudge();
        let until = Instant::now() + LAST;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        if thread.is_finished() {
            // A panic of the thread is already printed to standard error.
            let _ = thread.join();
        }
    }

    /// Make the thread that writes the log check the [`Flags`].
    fn nudge(&self) {
        if let Some(queue) = &self.queue {
            // Ignore an error: when the queue is full, the thread checks the flags after the
            // current line.
            let _ = queue.try_send(Message::Check);
        }
    }
}

/// A limit on logged refusals: only the first refusals of each second are logged, and the number of
/// the others.
#[derive(Debug)]
pub struct Refusals(Mutex<Second>);

/// The refusals of clients in the current second.
#[derive(Debug)]
struct Second {
    started: Instant,
    logged: u32,
    left_out: u64,
}

impl Default for Refusals {
    /// Return the state before the first refusal. Its first second starts now.
    fn default() -> Self {
        Self(Mutex::new(Second {
            started: Instant::now(),
            logged: 0,
            left_out: 0,
        }))
    }
}

impl Refusals {
    /// Log the refusal of a client, or count it if the limit is reached.
    pub fn record(&self, log: &Log, who: &str, what: &str, result: &str) {
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if second.started.elapsed() >= Duration::from_secs(1) {
            second.log_left_out(log);
            (second.started, second.logged) = (Instant::now(), 0);
        }
        if second.logged == REFUSALS {
            second.left_out += 1;
        } else {
            second.logged += 1;
            log.record(who, what, result);
        }
    }

    /// Log the number of refusals of the current second that were left out of the log, before the
    /// log ends.
    pub fn finish(&self, log: &Log) {
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        second.log_left_out(log);
    }
}

impl Second {
    /// Log the number of refusals in the second that were left out of the log.
    fn log_left_out(&mut self, log: &Log) {
        let more = std::mem::take(&mut self.left_out);
        if more > 0 {
            log.record("the log", "leaves out", &format!("{more} refusals"));
        }
    }
}

/// The open destination of the audit log.
enum Out {
    Stderr,
    File(PathBuf, File),
}

/// Open the log file for appending.
fn open(path: &PathBuf) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    // Without `NONBLOCK`, opening a FIFO without a reader would block.
    let flags = OFlags::NONBLOCK.bits() as i32;
    options.append(true).create(true).mode(0o600);
    options.custom_flags(flags).open(path)
}

/// Write the messages of the queue to the log until the log is stopped.
fn write(mut out: Out, messages: &Receiver<Message>, lost: &AtomicU64, flags: &Flags) {
    let mut is_cut_short = false;
    loop {
        if flags.reopen.swap(false, Ordering::AcqRel)
            && let Out::File(path, file) = &mut out
            && let Ok(new) = open(path)
        {
            *file = new;
            is_cut_short = false;
        }
        let message = match messages.try_recv() {
            Ok(message) => message,
            Err(_) if flags.stop.load(Ordering::Acquire) => return,
            Err(_) => match messages.recv() {
                Ok(message) => message,
                Err(_) => return,
            },
        };
        let Message::Line(line) = message else {
            continue;
        };
        let missing = lost.swap(0, Ordering::Relaxed);
        let now = time(SystemTime::now());
        let words = match missing {
            0 => String::new(),
            lines => format!("{now} the log | is behind | {lines} lines are left out here\n"),
        };
        // Start a new line after a line of which only a part was written.
        let begin = if is_cut_short { "\n" } else { "" };
        let all = format!("{begin}{words}{line}");
        let written = match &mut out {
            Out::Stderr => std::io::stderr().write_all(all.as_bytes()),
            Out::File(_, file) => file.write_all(all.as_bytes()),
        };
        if written.is_err() {
            // The count of missing lines is logged when there is room again.
            lost.fetch_add(missing + 1, Ordering::Relaxed);
        }
        is_cut_short = written.is_err();
    }
}

/// Replace characters in a text that would end a line or a field of the log, as clients choose the
/// text.
fn one_field(text: &str) -> String {
    // Some programs end a line at the Unicode line and paragraph separators.
    let breaks = |c: char| c.is_control() || "|\u{2028}\u{2029}".contains(c);
    let fit = |c: char| if breaks(c) { ' ' } else { c };
    text.chars().map(fit).collect()
}

/// Format a time in UTC, as `2026-11-25T07:03:00.250Z`.
fn time(at: SystemTime) -> impl std::fmt::Display {
    humantime::format_rfc3339_millis(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    /// Checks that the log counts the lines for which its queue has no room, and that it contains
    /// this count.
    #[test]
    fn all_lines_that_found_no_room_are_counted() {
        let path = std::env::temp_dir().join(format!("isthmus-log-{}", std::process::id()));
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (queue, messages) = sync_channel(LINES);
        let (lost, flags) = (&AtomicU64::new(0), &Flags::default());
        let out = Out::File(path.clone(), full);
        std::thread::scope(|scope| {
            scope.spawn(move || write(out, &messages, lost, flags));
            for _ in 0..3 {
                queue.send(Message::Line("lost\n".into())).unwrap();
            }
            while lost.load(Ordering::Relaxed) < 3 {
                std::thread::yield_now();
            }
            flags.reopen.store(true, Ordering::Release);
            // The thread gets this message before the next line, however fast it writes.
            queue.send(Message::Check).unwrap();
            queue.send(Message::Line("kept\n".into())).unwrap();
            drop(queue);
        });
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert!(
            lines[0].ends_with("| is behind | 3 lines are left out here"),
            "{text}"
        );
        assert_eq!(lines[1..], ["kept"]);
    }

    /// Checks that only some refusals of a second are logged, and that the others are counted.
    #[test]
    fn refusals_of_a_second_are_few_and_counted() {
        let path = std::env::temp_dir().join(format!("isthmus-refused-{}", std::process::id()));
        let log = Log::start(&Logs::File(path.clone())).unwrap();
        let refusals = Refusals::default();
        for number in 0..1000 {
            refusals.record(&log, "a", &number.to_string(), "refused");
        }
        refusals.finish(&log);
        log.stop();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        // On a slow machine these refusals may take several seconds, each with logged refusals.
        assert!(lines.len() < 100, "{text}");
        let left_out = lines.iter().filter_map(|line| {
            let (_, rest) = line.split_once("the log | leaves out | ")?;
            rest.split(' ').next()?.parse::<usize>().ok()
        });
        let said = lines.iter().filter(|line| line.ends_with("| refused"));
        assert_eq!(left_out.sum::<usize>() + said.count(), 1000);
    }

    /// Checks the format of times: UTC, with milliseconds.
    #[test]
    fn times_are_in_utc_to_the_millisecond() {
        let at = UNIX_EPOCH + Duration::from_millis(1_795_590_180_250);
        assert_eq!(time(at).to_string(), "2026-11-25T07:03:00.250Z");
    }

    /// Checks that the name of a client cannot start a new line or field in the log.
    #[test]
    fn a_name_cannot_make_a_line_of_its_own() {
        assert_eq!(one_field("a\n2026 | b"), "a 2026   b");
        assert_eq!(one_field("a\u{85}\u{2028}\u{2029}b"), "a   b");
    }
}
