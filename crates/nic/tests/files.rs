//! Files: one connection each. Closing it makes the complete file visible under its name; otherwise
//! the earlier file stays.

use crate::rig::{Client, Rig, pipe, sends};
use crate::streams::{ADU, TU, data, feed};
use isthmus_nic_protocol::{Answer, Event, Refusal, RefusalKind};
use isthmus_stream_net::is_part;
use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn close(session: &mut Client, connection: u32) -> Result<Answer, Refusal> {
    session.ask(&format!(r#""ask":"close","connection":{connection}"#))
}

/// Open a connection to a file and write `adus` ADUs.
fn written(rig: &Rig, session: &mut Client, ticket: &str, path: &Path, adus: u64) -> u32 {
    let connection = session.open(&format!("file:{}", path.display()), "");
    let spec = sends(connection, ADU, TU, &[connection as u16], adus);
    let stream = session.submit(&spec).unwrap();
    let unix = rig.unix().link(ticket, connection as u16);
    let link = vec![(connection as u16, pipe(unix))];
    feed(link, stream, &[connection as u16], &data(adus));
    assert_eq!(session.wait(stream).state, "done");
    connection
}

/// Closing the connection makes a complete file visible; files outside the allowed directories are
/// refused.
#[test]
fn files_are_kept_below_the_directories_that_are_allowed() {
    let rig = Rig::new();
    let (mut session, ticket) = rig.application("files");
    let unix = rig.unix().link(&ticket, 0);
    let path = rig.folder.0.join("image");
    let connection = session.open(&format!("file:{}", path.display()), "");
    let stream = session
        .submit(&sends(connection, ADU, TU, &[0], 2))
        .unwrap();
    let adus = data(2);
    feed(vec![(0, pipe(unix))], stream, &[0], &adus);
    assert_eq!(session.wait(stream).state, "done");
    assert_eq!(close(&mut session, connection), Ok(Answer::Done));
    assert!(std::fs::read(&path).unwrap() == adus.concat());
    let bytes = session.event(|event| match event {
        Event::Kept { bytes, .. } => Some(*bytes),
        _ => None,
    });
    assert_eq!(bytes, 2 * ADU);
    std::os::unix::fs::symlink("/", rig.folder.0.join("out")).unwrap();
    let inside = rig.folder.0.display().to_string();
    for wrong in [
        "/etc/isthmus-image".to_owned(),
        format!("{inside}/../isthmus-image"),
        format!("{inside}/out/tmp/isthmus-image"),
        format!("{inside}/.."),
        "image".to_owned(),
    ] {
        let rest = format!(r#""ask":"open","destination":"file:{wrong}""#);
        let refusal = session.ask(&rest).unwrap_err();
        let kinds = [RefusalKind::Denied, RefusalKind::Garbled];
        assert!(kinds.contains(&refusal.kind), "{wrong}: {refusal:?}");
    }
    rig.daemon.stop().unwrap();
}

/// Closing a connection whose file cannot be kept is refused with the reason, every time. The
/// earlier file stays.
#[test]
fn closing_a_file_that_is_not_kept_is_refused() {
    let rig = Rig::new();
    let (mut session, ticket) = rig.application("files");
    let path = rig.folder.0.join("image");
    let connection = written(&rig, &mut session, &ticket, &path, 2);
    // Created after the connection was opened: a file cannot replace a directory.
    std::fs::create_dir(&path).unwrap();
    for _ in 0..2 {
        let refusal = close(&mut session, connection).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Failed);
        let (place, why) = (path.display().to_string(), "irectory");
        let explained = refusal.text.contains(&place) && refusal.text.contains(why);
        assert!(explained, "{refusal:?}");
    }
    assert!(path.is_dir());
    let left = std::fs::read_dir(&rig.folder.0).unwrap();
    let parts = left.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().contains(".part-")
    });
    assert_eq!(parts.count(), 0);
    rig.daemon.stop().unwrap();
}

/// A file that is being written has an unguessable name and mode 0600. If another file takes that
/// name, it is not kept. A symbolic link at the destination is not replaced. A replaced file keeps
/// its mode. A connection without a stream changes nothing.
#[test]
fn a_file_holds_exactly_the_written_bytes() {
    let rig = Rig::new();
    let (mut session, ticket) = rig.application("files");
    let path = rig.folder.0.join("image");
    let parts = || {
        let all = std::fs::read_dir(&rig.folder.0).unwrap();
        let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| is_part(name)).collect::<Vec<_>>()
    };
    let mut seen = BTreeSet::new();
    let refused = |session: &mut Client, connection| close(session, connection).unwrap_err().text;
    // Another file in the place of the written one.
    let connection = written(&rig, &mut session, &ticket, &path, 1);
    let part = rig.folder.0.join(&parts()[0]);
    assert_eq!(part.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    seen.extend(parts());
    std::fs::remove_file(&part).unwrap();
    std::fs::write(&part, "other").unwrap();
    let why = refused(&mut session, connection);
    assert!(why.contains("something else was put in the place"), "{why}");
    assert!(!path.exists());
    // A link that appears at the destination during writing.
    let connection = written(&rig, &mut session, &ticket, &path, 1);
    seen.extend(parts());
    symlink("/nowhere", &path).unwrap();
    let why = refused(&mut session, connection);
    assert!(why.contains("it is a symbolic link"), "{why}");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(seen.len(), 2, "{seen:?}");
    // A file of the daemon's own user is replaced and keeps its mode.
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let unused = session.open(&format!("file:{}", path.display()), "");
    assert_eq!(close(&mut session, unused), Ok(Answer::Done));
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    let connection = written(&rig, &mut session, &ticket, &path, 1);
    assert_eq!(close(&mut session, connection), Ok(Answer::Done));
    assert!(std::fs::read(&path).unwrap() == data(1).concat());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(parts().is_empty());
    rig.daemon.stop().unwrap();
}

/// A cancelled stream spoils its file, and closing the connection is refused.
#[test]
fn closing_a_file_of_a_cancelled_stream_is_refused() {
    let rig = Rig::new();
    let (mut session, _) = rig.application("files");
    let path = rig.folder.0.join("image");
    let connection = session.open(&format!("file:{}", path.display()), "");
    let stream = session
        .submit(&sends(connection, ADU, TU, &[0], 2))
        .unwrap();
    // Sent before the stream ends, and answered afterwards.
    let closes = session.send(&format!(r#""ask":"close","connection":{connection}"#));
    session
        .ask(&format!(r#""ask":"cancel","stream":{stream}"#))
        .unwrap();
    let refusal = session.answer(closes).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Failed);
    assert!(refusal.text.contains("did not end well"), "{refusal:?}");
    assert!(!path.exists());
    rig.daemon.stop().unwrap();
}

/// A second connection to a file is refused, from any application and by any path to the file,
/// until the first is closed.
#[test]
fn a_file_has_one_writer() {
    let rig = Rig::new();
    let (mut first, ticket) = rig.application("first");
    let (mut second, others) = rig.application("second");
    let path = rig.folder.0.join("image");
    std::os::unix::fs::symlink(&rig.folder.0, rig.folder.0.join("too")).unwrap();
    let connection = written(&rig, &mut first, &ticket, &path, 1);
    let again = rig.folder.0.join("too/image");
    let refused = |session: &mut Client, path: &Path| {
        let rest = format!(r#""ask":"open","destination":"file:{}""#, path.display());
        let refusal = session.ask(&rest).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Conflict);
        let writer = format!("(first) writes it over connection {connection}");
        assert!(refusal.text.contains(&writer), "{refusal:?}");
    };
    refused(&mut second, &path);
    refused(&mut second, &again);
    refused(&mut first, &path);
    assert_eq!(close(&mut first, connection), Ok(Answer::Done));
    assert!(std::fs::read(&path).unwrap() == data(1).concat());
    let connection = written(&rig, &mut second, &others, &path, 2);
    assert_eq!(close(&mut second, connection), Ok(Answer::Done));
    assert!(std::fs::read(&path).unwrap() == data(2).concat());
    rig.daemon.stop().unwrap();
}

/// When the daemon ends, closed files are kept. An open file is not, even if its stream is done:
/// only its application knows whether more data follows.
#[test]
fn files_that_were_closed_are_kept_when_the_daemon_ends() {
    let rig = Rig::new();
    let (mut session, ticket) = rig.application("files");
    let [whole, open, half] = ["whole", "open", "half"].map(|name| rig.folder.0.join(name));
    let mut streams = Vec::new();
    for (number, (path, adus)) in [(&whole, 2), (&open, 2), (&half, 3)]
        .into_iter()
        .enumerate()
    {
        let link = number as u16;
        let connection = session.open(&format!("file:{}", path.display()), "");
        let stream = session
            .submit(&sends(connection, ADU, TU, &[link], adus))
            .unwrap();
        let unix = rig.unix().link(&ticket, link);
        feed(vec![(link, pipe(unix))], stream, &[link], &data(2));
        streams.push((connection, stream));
    }
    for (_, stream) in &streams[..2] {
        assert_eq!(session.wait(*stream).state, "done");
    }
    let close = format!(r#""ask":"close","connection":{}"#, streams[0].0);
    assert_eq!(session.ask(&close), Ok(Answer::Done));
    let id = session.send(&format!(r#""ask":"wait","stream":{}"#, streams[2].1));
    session.ask(r#""ask":"overview""#).unwrap();
    let Rig { daemon, folder } = rig;
    daemon.stop().unwrap();
    assert_eq!(session.answer(id).unwrap_err().kind, RefusalKind::Ending);
    assert!(std::fs::read(&whole).unwrap() == data(2).concat());
    let left = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(
        left.collect::<Vec<_>>(),
        ["whole"],
        "and no part of the others"
    );
}

/// A file whose connection is not closed stays as it was.
#[test]
fn an_application_that_ends_leaves_the_earlier_file() {
    let rig = Rig::new();
    let path = rig.folder.0.join("image");
    for adus in [0, 2] {
        std::fs::write(&path, "before").unwrap();
        let (mut session, ticket) = rig.application("ends");
        if adus == 0 {
            session.open(&format!("file:{}", path.display()), "");
            session.event(|event| matches!(event, Event::Opened { .. }).then_some(()));
        } else {
            written(&rig, &mut session, &ticket, &path, adus);
        }
        drop(session);
        let is_part = |name: &std::ffi::OsStr| name.to_string_lossy().contains(".part-");
        let parts = || {
            let entries = std::fs::read_dir(&rig.folder.0).unwrap();
            entries
                .filter(|entry| is_part(&entry.as_ref().unwrap().file_name()))
                .count()
        };
        let deadline = crate::rig::soon();
        while parts() > 0 {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before");
    }
    rig.daemon.stop().unwrap();
}
