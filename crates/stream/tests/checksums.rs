//! Checksums compared with naive loops over bytes.

use isthmus_stream::checksum::{Partial, combine_crc32c, crc32c};
use proptest::prelude::*;

/// RFC 1071, word by word.
fn naive_internet(data: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in data.chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        sum += u32::from(pair[0]) << 8 | u32::from(low);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// CRC32C, bit by bit, reflected polynomial 0x82f63b78.
fn naive_crc32c(data: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in data {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !crc
}

/// Ones' complement has two representations of zero.
fn same(a: u16, b: u16) -> bool {
    a == b || (a.min(b) == 0 && a.max(b) == 0xffff)
}

#[test]
fn known_sums() {
    // RFC 1071, section 3; RFC 3720, B.4.
    let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(Partial::of(&example).finish(), !0xddf2);
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(Partial::default().finish(), 0xffff);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Combined sums match another library for any length of the second piece.
    #[test]
    fn two_sums_are_put_together(first: u32, second: u32, bytes: u64, shorter in 0..64u32) {
        // Blocks of the ranks' size have their own code.
        let bytes = if shorter % 4 == 3 { 16 << 10 } else { bytes >> shorter };
        let other = crc_fast::checksum_combine(
            crc_fast::CrcAlgorithm::Crc32Iscsi,
            first.into(),
            second.into(),
            bytes,
        );
        prop_assert_eq!(u64::from(combine_crc32c(first, second, bytes)), other);
    }

    /// Data of any length up to more than drivers sum at a time, at any alignment.
    #[test]
    fn long_sums_are_those_of_naive_loops(
        block in prop::collection::vec(any::<u8>(), 4_093),
        bytes in prop_oneof![0..2_000usize, 0..600_000usize],
        skip in 0..17usize,
    ) {
        let data: Vec<u8> = block.iter().copied().cycle().take(bytes + skip).collect();
        let data = &data[skip..];
        prop_assert!(same(Partial::of(data).finish(), naive_internet(data)));
        let naive = naive_crc32c(data);
        prop_assert_eq!(crc32c(data), naive);
    }

    /// Any data, at any alignment, in any pieces: summed, and combined.
    #[test]
    fn sums_are_those_of_naive_loops(
        data in prop::collection::vec(any::<u8>(), 0..40_000),
        skip in 0usize..9,
        cuts in prop::collection::vec(0usize..40_000, 0..6),
        fill in any::<bool>(),
    ) {
        let data = if fill { vec![0xff; data.len()] } else { data };
        let data = &data[skip.min(data.len())..];
        prop_assert!(same(Partial::of(data).finish(), naive_internet(data)));
        let naive = naive_crc32c(data);
        prop_assert_eq!(crc32c(data), naive);

        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(data.len())).collect();
        cuts.extend([0, data.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|ends| &data[ends[0]..ends[1]]);
        let (mut sum, mut crc) = (Partial::default(), crc32c(&[]));
        for piece in pieces {
            let part = Partial::from_word(Partial::of(piece).word(), piece.len() as u64);
            sum = sum.then(part);
            crc = combine_crc32c(crc, naive_crc32c(piece), piece.len() as u64);
        }
        prop_assert!(same(sum.finish(), naive_internet(data)));
        prop_assert_eq!(crc, naive);
    }
}
