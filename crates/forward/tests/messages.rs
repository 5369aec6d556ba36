//! Messages and their bytes.

use isthmus_forward::Buffer;
use isthmus_forward::message::{
    Attributes, Change, DaemonStatus, Data, Entry, Key, Malformed, Path, Qid, Reply, Request,
    Trailing, read_reply, read_request,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Returns the bytes of a request.
fn bytes(tag: u16, request: &Request<'_>) -> Vec<u8> {
    let mut out = Buffer::new();
    request.write(tag, &mut out);
    out.bytes().to_vec()
}

/// Checks the bytes of some requests against those of the protocol's description, written by hand.
#[test]
fn bytes_are_those_of_the_protocol() {
    let version = Request::Version {
        msize: 0x0001_0018,
        version: b"9P2000.L",
    };
    let expected = b"\x15\0\0\0\x64\xff\xff\x18\0\x01\0\x08\x009P2000.L";
    assert_eq!(bytes(0xffff, &version), expected);
    let mut names = Buffer::new();
    let path = Path::encode([b"ab".as_slice(), b"c"].into_iter(), &mut names).unwrap();
    let walk = Request::Walk {
        fid: 1,
        newfid: 2,
        path,
    };
    let expected = b"\x18\0\0\0\x6e\x05\0\x01\0\0\0\x02\0\0\0\x02\0\x02\0ab\x01\0c";
    assert_eq!(bytes(5, &walk), expected);
    let write = Request::Write {
        fid: 3,
        offset: 0x0102_0304_0506_0708,
        data: Data(b"xyz"),
    };
    let expected = b"\x1a\0\0\0\x76\x06\0\x03\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x03\0\0\0xyz";
    assert_eq!(bytes(6, &write), expected);
}

/// Checks that old clients may leave out the last field of a request to store data.
#[test]
fn the_last_field_of_fsync_may_be_missing() {
    let short = b"\x0b\0\0\0\x32\x01\0\x07\0\0\0";
    let data_only = Trailing(0);
    assert_eq!(
        read_request(short),
        Ok((1, Request::Fsync { fid: 7, data_only }))
    );
}

/// Checks that each kind of damage to a message has its own error.
#[test]
fn damaged_messages_are_refused() {
    let clunk = bytes(1, &Request::Clunk { fid: 1 });
    assert_eq!(read_request(&clunk[..10]), Err(Malformed::Size(11)));
    let with = |at: usize, byte| {
        let mut damaged = clunk.clone();
        damaged[at] = byte;
        damaged
    };
    assert_eq!(read_request(&with(4, 99)), Err(Malformed::Type(99)));
    let mut long = with(0, 12);
    long.push(0);
    assert_eq!(read_request(&long), Err(Malformed::Long(1)));
    assert_eq!(read_request(&with(0, 10)[..10]), Err(Malformed::Short));
    let walk = b"\x12\0\0\0\x6e\x05\0\x01\0\0\0\x02\0\0\0\x11\0\0";
    assert_eq!(read_request(walk), Err(Malformed::Path));
    // A length that reaches beyond the message.
    let name = b"\x11\0\0\0\x48\x01\0\x01\0\0\0\xff\xffabcd";
    assert_eq!(read_request(name), Err(Malformed::Short));
}

/// Checks that entries of a directory can be read again, and that a cut-off list ends in an error.
#[test]
fn entries_are_read_as_they_were_written() {
    let mut out = Buffer::new();
    let entries = [(b"a".as_slice(), 8), (b"directory", 4)];
    let entry = |(name, kind): (&'static [u8], u8)| Entry {
        qid: Qid {
            kind: Qid::FILE,
            version: 1,
            path: 2,
        },
        next: 3,
        kind,
        name,
    };
    for each in entries {
        let before = out.len();
        entry(each).write(&mut out);
        assert_eq!(out.len() - before, entry(each).bytes());
    }
    let read: Result<Vec<_>, _> = Entry::read_all(out.bytes()).collect();
    assert_eq!(read, Ok(entries.map(entry).to_vec()));
    let cut = &out.bytes()[..out.len() - 1];
    let read: Vec<_> = Entry::read_all(cut).collect();
    assert_eq!(read.last(), Some(&Err(Malformed::Short)));
    assert_eq!(read.len(), 2);
}

proptest! {
    /// Checks that a message of arbitrary fields that can be read is written as the same bytes, and
    /// that no bytes make the reader fail.
    #[test]
    fn what_is_read_is_written_as_it_was(code: u8, tag: u16, fields in vec(any::<u8>(), 0..200)) {
        let mut message = Vec::new();
        message.extend_from_slice(&(fields.len() as u32 + 7).to_le_bytes());
        message.push(code);
        message.extend_from_slice(&tag.to_le_bytes());
        message.extend_from_slice(&fields);
        let mut out = Buffer::new();
        if let Ok((read, request)) = read_request(&message) {
            request.write(read, &mut out);
            // The field that may be missing is written.
            if !matches!(request, Request::Fsync { .. }) {
                prop_assert_eq!(out.bytes(), &*message);
            }
        }
        out.clear();
        if let Ok((read, reply)) = read_reply(&message) {
            reply.write(read, &mut out);
            prop_assert_eq!(out.bytes(), &*message);
        }
    }

    /// Checks that the messages of isthmus survive, and that they are no messages once they are cut off.
    #[test]
    fn messages_of_isthmus_survive(
        key in any::<[u8; 16]>(),
        (fid, newfid, flags, count) in any::<(u32, u32, u32, u32)>(),
        (number, level, tag) in any::<(u64, u8, u16)>(),
        path in vec(any::<u8>(), 0..300),
    ) {
        let (key, path, data) = (Key(key), &*path, Data(&path));
        let requests = [
            Request::Resume { key },
            Request::Restore { fid, newfid, number, created_s: number / 7, created_ns: count, flags, path },
            Request::Commit { fid, level },
            Request::Fetch { fid, count, path },
            Request::Prefetch { fid, path },
            Request::ListUnstored { from: number, count },
            Request::Abandon { number, path },
        ];
        for request in requests {
            let written = bytes(tag, &request);
            prop_assert_eq!(read_request(&written), Ok((tag, request)));
            let mut cut = written[..written.len() - 1].to_vec();
            cut[..4].copy_from_slice(&(written.len() as u32 - 1).to_le_bytes());
            prop_assert_eq!(read_request(&cut), Err(Malformed::Short));
        }
        let qid = Qid { kind: level, version: fid, path: number };
        let (size, mtime_s, mtime_ns) = (number / 3, number / 5, count);
        let replies = [
            Reply::Resume { is_known: level },
            Reply::Restore { qid },
            Reply::Commit {},
            Reply::Fetch { qid, size, mtime_s, mtime_ns, data },
            Reply::Prefetch {},
            Reply::Status { status: DaemonStatus { unstored: number, misses: size, ..DaemonStatus::default() } },
            Reply::ListUnstored { files: data },
            Reply::Drain {},
            Reply::Abandon { bytes: number },
        ];
        for (reply, code) in replies.into_iter().zip([201, 203, 205, 207, 209, 211, 213, 215, 217]) {
            let mut out = Buffer::new();
            reply.write(tag, &mut out);
            prop_assert_eq!(out.bytes()[4], code);
            prop_assert_eq!(read_reply(out.bytes()), Ok((tag, reply)));
        }
    }

    /// Checks that groups of fields survive.
    #[test]
    fn groups_of_fields_survive(numbers in vec(any::<u32>(), 20), tag: u16) {
        let number = |at: usize| numbers[at];
        let attributes = Attributes {
            valid: number(0).into(),
            qid: Qid { kind: number(1) as u8, version: number(2), path: number(3).into() },
            mode: number(4),
            uid: number(5),
            gid: number(6),
            links: number(7).into(),
            device: number(8).into(),
            size: u64::from(number(9)) << 20,
            block_bytes: number(10).into(),
            blocks: number(11).into(),
            accessed_s: number(12).into(),
            accessed_ns: number(13).into(),
            modified_s: number(14).into(),
            modified_ns: number(15).into(),
            changed_s: number(16).into(),
            changed_ns: number(17).into(),
            created_s: number(18).into(),
            created_ns: number(19).into(),
            generation: 1,
            data_version: 2,
        };
        let mut out = Buffer::new();
        Reply::GetAttributes { attributes }.write(tag, &mut out);
        // 153 bytes of fields: the sum in the description of the protocol.
        prop_assert_eq!(out.len(), 7 + 153);
        prop_assert_eq!(read_reply(out.bytes()), Ok((tag, Reply::GetAttributes { attributes })));
        let change = Change { valid: number(0), size: number(1).into(), ..Change::default() };
        let request = Request::SetAttributes { fid: number(2), change };
        let written = bytes(tag, &request);
        prop_assert_eq!(read_request(&written), Ok((tag, request)));
    }
}
