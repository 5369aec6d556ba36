//! Fuzz target: the log of a cache.

use isthmus_forward::Buffer;
use isthmus_forward::cache::log::{Record, Replay, complete};

/// Reads the fuzzer's bytes as a log. With bit 0 of the first byte, they are the messages of records, each with
/// its length in one byte, that get the right checksums; otherwise they are the log itself.
pub fn cache_log(data: &[u8]) {
    let Some((first, mut data)) = data.split_first() else {
        return;
    };
    let mut log = Buffer::new();
    if first & 1 == 0 {
        log.put(data);
    } else {
        let (version, boot) = (1, b"boot".as_slice());
        Record::Begin { version, boot }.append(&mut log);
        let (export, path) = (0, b"/export".as_slice());
        Record::Export { export, path }.append(&mut log);
        while let Some((count, rest)) = data.split_first() {
            let (message, rest) = rest.split_at(rest.len().min((*count).into()));
            let start = log.len();
            // Checksum, size, type and two unused bytes.
            let size = u32::try_from(message.len() + 6).unwrap_or(u32::MAX);
            log.put(&[0; 4]);
            log.put(&size.to_le_bytes());
            log.put(&message[..message.len().min(1)]);
            log.put(&[0; 2]);
            log.put(&message[message.len().min(1)..]);
            complete(start, &mut log);
            data = rest;
        }
    }
    let (replay, damage) = Replay::read(log.bytes());
    if let Some((_, at)) = damage {
        assert!(at < log.len());
        // What is before the damage is a log.
        let (before, damage) = Replay::read(&log.bytes()[..at]);
        assert!(damage.is_none());
        assert_eq!(before.files, replay.files);
    }
    for left in replay.files.values() {
        assert!(replay.exports.contains_key(&left.export));
        assert!(!left.paths.is_empty());
        let unstored = left.unstored();
        assert!(unstored.iter().all(|range| range.start < range.end));
        assert!(unstored.windows(2).all(|pair| pair[0].end <= pair[1].start));
        let is_unstored = |at| unstored.iter().any(|range| range.contains(&at));
        for range in left.synced() {
            assert!(is_unstored(range.start) && is_unstored(range.end - 1));
        }
    }
}
