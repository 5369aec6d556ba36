//! Clients of the I/O daemon that are attached and do nothing: the memory that it has for them.

use isthmus_iod_client::Connection;
use isthmus_wire::Remote;
use serde::Serialize;
use std::error::Error;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

values! {
    /// The daemon and its clients.
    #[derive(Debug, Clone)]
    Idle {
        /// The address of the daemon.
        server: String = String::new(),
        /// The process of the daemon.
        pid: u32 = 0,
        /// How many clients.
        clients: usize = 1000,
    }
}

/// Resident memory of the daemon in bytes.
#[derive(Debug, Serialize)]
pub struct Memory {
    /// With one client.
    before: u64,
    /// With all clients.
    after: u64,
}

/// The time after which the daemon has answered all clients and waits.
const QUIET: Duration = Duration::from_millis(500);

/// Attaches the clients, and measures the memory of the daemon before and after.
pub fn run(idle: &Idle) -> Result<Memory, Box<dyn Error + Send + Sync>> {
    let remote = Remote::parse(&idle.server)?;
    let attach = || Connection::<()>::open(&remote, None, b"", Duration::from_secs(60));
    let first = attach()?;
    sleep(QUIET);
    let before = resident(idle.pid)?;
    let others: Vec<_> = (1..idle.clients)
        .map(|_| attach())
        .collect::<Result<_, _>>()?;
    sleep(QUIET);
    let after = resident(idle.pid)?;
    drop((first, others));
    Ok(Memory { before, after })
}

/// Returns the resident memory of a process, in bytes.
fn resident(pid: u32) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kib.ok_or("no VmRSS")?.trim().parse::<u64>()? << 10)
}
