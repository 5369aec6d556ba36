//! Clients of a server of 9P2000.L: isthmus's I/O daemon, or diod. Each is a thread with a connection
//! and files of its own.

use isthmus_forward::message::{Data, Reply, Request};
use isthmus_iod::{Address, CacheConfig, Config, Daemon};
use isthmus_iod_client::{Connection, ROOT};
use isthmus_wire::Remote;
use serde::Serialize;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Barrier;
use std::time::{Duration, Instant};

values! {
    /// What clients do.
    #[derive(Debug, Clone)]
    Load {
        /// `read`, `write` or `metadata`; or `tcp`: bytes of a server without a protocol.
        operation: String = "read".to_owned(),
        /// The address of the server; of several, with commas between them, clients take one in turn.
        server: String = String::new(),
        /// The file with the token that the server requires, if it does.
        token_file: String = String::new(),
        /// The file with the certificates to trust, of a server over TLS.
        tls_ca: String = String::new(),
        /// The exported folder.
        export: String = String::new(),
        /// How many clients.
        clients: usize = 4,
        /// Bytes of a request.
        bytes: usize = 65_512,
        /// Requests in flight of a client, or files for metadata.
        window: usize = 16,
        /// Bytes of the file of a client.
        file: u64 = 64 << 20,
        /// Whether data that was read is copied into a buffer of the program.
        copy: bool = false,
        /// Seconds to go on at least.
        seconds: f64 = 2.0,
        /// The process of the server, if its CPU time counts.
        pid: u32 = 0,
    }
}

values! {
    /// What a server exports.
    #[derive(Debug, Clone)]
    Export {
        /// The exported folder; without one, the server sends bytes without a protocol.
        export: String = String::new(),
        /// The folder of the cache, if there is one.
        cache: String = String::new(),
    }
}

/// Size in bytes of the cache, all of which may be unstored: clients never wait for the store.
const CACHE_BYTES: u64 = 4 << 30;

/// Results of a run.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// From the first request to the last reply.
    pub seconds: f64,
    /// Requests answered, or files created, looked at, opened and removed.
    pub operations: u64,
    /// Bytes read or written.
    pub bytes: u64,
    /// CPU seconds of all clients, user and system together, and of the server if its process is given.
    pub cpu_seconds: f64,
}

/// Returns the CPU seconds of this process and of the server so far, in steps of 10 ms.
fn cpu_seconds(load: &Load) -> Outcome<f64> {
    let mut seconds = 0.0;
    let server = (load.pid > 0).then(|| load.pid.to_string());
    for process in server.into_iter().chain(["self".to_owned()]) {
        let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
        let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: Vec<f64> = ticks.map(str::parse).collect::<Result<_, _>>()?;
        seconds += ticks.iter().sum::<f64>() / 100.0;
    }
    Ok(seconds)
}

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Serves a folder to plain clients on this machine until standard input ends. Prints the address.
pub fn serve(export: &Export) -> Outcome<()> {
    if export.export.is_empty() {
        return serve_bytes();
    }
    let listen = Address::parse("tcp:127.0.0.1:0")?;
    let mut config = Config::new(vec![listen], vec![export.export.clone().into()]);
    config.allow_plain = true;
    if !export.cache.is_empty() {
        let mut cache = CacheConfig::new(export.cache.clone().into());
        (cache.settings.bytes, cache.settings.dirty_bytes) = (CACHE_BYTES, CACHE_BYTES);
        config.cache = Some(cache);
    }
    let daemon = Daemon::start(config)?;
    println!("{}", daemon.addresses()[0]);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    daemon.stop();
    Ok(())
}

/// Sends bytes to every client that connects, until standard input ends. Prints the address.
fn serve_bytes() -> Outcome<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("tcp:{}", listener.local_addr()?);
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            std::thread::spawn(move || {
                // As much as the file of a client has, so that both read it from memory.
                let bytes = vec![7; 64 << 20];
                let mut pieces = bytes.chunks(TCP_BYTES).cycle();
                while pieces
                    .next()
                    .is_some_and(|piece| socket.write_all(piece).is_ok())
                {}
            });
        }
    });
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Bytes of one call on a socket without a protocol.
const TCP_BYTES: usize = 256 << 10;

/// Receives bytes from a server without a protocol.
fn receive(socket: &mut TcpStream, until: Instant) -> Outcome<Report> {
    let mut buffer = vec![0; TCP_BYTES];
    let (mut operations, mut bytes) = (0, 0);
    while Instant::now() < until {
        bytes += socket.read(&mut buffer)? as u64;
        operations += 1;
    }
    Ok(Report {
        operations,
        bytes,
        ..Report::default()
    })
}

/// The fid of a client's open file.
const FILE: u32 = 1;
/// The first fid for metadata.
const FIRST: u32 = 100;

/// Runs all clients, and adds up what they did.
pub fn run(load: &Load) -> Outcome<Report> {
    let barrier = Barrier::new(load.clients + 1);
    let mut cpu_before = Ok(0.0);
    let started = std::thread::scope(|scope| {
        let client = |number| {
            let barrier = &barrier;
            scope.spawn(move || one(load, number, barrier))
        };
        let all: Vec<_> = (0..load.clients).map(client).collect();
        barrier.wait();
        cpu_before = cpu_seconds(load);
        let ended = all
            .into_iter()
            .map(|one| one.join().expect("a client panicked"));
        ended.collect::<Outcome<Vec<_>>>()
    })?;
    let sum = |of: fn(&Report) -> u64| started.iter().map(of).sum();
    let seconds = started.iter().map(|one| one.seconds).fold(0.0, f64::max);
    Ok(Report {
        seconds,
        operations: sum(|one| one.operations),
        bytes: sum(|one| one.bytes),
        cpu_seconds: cpu_seconds(load)? - cpu_before?,
    })
}

/// Connects a client, prepares its file, and has it work.
fn one(load: &Load, number: usize, barrier: &Barrier) -> Outcome<Report> {
    let seconds = Duration::from_secs_f64(load.seconds);
    if load.operation == "tcp" {
        let socket = TcpStream::connect(load.server.trim_start_matches("tcp:"));
        barrier.wait();
        let begin = Instant::now();
        let mut report = receive(&mut socket?, begin + seconds)?;
        report.seconds = begin.elapsed().as_secs_f64();
        return Ok(report);
    }
    let servers: Vec<_> = load.server.split(',').collect();
    let mut remote = Remote::parse(servers[number % servers.len()])?;
    if !load.tls_ca.is_empty() {
        remote = remote.trusting(load.tls_ca.as_ref())?;
    }
    let token = match load.token_file.as_str() {
        "" => None,
        path => Some(std::fs::read_to_string(path)?),
    };
    let token = token.as_deref().map(str::trim);
    let time = Duration::from_secs(60);
    let export = load.export.as_bytes();
    let name = format!("client-{number}");
    let prepared = || {
        let mut client = Connection::<(u32, u8)>::open(&remote, token, export, time)?;
        if load.operation != "metadata" {
            prepare(&mut client, load, name.as_bytes())?;
        }
        Ok::<_, Box<dyn Error + Send + Sync>>(client)
    };
    // All wait for each other, also for one that fails.
    let prepared = prepared();
    barrier.wait();
    let mut client = prepared?;
    let begin = Instant::now();
    let until = begin + seconds;
    let mut report = match load.operation.as_str() {
        "read" | "write" => transfer(&mut client, load, until)?,
        "metadata" => metadata(&mut client, load, &name, until)?,
        other => return Err(format!("operation={other}: read, write, metadata or tcp").into()),
    };
    report.seconds = begin.elapsed().as_secs_f64();
    Ok(report)
}

/// Sends a request and takes its reply, which must be no error.
fn ask(client: &mut Connection<(u32, u8)>, request: &Request<'_>) -> Outcome<()> {
    let reply = client.call(request, (0, 0), |reply| reply.map(|_| ()))?;
    reply.map_err(|error| format!("{request:?}: {error}").into())
}

/// Creates and fills the file of a client.
fn prepare(client: &mut Connection<(u32, u8)>, load: &Load, name: &[u8]) -> Outcome<()> {
    client.begin_walk(ROOT, FILE, &[], (0, 0))?;
    client.next(|_, reply| reply.map(|_| ()))??;
    let (fid, flags, mode, gid) = (FILE, 0o1102, 0o644, 0);
    ask(
        client,
        &Request::Create {
            fid,
            name,
            flags,
            mode,
            gid,
        },
    )?;
    let piece = vec![7; client.data_bytes() as usize];
    let mut offset = 0;
    while offset < load.file {
        let count = (load.file - offset).min(piece.len() as u64);
        let data = Data(&piece[..count as usize]);
        ask(client, &Request::Write { fid, offset, data })?;
        offset += count;
    }
    Ok(())
}

/// Reads or writes the file from its beginning to its end, again and again.
fn transfer(client: &mut Connection<(u32, u8)>, load: &Load, until: Instant) -> Outcome<Report> {
    let (fid, piece) = (FILE, vec![9; load.bytes]);
    let mut read = vec![0; load.bytes * load.window];
    let mut places = (0..load.window).cycle();
    let (mut offset, mut operations, mut bytes) = (0, 0, 0);
    let mut begin = |client: &mut Connection<(u32, u8)>| {
        if offset + load.bytes as u64 > load.file {
            offset = 0;
        }
        let (at, count) = (offset, load.bytes as u32);
        offset += u64::from(count);
        let request = match load.operation.as_str() {
            "read" => Request::Read {
                fid,
                offset: at,
                count,
            },
            _ => Request::Write {
                fid,
                offset: at,
                data: Data(&piece),
            },
        };
        client.begin(&request, (0, 0))
    };
    for _ in 0..load.window {
        begin(client)?;
    }
    while client.in_flight() > 0 {
        let moved = client.next(|_, reply| {
            reply.map(|reply| match reply {
                Reply::Read { data } => {
                    if load.copy {
                        let at = places.next().unwrap_or_default() * load.bytes;
                        read[at..][..data.0.len()].copy_from_slice(data.0);
                    }
                    data.0.len()
                }
                Reply::Write { count } => count as usize,
                _ => 0,
            })
        })??;
        if moved != load.bytes {
            return Err(format!("{moved} bytes in place of {}", load.bytes).into());
        }
        operations += 1;
        bytes += moved as u64;
        if Instant::now() < until {
            begin(client)?;
        }
    }
    Ok(Report {
        operations,
        bytes,
        ..Report::default()
    })
}

/// Number of requests for one file.
const STEPS: u8 = 9;

/// Creates, looks at, opens and removes files, `window` of them at a time.
fn metadata(
    client: &mut Connection<(u32, u8)>,
    load: &Load,
    name: &str,
    until: Instant,
) -> Outcome<Report> {
    let mut operations = 0;
    for slot in 0..load.window as u32 {
        step(client, name, slot, 0)?;
    }
    while client.in_flight() > 0 {
        let (slot, done) = client.next(|(slot, done), reply| match reply {
            Ok(_) => Ok((slot, done)),
            Err(error) => Err(format!("step {done}: {error}")),
        })??;
        if done + 1 < STEPS {
            step(client, name, slot, done + 1)?;
            continue;
        }
        operations += 1;
        if Instant::now() < until {
            step(client, name, slot, 0)?;
        }
    }
    Ok(Report {
        operations,
        ..Report::default()
    })
}

/// Sends a request for a file: three to create it, three to look at it, two to open it, and one to
/// remove it. diod 1.0.24 removes a file by its fid only.
fn step(client: &mut Connection<(u32, u8)>, name: &str, slot: u32, at: u8) -> Outcome<()> {
    let fid = FIRST + slot;
    let name = format!("{name}-{slot}");
    let name = name.as_bytes();
    let request = match at {
        0 => return Ok(client.begin_walk(ROOT, fid, &[], (slot, at))?),
        3 | 6 => return Ok(client.begin_walk(ROOT, fid, &[name], (slot, at))?),
        1 => Request::Create {
            fid,
            name,
            flags: 0o102,
            mode: 0o644,
            gid: 0,
        },
        4 => Request::GetAttributes { fid, mask: 0x7ff },
        7 => Request::Open { fid, flags: 0 },
        8 => Request::Remove { fid },
        _ => Request::Clunk { fid },
    };
    Ok(client.begin(&request, (slot, at))?)
}
