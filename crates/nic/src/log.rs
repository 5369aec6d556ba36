//! The log: a line for each act, with the time, who, what, and what came of it.
//!
//! A thread of its own writes, as a disk may make it wait. Who logs never waits: where the thread
//! is behind by too many lines, further ones are counted, and the count is logged in their place.

use crate::error::{Error, Result};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Lines that wait to be written at most.
const LINES: usize = 4096;

/// Refusals of one kind that are logged in a second at most.
const REFUSALS: u32 = 10;

/// How long the end waits for lines to be written.
const LAST: Duration = Duration::from_secs(2);

/// Where the log goes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Logs {
    /// Nowhere.
    #[default]
    None,
    /// To standard error.
    Stderr,
    /// To the end of a file, which is for the daemon's user alone.
    File(PathBuf),
}

enum Ask {
    Line(String),
    /// Something else is asked: see [`Wish`].
    Look,
}

/// What is asked of the thread beside lines, whether or not it is behind.
#[derive(Debug, Default)]
struct Wish {
    reopen: AtomicBool,
    end: AtomicBool,
}

/// A log that is written.
#[derive(Debug)]
pub(crate) struct Log {
    asks: Option<SyncSender<Ask>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    lost: Arc<AtomicU64>,
    wish: Arc<Wish>,
}

impl Log {
    pub fn start(to: &Logs) -> Result<Self> {
        let lost = Arc::new(AtomicU64::new(0));
        let wish = Arc::new(Wish::default());
        let none = Self {
            asks: None,
            thread: Mutex::new(None),
            lost: Arc::clone(&lost),
            wish: Arc::clone(&wish),
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
        let (asks, asked) = sync_channel(LINES);
        let (counts, wishes) = (Arc::clone(&lost), Arc::clone(&wish));
        let thread = std::thread::Builder::new().name("nic-log".into());
        let thread = thread.spawn(move || write(out, &asked, &counts, &wishes));
        let thread = thread.map_err(|error| Error::system("the thread of the log", error))?;
        Ok(Self {
            asks: Some(asks),
            thread: Mutex::new(Some(thread)),
            lost,
            wish,
        })
    }

    /// Logs that somebody did something, and what came of it.
    pub fn say(&self, who: &str, what: &str, result: &str) {
        let Some(asks) = &self.asks else {
            return;
        };
        let time = time(SystemTime::now());
        let line = format!("{time} {} | {} | {}\n", one(who), one(what), one(result));
        if asks.try_send(Ask::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Opens the file anew, after it was moved away.
    pub fn reopen(&self) {
        self.wish.reopen.store(true, Ordering::Release);
        self.nudge();
    }

    /// Writes what is there, and ends; gives it up where the file takes nothing for so long.
    pub fn end(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = thread.take() else {
            return;
        };
        self.wish.end.store(true, Ordering::Release);
        self.nudge();
        let until = Instant::now() + LAST;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        if thread.is_finished() {
            // A panic of the thread was on standard error.
            let _ = thread.join();
        }
    }

    fn nudge(&self) {
        if let Some(asks) = &self.asks {
            // Where there is no room the thread looks after the line that it writes.
            let _ = asks.try_send(Ask::Look);
        }
    }
}

/// Refusals of which each second only the first few are logged, and how many more there were.
#[derive(Debug)]
pub(crate) struct Refusals(Mutex<Second>);

#[derive(Debug)]
struct Second {
    began: Instant,
    said: u32,
    left_out: u64,
}

impl Default for Refusals {
    fn default() -> Self {
        Self(Mutex::new(Second {
            began: Instant::now(),
            said: 0,
            left_out: 0,
        }))
    }
}

impl Refusals {
    /// Logs one, or counts it.
    pub fn say(&self, log: &Log, who: &str, what: &str, result: &str) {
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if second.began.elapsed() >= Duration::from_secs(1) {
            second.tell_left_out(log);
            (second.began, second.said) = (Instant::now(), 0);
        }
        if second.said == REFUSALS {
            second.left_out += 1;
        } else {
            second.said += 1;
            log.say(who, what, result);
        }
    }

    /// Logs how many were left out, at the end.
    pub fn end(&self, log: &Log) {
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        second.tell_left_out(log);
    }
}

impl Second {
    fn tell_left_out(&mut self, log: &Log) {
        let more = std::mem::take(&mut self.left_out);
        if more > 0 {
            log.say("the log", "leaves out", &format!("{more} refusals"));
        }
    }
}

enum Out {
    Stderr,
    File(PathBuf, File),
}

fn open(path: &PathBuf) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    // Not kept waiting by a FIFO that is not read.
    let flags = OFlags::NONBLOCK.bits() as i32;
    options.append(true).create(true).mode(0o600);
    options.custom_flags(flags).open(path)
}

fn write(mut out: Out, asked: &Receiver<Ask>, lost: &AtomicU64, wish: &Wish) {
    let mut torn = false;
    loop {
        if wish.reopen.swap(false, Ordering::AcqRel)
            && let Out::File(path, file) = &mut out
            && let Ok(new) = open(path)
        {
            *file = new;
            torn = false;
        }
        let ask = match asked.try_recv() {
            Ok(ask) => ask,
            Err(_) if wish.end.load(Ordering::Acquire) => return,
            Err(_) => match asked.recv() {
                Ok(ask) => ask,
                Err(_) => return,
            },
        };
        let Ask::Line(line) = ask else {
            continue;
        };
        let missing = lost.swap(0, Ordering::Relaxed);
        let now = time(SystemTime::now());
        let words = match missing {
            0 => String::new(),
            lines => format!("{now} the log | is behind | {lines} lines are left out here\n"),
        };
        // Behind a line that was torn.
        let begin = if torn { "\n" } else { "" };
        let all = format!("{begin}{words}{line}");
        let written = match &mut out {
            Out::Stderr => std::io::stderr().write_all(all.as_bytes()),
            Out::File(_, file) => file.write_all(all.as_bytes()),
        };
        if written.is_err() {
            // Said when there is room again.
            lost.fetch_add(missing + 1, Ordering::Relaxed);
        }
        torn = written.is_err();
    }
}

/// In one line, whatever a client made of its name.
fn one(text: &str) -> String {
    // Line and paragraph separators end a line for some who read it.
    let breaks = |c: char| c.is_control() || "|\u{2028}\u{2029}".contains(c);
    let fit = |c: char| if breaks(c) { ' ' } else { c };
    text.chars().map(fit).collect()
}

/// The time in UTC, to the millisecond, as `2026-11-25T07:03:00.250Z`.
fn time(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let millis = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The date of a day that is counted from 1970-01-01. Years begin in March here, so that the day
/// that is sometimes missing is the last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let number = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (year + era * 400 + next, month, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_that_found_no_room_are_counted() {
        let path = std::env::temp_dir().join(format!("isthmus-log-{}", std::process::id()));
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (asks, asked) = sync_channel(LINES);
        let (lost, wish) = (&AtomicU64::new(0), &Wish::default());
        let out = Out::File(path.clone(), full);
        std::thread::scope(|scope| {
            scope.spawn(move || write(out, &asked, lost, wish));
            for _ in 0..3 {
                asks.send(Ask::Line("lost\n".into())).unwrap();
            }
            while lost.load(Ordering::Relaxed) < 3 {
                std::thread::yield_now();
            }
            wish.reopen.store(true, Ordering::Release);
            // Heard before the next line, whoever reads first.
            asks.send(Ask::Look).unwrap();
            asks.send(Ask::Line("kept\n".into())).unwrap();
            drop(asks);
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

    #[test]
    fn refusals_of_a_second_are_few_and_counted() {
        let path = std::env::temp_dir().join(format!("isthmus-refused-{}", std::process::id()));
        let log = Log::start(&Logs::File(path.clone())).unwrap();
        let refusals = Refusals::default();
        for number in 0..1000 {
            refusals.say(&log, "a", &number.to_string(), "refused");
        }
        refusals.end(&log);
        log.end();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        // On a slow machine they may take more than a second.
        assert!(lines.len() < 100, "{text}");
        let left_out = lines.iter().filter_map(|line| {
            let (_, rest) = line.split_once("the log | leaves out | ")?;
            rest.split(' ').next()?.parse::<usize>().ok()
        });
        let said = lines.iter().filter(|line| line.ends_with("| refused"));
        assert_eq!(left_out.sum::<usize>() + said.count(), 1000);
    }

    /// Against the calendar, counted day by day for 400 years.
    #[test]
    fn dates_are_those_of_the_calendar() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..146_097 {
            assert_eq!(date(days), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 if leap => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > last {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
        let at = UNIX_EPOCH + std::time::Duration::from_millis(1_795_590_180_250);
        assert_eq!(time(at), "2026-11-25T07:03:00.250Z");
    }

    #[test]
    fn a_name_cannot_make_a_line_of_its_own() {
        assert_eq!(one("a\n2026 | b"), "a 2026   b");
        assert_eq!(one("a\u{85}\u{2028}\u{2029}b"), "a   b");
    }
}
