//! The mapped memory of a ring: a file in memory that can neither shrink nor grow.
//!
//! | bytes | hold |
//! |---|---|
//! | 0-7 | [`MAGIC`] |
//! | 8-15 | [`VERSION`] |
//! | 16-23 | the capacity |
//! | 128, 256, ... | the words, each in its own pair of cache lines, which are fetched together |
//! | 4096 to the end | the bytes |
//!
//! All numbers have 64 bits in native byte order, because the memory stays on the machine.

use crate::error::Error;
use crate::words::{AWAKE, AtomicU64, Memory, Ordering, Word};
use rustix::fs::{self, FallocateFlags, MemfdFlags, Mode, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use vm_memory::{FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

/// The first bytes of the memory of a ring: `ISTHRING`.
pub(crate) const MAGIC: u64 = u64::from_be_bytes(*b"ISTHRING");
/// Version of the layout of a ring's memory, which the module documentation describes.
pub(crate) const VERSION: u64 = 2;
/// Number of bytes of a ring's memory before the data.
pub(crate) const HEADER: usize = 4096;
/// Distance in bytes from one shared word to the next in a ring's memory.
const APART: usize = 128;
/// Minimum and maximum capacity of a ring in bytes.
const CAPACITIES: std::ops::RangeInclusive<u64> = 4096..=1 << 30;
/// File system type of tmpfs: files in memory on tmpfs have pages of ordinary size.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// The mapped memory of one ring.
#[derive(Debug)]
pub(crate) struct Mapping {
    region: MmapRegion,
    capacity: u64,
}

/// Returns whether a ring may have this capacity: a power of two within the limits.
fn is_capacity(bytes: u64) -> bool {
    bytes.is_power_of_two() && CAPACITIES.contains(&bytes)
}

/// Creates a file in memory with an empty ring of `capacity` bytes.
pub(crate) fn create(capacity: u64) -> Result<OwnedFd, Error> {
    if !is_capacity(capacity) {
        return Err(Error::Capacity(capacity));
    }
    let refused = |what: &'static str| move |error: Errno| Error::system(what, error);
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = fs::memfd_create("isthmus-ring", flags).map_err(refused("memory for a ring"))?;
    // Processes of other users must not open the file through `/proc`.
    fs::fchmod(&file, Mode::RUSR | Mode::WUSR).map_err(refused("the mode of a ring"))?;
    let len = HEADER as u64 + capacity;
    fs::ftruncate(&file, len).map_err(refused("the size of a ring"))?;
    // Allocate the memory now, so that missing memory causes an error here instead of a signal on
    // first access.
    fs::fallocate(&file, FallocateFlags::empty(), 0, len)
        .map_err(refused("the pages of a ring"))?;
    fs::fcntl_add_seals(&file, seals()).map_err(refused("the seals of a ring"))?;
    let again = file
        .try_clone()
        .map_err(|error| Error::system("a second descriptor of the memory", error))?;
    let mapping = Arc::new(Mapping::map(again, capacity)?);
    mapping
        .word(Word::ReaderWants)
        .store(AWAKE, Ordering::Relaxed);
    mapping
        .word(Word::WriterWants)
        .store(AWAKE, Ordering::Relaxed);
    for (at, value) in [(16, capacity), (8, VERSION), (0, MAGIC)] {
        mapping.number(at).store(value, Ordering::Release);
    }
    Ok(file)
}

/// Returns the seals on the memory of a ring that keep the other side from removing mapped pages.
fn seals() -> SealFlags {
    SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL
}

impl Mapping {
    /// Maps the memory of a received descriptor. Fails if it is not a ring of at most `most` bytes.
    pub(crate) fn attach(file: &OwnedFd, most: u64) -> Result<Arc<Self>, Error> {
        let again = file
            .try_clone()
            .map_err(|error| Error::system("a second descriptor of the memory", error))?;
        Self::checked(again, most)
    }

    /// Maps the memory file after checks of its seals, its size and its header.
    fn checked(file: OwnedFd, most: u64) -> Result<Arc<Self>, Error> {
        let no = |why: String| Err(Error::NoRing(why));
        // Check that this is a file in memory: only such files have seals.
        match fs::fcntl_get_seals(&file) {
            Ok(found) if found.contains(seals()) => {}
            Ok(_) => return no("its size is not sealed".to_owned()),
            Err(_) => return no("it is no file in memory".to_owned()),
        }
        // Accept only pages of ordinary size. With huge pages, memory could still be missing on
        // access, which would kill this process.
        match fs::fstatfs(&file) {
            Ok(found) if u64::try_from(found.f_type) == Ok(TMPFS_MAGIC) => {}
            _ => return no("its memory is not of ordinary pages".to_owned()),
        }
        let size = match fs::fstat(&file) {
            Ok(found) => found.st_size as u64,
            Err(error) => return no(error.to_string()),
        };
        let capacity = size.wrapping_sub(HEADER as u64);
        if !is_capacity(capacity) {
            return no(format!("{size} bytes are the size of none"));
        }
        if capacity > most {
            return no(format!("{capacity} bytes are more than the {most} wanted"));
        }
        let mapping = Self::map(file, capacity)?;
        for (at, wanted, what) in [
            (0, MAGIC, "what it begins with"),
            (8, VERSION, "its version"),
            (16, capacity, "its capacity"),
        ] {
            let found = mapping.number(at).load(Ordering::Acquire);
            if found != wanted {
                return no(format!("{what} is {found:#x}, not {wanted:#x}"));
            }
        }
        Ok(Arc::new(mapping))
    }

    /// Maps the memory file, which has a valid size.
    fn map(file: OwnedFd, capacity: u64) -> Result<Self, Error> {
        let whole = FileOffset::new(File::from(file), 0);
        let prot = (ProtFlags::READ | ProtFlags::WRITE).bits() as i32;
        // `POPULATE` fills the page tables now: a fault for each page would cost more than its
        // copy.
        let flags = (MapFlags::SHARED | MapFlags::POPULATE).bits() as i32;
        let region = MmapRegion::build(Some(whole), HEADER + capacity as usize, prot, flags)
            .map_err(|error| Error::system("mapping a ring", std::io::Error::other(error)))?;
        Ok(Self { region, capacity })
    }

    /// Returns the number at byte `at` of the header of the memory.
    fn number(&self, at: usize) -> &AtomicU64 {
        let number = self.region.get_atomic_ref(at);
        number.expect("the header is mapped, and numbers in it are aligned")
    }

    /// Returns `len` bytes of the ring's data from byte `at`.
    pub(crate) fn bytes(&self, at: usize, len: usize) -> VolatileSlice<'_> {
        let bytes = self.region.get_slice(HEADER + at, len);
        bytes.expect("no copy goes beyond the end of the ring")
    }
}

impl Memory for Arc<Mapping> {
    /// Returns the capacity of the ring in bytes.
    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns one of the words that both sides share.
    fn word(&self, word: Word) -> &AtomicU64 {
        self.number(APART * (1 + word as usize))
    }

    // Both copies below use pointers to memory that may change during the copy; they read no byte
    // twice.

    /// Copies `bytes` into the ring from byte `at` of the ring.
    fn copy_in(&self, at: usize, bytes: &[u8]) {
        self.bytes(at, bytes.len()).copy_from(bytes);
    }

    /// Copies from byte `at` of the ring into `bytes`.
    fn copy_out(&self, at: usize, bytes: &mut [u8]) {
        self.bytes(at, bytes.len()).copy_to(bytes);
    }
}
