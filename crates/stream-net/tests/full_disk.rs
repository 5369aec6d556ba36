//! A full disk: a small file system in memory, in its own name space.

use crate::outsides::{ADU, Sends, TU, all};
use isthmus_stream::{End, Protocol, Reason};
use isthmus_stream_net::Event as DriverEvent;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROLE: &str = "ISTHMUS_STREAM_NET_FULL_DISK";

/// Runs this test again with `folder` as a disk of 1 MiB, and returns its success. None if the
/// system cannot provide such a disk; the reason is printed.
fn where_the_disk_is_small(folder: &Path) -> Option<bool> {
    let shell = |then: &str| {
        let mount = format!("mount -t tmpfs -o size=1m tmpfs '{}'", folder.display());
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &format!("{mount} && {then}")]);
        command.stdin(Stdio::null());
        command
    };
    let tried = shell("true").output();
    let why = match &tried {
        Err(error) => error.to_string(),
        Ok(output) if output.status.success() => String::new(),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    };
    if !why.is_empty() {
        println!("left out, as no disk can be mounted: {why}");
        return None;
    }
    let mut command = shell("exec \"$0\" --exact full_disk::a_full_disk --nocapture");
    command.arg(std::env::current_exe().unwrap());
    let status = command.env(ROLE, folder).stdout(Stdio::null()).status();
    Some(status.unwrap().success())
}

#[test]
fn a_full_disk() {
    if let Some(folder) = std::env::var_os(ROLE) {
        return fill(&PathBuf::from(folder));
    }
    let folder = std::env::temp_dir().join(format!("isthmus-full-disk-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let passed = where_the_disk_is_small(&folder);
    std::fs::remove_dir(&folder).unwrap();
    assert_ne!(passed, Some(false));
}

/// A file that does not fit is reported with the position and the reason. The previous file stays,
/// nothing remains of the new one, and a later file that fits is kept.
fn fill(folder: &Path) {
    let path = folder.join("out.raw");
    std::fs::write(&path, b"before").unwrap();
    let mut sends = Sends::new();
    let destination = format!("file:{}", path.display());
    let protocol = Protocol::Unconfirmed { reorder: 0 };
    let connection = sends.open(&destination, protocol);
    let stream = sends.send(connection, TU, 16);
    let End::Failed(Reason::ConnectionLost(_, why)) = sends.end(stream) else {
        panic!("a stream of 2 MiB fits to a disk of 1 MiB");
    };
    let has_position = why.starts_with(&format!("writing {} at byte ", path.display()));
    assert!(
        has_position && why.contains("No space left on device"),
        "{why}"
    );
    let kept = sends.wait("file that is not kept", |event| match event {
        DriverEvent::NotKept {
            path: of, reason, ..
        } if *of == path => Some(reason.clone()),
        _ => None,
    });
    assert!(kept.contains("No space left on device"), "{kept}");
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
    // Its writer is free again. The rank has written the rest of the first stream, which is
    // skipped.
    let connection = sends.open(&destination, protocol);
    let stream = sends.send(connection, TU, 2);
    assert_eq!(sends.end(stream), End::Done);
    sends.call(move |driver| driver.close(connection)).unwrap();
    let bytes = sends.wait("file that is kept", |event| match event {
        DriverEvent::Kept { bytes, .. } => Some(*bytes),
        _ => None,
    });
    assert_eq!(bytes, 2 * ADU);
    assert!(std::fs::read(&path).unwrap() == all(2));
}
