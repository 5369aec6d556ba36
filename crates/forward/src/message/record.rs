//! Records: groups of fields that several messages have, such as the attributes of a file.

use super::Malformed;
use super::field::{Field, Unread};
use crate::buffer::Buffer;

/// Defines a group of fields with fixed order.
macro_rules! record {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type),*
        }

        impl<'a> Field<'a> for $name {
            fn read(from: &mut Unread<'a>) -> Result<Self, Malformed> {
                Ok(Self { $($field: Field::read(from)?),* })
            }

            fn write(&self, out: &mut Buffer) {
                $(self.$field.write(out);)*
            }
        }
    };
}

record! {
    /// Type, version and number of a file, as the server knows it.
    Qid {
        /// One of [`Qid::FILE`], [`Qid::DIRECTORY`], [`Qid::SYMLINK`] and [`Qid::TOKEN`].
        kind: u8,
        /// A number that changes with the content of the file.
        version: u32,
        /// A number that no other file of the server has at the same time.
        path: u64,
    }
}

impl Qid {
    /// The type of files that are neither directories nor symbolic links.
    pub const FILE: u8 = 0;
    /// The type of symbolic links.
    pub const SYMLINK: u8 = 0x02;
    /// The type of a fid for a token (`QTAUTH`).
    pub const TOKEN: u8 = 0x08;
    /// The type of directories.
    pub const DIRECTORY: u8 = 0x80;
    /// Size in bytes in a message.
    pub const BYTES: usize = 13;
}

record! {
    /// Attributes of a file. Times are in s and ns since 1970.
    Attributes {
        /// A bit for each attribute that the server has filled in.
        valid: u64,
        /// Type, version and number of the file.
        qid: Qid,
        /// Type and permissions, as `st_mode` of Linux.
        mode: u32,
        /// The owner.
        uid: u32,
        /// The group.
        gid: u32,
        /// The number of names.
        links: u64,
        /// The number of the device, for special files.
        device: u64,
        /// Size in bytes.
        size: u64,
        /// The size in bytes that suits reads and writes.
        block_bytes: u64,
        /// Allocated space, in units of 512 bytes.
        blocks: u64,
        /// Time of the last read, s.
        accessed_s: u64,
        /// The same, ns.
        accessed_ns: u64,
        /// Time of the last write, s.
        modified_s: u64,
        /// The same, ns.
        modified_ns: u64,
        /// Time of the last change of attributes, s.
        changed_s: u64,
        /// The same, ns.
        changed_ns: u64,
        /// Time of creation, s.
        created_s: u64,
        /// The same, ns.
        created_ns: u64,
        /// Reserved by the protocol.
        generation: u64,
        /// Reserved by the protocol.
        data_version: u64,
    }
}

impl Attributes {
    /// The bits of `valid` for all attributes that `stat` of POSIX has.
    pub const BASIC: u64 = 0x7ff;
    /// The bit of `valid` for the time of creation.
    pub const CREATED: u64 = 0x800;

    /// Return the time of creation in s and ns since 1970; zeros if the server does not know it.
    #[must_use]
    pub fn created(&self) -> (u64, u32) {
        match self.valid & Self::CREATED {
            0 => (0, 0),
            _ => (self.created_s, u32::try_from(self.created_ns).unwrap_or(0)),
        }
    }
}

record! {
    /// A change of attributes: a bit of `valid` for each attribute to change.
    Change {
        /// The bits, see the constants of this type.
        valid: u32,
        /// Permissions.
        mode: u32,
        /// The owner.
        uid: u32,
        /// The group.
        gid: u32,
        /// Size in bytes.
        size: u64,
        /// Time of the last read, s.
        accessed_s: u64,
        /// The same, ns.
        accessed_ns: u64,
        /// Time of the last write, s.
        modified_s: u64,
        /// The same, ns.
        modified_ns: u64,
    }
}

impl Change {
    /// Change the permissions.
    pub const MODE: u32 = 1 << 0;
    /// Change the owner.
    pub const UID: u32 = 1 << 1;
    /// Change the group.
    pub const GID: u32 = 1 << 2;
    /// Change the size.
    pub const SIZE: u32 = 1 << 3;
    /// Change the time of the last read, to now unless [`Change::ACCESSED_TO`] is set as well.
    pub const ACCESSED: u32 = 1 << 4;
    /// Change the time of the last write, to now unless [`Change::MODIFIED_TO`] is set as well.
    pub const MODIFIED: u32 = 1 << 5;
    /// Change the time of the last change of attributes, which each change does.
    pub const CHANGED: u32 = 1 << 6;
    /// The time of the last read is in the message.
    pub const ACCESSED_TO: u32 = 1 << 7;
    /// The time of the last write is in the message.
    pub const MODIFIED_TO: u32 = 1 << 8;
    /// All bits that have a meaning.
    pub const ALL: u32 = (1 << 9) - 1;

    /// Return whether any of these bits is set.
    #[must_use]
    pub fn has(&self, bits: u32) -> bool {
        self.valid & bits != 0
    }
}

record! {
    /// The state of a daemon. Times are in ms.
    DaemonStatus {
        /// How long it has run.
        up_ms: u64,
        /// The number of clients.
        clients: u64,
        /// The number of open files.
        open_files: u64,
        /// The number of bytes that clients have read.
        read: u64,
        /// The number of bytes that clients have written.
        written: u64,
        /// 1 if it has a cache; the following are 0 without one.
        has_cache: u8,
        /// Maximum number of bytes in the cache.
        cache_bytes: u64,
        /// Maximum number of bytes that are not stored.
        dirty_bytes: u64,
        /// The number of files in the cache.
        files: u64,
        /// The number of bytes in the cache.
        bytes: u64,
        /// The number of bytes that are not stored.
        unstored: u64,
        /// The number of files with such bytes.
        unstored_files: u64,
        /// The number of files that could not be stored at the last attempt.
        failed_files: u64,
        /// For how long the oldest byte that is not stored has waited.
        oldest_ms: u64,
        /// The number of bytes that were stored so far.
        stored: u64,
        /// The number of bytes that are stored each second now.
        rate: u64,
        /// The number of bytes that clients have read from the cache.
        hits: u64,
        /// The number of bytes that were read from the store.
        misses: u64,
    }
}

record! {
    /// The state of a file system, as `statfs` of Linux.
    FileSystem {
        /// The type of the file system.
        kind: u32,
        /// Size of a block in bytes.
        block_bytes: u32,
        /// Number of blocks.
        blocks: u64,
        /// Number of free blocks.
        free: u64,
        /// Number of blocks that the daemon's user may take.
        available: u64,
        /// Number of files that fit.
        files: u64,
        /// Number of files that still fit.
        free_files: u64,
        /// The number of the file system.
        id: u64,
        /// Maximum length of a name in bytes.
        name_bytes: u32,
    }
}
