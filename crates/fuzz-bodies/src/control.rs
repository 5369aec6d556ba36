//! Fuzz target: lines of the daemon's control interface.

use isthmus_nic_protocol::{Lines, Message, RequestLine, read, write};

/// Parses a line as this type. If that succeeds, checks that the value is unchanged after it is
/// written and parsed again.
macro_rules! again {
    ($type:ty, $line:expr) => {
        if let Ok(said) = read::<$type>($line) {
            let mut written = write(&said).expect("a line that was read can be written");
            assert_eq!(written.pop(), Some(b'\n'));
            assert!(!written.contains(&b'\n'), "{said:?} is more than a line");
            let back = read::<$type>(&written);
            assert_eq!(back.as_ref(), Ok(&said));
        }
    };
}

/// Splits the fuzzer's bytes into lines of the control interface and parses them. The first byte of
/// `data` selects how the rest is cut into pieces.
pub fn control(data: &[u8]) {
    let Some((cuts, data)) = data.split_first() else {
        return;
    };
    let mut right: Vec<_> = data.split(|byte| *byte == b'\n').collect();
    let unfinished = right.pop().unwrap_or_default();
    let (mut lines, mut found, mut rest) = (Lines::default(), Vec::new(), data);
    let mut step = usize::from(*cuts);
    while !rest.is_empty() {
        step = (step * 5 + 3) % 61;
        let (now, later) = rest.split_at(rest.len().min(step));
        lines.push(now);
        while let Some(line) = lines.take().expect("lines of some bytes are short enough") {
            again!(RequestLine, &line);
            again!(Message, &line);
            found.push(line);
        }
        rest = later;
    }
    assert_eq!(found, right);
    assert_eq!(lines.rest(), unfinished);
}
