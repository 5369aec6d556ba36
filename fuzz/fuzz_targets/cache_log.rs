//! The body is `isthmus_fuzz_bodies::cache_log`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| isthmus_fuzz_bodies::cache_log(data));
