//! A mount: the files of a daemon in a directory of this host, by FUSE and without root.

mod convert;
mod files;
mod locks;
mod nodes;
mod operations;
mod shared;

use crate::error::{Error, Result};
use crate::link::{Link, Target};
use files::MountedFiles;
use fuser::{Config, MountOption, Session, SessionUnmounter};
use nodes::Nodes;
use shared::Shared;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The number of threads that take requests of the kernel.
const THREADS: usize = 4;

/// The time within which the kernel ends a mount without open files.
const END: Duration = Duration::from_secs(1);

/// The settings of a mount.
#[derive(Clone, Debug)]
pub struct MountConfig {
    /// The daemon.
    pub target: Target,
    /// The time for which the kernel keeps names and attributes without asking the daemon again.
    pub fresh: Duration,
    /// Whether changes are refused.
    pub read_only: bool,
}

/// The files of a daemon in a directory of this host. Dropping it unmounts.
pub struct Mount {
    directory: PathBuf,
    /// Ends the mount; `None` once it has ended.
    unmounter: Option<SessionUnmounter>,
    /// The thread that answers the kernel.
    thread: JoinHandle<()>,
    link: Arc<Link>,
}

impl fmt::Debug for Mount {
    /// Write the directory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

impl Mount {
    /// Mount the export of a daemon at a directory. `report` gets a line when the daemon is gone, and when it
    /// is there again.
    ///
    /// # Errors
    /// As [`Link::open`]; the directory cannot be mounted at.
    pub fn start(
        directory: &Path,
        config: &MountConfig,
        report: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self> {
        let refused = |why: String| Error::Mount(directory.display().to_string(), why);
        end_broken_mount(directory);
        check_directory(directory).map_err(refused)?;
        let report = Box::new(report);
        let (link, shared) = Link::open(config.target.clone(), |root| Shared {
            nodes: Mutex::new(Nodes::new(root)),
            lost: Mutex::default(),
            report,
        })?;
        let notifier = Arc::new(OnceLock::new());
        let files = MountedFiles::new(
            shared,
            Arc::clone(&link),
            config.fresh,
            Arc::clone(&notifier),
        );
        let mut options = Config::default();
        options.mount_options = vec![
            MountOption::FSName("isthmus".into()),
            MountOption::Subtype("isthmus".into()),
            MountOption::NoDev,
            MountOption::NoSuid,
        ];
        if config.read_only {
            options.mount_options.push(MountOption::RO);
        }
        options.n_threads = Some(THREADS);
        options.clone_fd = true;
        let session = Session::new(files, directory, &options);
        let started = session.and_then(|mut session| {
            let unmounter = session.unmount_callable();
            // It is set here alone.
            let _ = notifier.set(session.notifier());
            let thread = std::thread::Builder::new().name("mount".into());
            // Its errors are those of a connection to the kernel that has ended.
            let thread = thread.spawn(move || drop(session.run()))?;
            Ok((unmounter, thread))
        });
        let (unmounter, thread) = started.map_err(|error| {
            link.end();
            match error.kind() {
                std::io::ErrorKind::NotFound => refused(
                    "FUSE is missing: /dev/fuse, and the program fusermount3 of the package fuse3, \
                     are needed"
                        .into(),
                ),
                _ => refused(error.to_string()),
            }
        })?;
        Ok(Self {
            directory: directory.into(),
            unmounter: Some(unmounter),
            thread,
            link,
        })
    }

    /// Return whether it is still mounted.
    #[must_use]
    pub fn is_mounted(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Unmount. What processes have written is with the daemon.
    ///
    /// # Errors
    /// Files were in use: from now on these fail with `ENOTCONN`.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    /// Unmount, unless that is done.
    fn end(&mut self) -> Result<()> {
        let Some(mut unmounter) = self.unmounter.take() else {
            return Ok(());
        };
        // An error is that of files in use, or the user has unmounted it.
        let is_unmounted = self.thread.is_finished() || unmounter.unmount().is_ok();
        let end = Instant::now() + END;
        while is_unmounted && self.is_mounted() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.link.end();
        if !self.is_mounted() {
            return Ok(());
        }
        detach(&self.directory);
        let text = "files in it are in use; they fail with ENOTCONN when this process ends";
        let directory = self.directory.display().to_string();
        Err(Error::Mount(directory, text.into()))
    }
}

impl Drop for Mount {
    /// Unmount.
    fn drop(&mut self) {
        // An error has no reader here.
        let _ = self.end();
    }
}

/// Check that a directory can be mounted at without hiding files.
fn check_directory(directory: &Path) -> std::result::Result<(), String> {
    let status = std::fs::metadata(directory);
    let status = status.map_err(|error| format!("{error}; make it first"))?;
    if !status.is_dir() {
        return Err("it is no directory".into());
    }
    let above = std::fs::metadata(directory.join(".."));
    if above.is_ok_and(|above| above.dev() != status.dev()) && is_fuse(directory) {
        return Err("it is mounted already; unmount it first, or give another directory".into());
    }
    match std::fs::read_dir(directory).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err("it has files, which the mount would hide; give an empty directory".into())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Return whether a directory is of a file system by FUSE.
fn is_fuse(directory: &Path) -> bool {
    const FUSE: u64 = 0x6573_5546;
    let state = rustix::fs::statfs(directory);
    state.is_ok_and(|state| u64::try_from(state.f_type) == Ok(FUSE))
}

/// Unmount a directory whose process was killed: the system has it as "not connected".
fn end_broken_mount(directory: &Path) {
    const NOT_CONNECTED: i32 = 107;
    let status = std::fs::metadata(directory);
    if status.is_err_and(|error| error.raw_os_error() == Some(NOT_CONNECTED)) {
        // If this fails, mounting reports why.
        detach(directory);
    }
}

/// Unmount a directory whose files are in use.
fn detach(directory: &Path) {
    // Only root may do this without the program.
    if rustix::mount::unmount(directory, rustix::mount::UnmountFlags::DETACH).is_ok() {
        return;
    }
    let mut command = Command::new("fusermount3");
    command.args(["-u", "-z", "--"]).arg(directory);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // A signal of the terminal is for the mount.
    command.process_group(0);
    // The directory stays as it is where the program is missing.
    let _ = command.status();
}
