//! Sessions and links over TLS.

use crate::fake::soon;
use crate::rig::{CARRIERS, Rig, all, links, send_all, sink, spec};
use isthmus_nic::{Certificate, Config};
use isthmus_nic_client::protocol::Direction;
use isthmus_nic_client::{Address, Error, Session};
use isthmus_stream_net::sink::Action;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Return the path of a certificate of the daemon's tests.
fn fixture(name: &str) -> PathBuf {
    let check_process = Path::new(env!("CARGO_MANIFEST_DIR"));
    check_process.join("../nic/tests/fixtures").join(name)
}

fn rig() -> (Rig, String) {
    rig_with(|_| ())
}

/// Start a daemon that listens with TLS too. Returns it and the port.
pub fn rig_with(change: impl FnOnce(&mut Config)) -> (Rig, String) {
    let rig = Rig::with(|config| {
        let folder = config.policy.files[0].clone();
        let [chain, key] = ["cert.pem", "key.pem"].map(|name| {
            let path = folder.join(name);
            std::fs::copy(fixture(name), &path).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            path
        });
        config.server.certificate = Some(Certificate { chain, key });
        let tls = isthmus_nic::Address::parse("tls:127.0.0.1:0").unwrap();
        config.server.listen.push(tls);
        change(config);
    });
    let address = rig.daemon.as_ref().unwrap().addresses()[2].to_string();
    let port = address.rsplit_once(':').unwrap().1.to_owned();
    (rig, port)
}

pub fn trusting(host: &str, port: &str) -> Address {
    let address = Address::parse(&format!("tls:{host}:{port}")).unwrap();
    address.trusting(&fixture("cert.pem")).unwrap()
}

#[test]
fn data_over_tls_is_complete_and_in_order() {
    let (rig, port) = rig();
    let first = rig.session();
    let address = trusting("localhost", &port);
    let session = Session::join(&address, &first.welcome().ticket, false, soon()).unwrap();
    links(&session, 3, CARRIERS[1]);
    let (options, taken) = sink(|_| Action::Take);
    let connection = session.open(&options, soon()).unwrap();
    let (adu, tu) = (300_001, 64 << 10);
    let spec = spec(connection, Direction::Transmit, (adu, tu), 3, 7);
    let stream = session.stream(spec, soon()).unwrap();
    send_all(&stream, 1, adu, 7);
    assert_eq!(stream.wait(soon()).unwrap().done, 7);
    session.close(connection, soon()).unwrap();
    assert!(taken.join().unwrap().1 == all(1, adu, 7));
}

#[test]
fn a_daemon_without_the_expected_certificate_is_refused() {
    let (rig, port) = rig();
    let other = trusting("ip6-localhost", &port);
    let connected = Session::connect(&other, Some("secret"), "who", false, soon());
    if let Err(error) = connected {
        assert!(matches!(error, Error::Unreachable(..)), "{error:?}");
    } else {
        panic!("the certificate is for another host");
    }
    // A port without TLS.
    let plain = rig.tcp.to_string();
    let port = plain.rsplit_once(':').unwrap().1;
    let error = Session::connect(&trusting("localhost", port), None, "who", false, soon());
    assert!(matches!(error, Err(Error::Unreachable(..))), "{error:?}");
    let nobody = Address::parse("tls:localhost:7000").unwrap();
    let said = Session::connect(&nobody, None, "who", false, soon()).unwrap_err();
    assert!(said.to_string().contains("say whom to trust"), "{said}");
    let key = Address::parse("tls:localhost:7000").unwrap();
    let said = key.trusting(&fixture("key.pem")).unwrap_err().to_string();
    assert!(said.contains("key.pem`: no certificate in PEM"), "{said}");
    let away = Address::parse("tls:localhost:7000").unwrap();
    let said = away.trusting(&fixture("none.pem")).unwrap_err().to_string();
    assert!(said.contains("none.pem: No such file"), "{said}");
    let plain = rig.tcp.clone().trusting(&fixture("cert.pem")).unwrap_err();
    assert!(plain.to_string().contains("begin with tls:"), "{plain}");
}

#[test]
fn the_end_of_the_daemon_is_detected_through_tls() {
    let (mut rig, port) = rig();
    let first = rig.session();
    let address = trusting("localhost", &port);
    let session = Session::join(&address, &first.welcome().ticket, false, soon()).unwrap();
    links(&session, 1, CARRIERS[1]);
    let (options, taken) = sink(|_| Action::Take);
    let connection = session.open(&options, soon()).unwrap();
    let spec = spec(
        connection,
        Direction::Transmit,
        (1 << 16, 1 << 16),
        1,
        100_000,
    );
    let stream = session.stream(spec, soon()).unwrap();
    stream.send(&vec![1; 1 << 16], soon()).unwrap();
    stream.wait_done(1, soon()).unwrap();
    drop(rig.daemon.take());
    let error = loop {
        if let Err(error) = stream.send(&vec![1; 1 << 16], soon()) {
            break error;
        }
    };
    let ended = matches!(
        error,
        Error::Gone(..) | Error::Stream(..) | Error::Refused(_)
    );
    assert!(ended, "{error:?}");
    assert!(matches!(session.event(soon()), Err(Error::Gone(..))));
    drop(taken.join());
}
