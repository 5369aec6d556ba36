//! Disk, cache and I/O node as sans-I/O machines.
