//! The daemon with the tools of diod, and the client with diod itself. Each test is left out where
//! diod is not installed.

use crate::rig::{Client, Rig, TIME};
use isthmus_forward::message::{Entry, Reply, Request};
use isthmus_iod::Address;
use isthmus_iod_client::Connection;
use isthmus_wire::Remote;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Returns a command of diod, if it is installed.
fn command(name: &str) -> Option<Command> {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin"];
    let path = folders.map(|folder| format!("{folder}/{name}"));
    let found = path.iter().find(|path| std::path::Path::new(path).exists());
    if found.is_none() {
        eprintln!("left out: {name} is not installed");
    }
    found.map(Command::new)
}

/// Starts a daemon for diod's tools, and returns it with host and port.
fn plain() -> (Rig, String) {
    let rig = Rig::with(|config| {
        config.server.listen = vec![Address::parse("tcp:127.0.0.1:0").unwrap()];
        config.allow_plain = true;
    });
    let address = rig.daemon.addresses()[0].to_string();
    let at = address.trim_start_matches("tcp:").to_owned();
    (rig, at)
}

/// Runs a tool of diod against a daemon. Returns what it prints.
fn run(mut tool: Command, at: &str, rig: &Rig, rest: &[&str]) -> Vec<u8> {
    let export = rig.path("");
    tool.args(["-s", at, "-a"]).arg(export).args(rest);
    let done = tool.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    done.stdout
}

/// Checks that diod's tools list directories and read files through the daemon.
#[test]
fn tools_of_diod_list_and_read() {
    let (Some(list), Some(cat)) = (command("diodls"), command("diodcat")) else {
        return;
    };
    let (rig, at) = plain();
    let data: Vec<u8> = (0..300_000_u32).map(|at| (at * 7 / 3) as u8).collect();
    std::fs::write(rig.path("file"), &data).unwrap();
    std::fs::create_dir(rig.path("directory")).unwrap();
    let listed = run(list, &at, &rig, &[]);
    let listed = String::from_utf8(listed).unwrap();
    let mut names: Vec<_> = listed.split_whitespace().collect();
    names.sort_unstable();
    assert!(
        names.contains(&"file") && names.contains(&"directory"),
        "{listed}"
    );
    assert!(run(cat, &at, &rig, &["file"]) == data);
}

/// A running diod.
struct Diod(Child, u16);

impl Drop for Diod {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts diod with an export.
fn diod(mut diod: Command, export: &std::path::Path) -> Diod {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    diod.args(["-f", "-n", "-N", "-S", "-U", "root", "-l"]);
    diod.arg(format!("127.0.0.1:{port}")).arg("-e").arg(export);
    diod.stdout(Stdio::null()).stderr(Stdio::null());
    let started = Diod(diod.spawn().unwrap(), port);
    let until = Instant::now() + TIME;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < until, "diod does not listen");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    started
}

/// Checks that the client writes, reads and lists files of diod.
#[test]
fn the_client_uses_diod() {
    let Some(tool) = command("diod") else { return };
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: diod needs root");
    }
    let folder = crate::rig::Folder::new();
    let server = diod(tool, &folder.0);
    let remote = Remote::parse(&format!("tcp:127.0.0.1:{}", server.1)).unwrap();
    let export = folder.0.to_str().unwrap().as_bytes();
    let mut client = Client(Connection::open(&remote, None, export, TIME).unwrap());
    assert_eq!(client.0.data_bytes(), 65_536 - 24);
    client.create(1, "", "file").unwrap();
    let data = vec![7; 50_000];
    assert_eq!(client.write(1, 0, &data), Ok(50_000));
    assert_eq!(client.read(1, 10, 60_000).unwrap(), data[10..]);
    client.clunk(1);
    assert_eq!(std::fs::read(folder.0.join("file")).unwrap(), data);
    client.open(2, "", 0).unwrap();
    let list = Request::ReadDirectory {
        fid: 2,
        offset: 0,
        count: 8000,
    };
    let found = client.call(list, |reply| {
        let Reply::ReadDirectory { entries } = reply else {
            panic!("{reply:?}")
        };
        Entry::read_all(entries.0).any(|entry| entry.unwrap().name == b"file")
    });
    assert_eq!(found, Ok(true));
}
