//! The wire format: encoding round-trips, and invalid bytes are refused.

use isthmus_stream::wire::{DiscardedStreams, Header, Kind, Malformed};
use proptest::prelude::*;

prop_compose! {
    fn data_headers()(
        numbers in prop::array::uniform5(any::<u64>()),
        small in prop::array::uniform4(any::<u32>()),
        adu in any::<u32>(),
        bytes in 0u32..100_000,
        mark in 0..3u8,
        beyond in any::<u64>(),
    ) -> Header {
        let offset = numbers[0] >> 1;
        let mut discarded = DiscardedStreams::default();
        if small[3] % 2 == 0 {
            discarded.add(small[3] / 2);
            discarded.add(small[3] / 2 + small[3] % 40);
        }
        let mark = if bytes == 0 { 1 + mark % 2 } else { mark % 2 };
        Header {
            kind: Kind::Data,
            end: mark == 1,
            cut: mark == 2,
            channel: small[0],
            stream: small[1],
            sequence: numbers[1] >> 2,
            floor: numbers[2],
            adu: u64::from(adu),
            adu_bytes: offset + u64::from(bytes),
            offset,
            bytes,
            sum: small[2],
            acknowledged: numbers[3],
            beyond,
            granted: numbers[4],
            delivered: numbers[3] / 2,
            discarded,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn encoding_round_trips(header in data_headers(), more in 0usize..20) {
        let mut bytes = header.encode().to_vec();
        bytes.resize(Header::BYTES + more, 0xaa);
        prop_assert_eq!(Header::decode(&bytes), Ok(header));
        // Every flipped bit is detected.
        let bit = (header.sequence % (Header::BYTES as u64 * 8)) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Header::decode(&bytes).is_err());
    }

    /// Arbitrary bytes, with or without a valid checksum, never panic. Decoded headers encode to
    /// the same bytes.
    #[test]
    fn garbage_is_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..150), fix in 0..3u8) {
        if fix > 0 && bytes.len() >= Header::BYTES {
            bytes[..3].copy_from_slice(b"IS\x01");
            if fix > 1 {
                bytes[3] %= 3;
                bytes[4..8].fill(0);
                bytes[100] |= 1;
                bytes[104..108].fill(0);
                bytes[23] = 0;
                bytes[39] = 0;
            }
            let sum = isthmus_stream::checksum::crc32c(&bytes[..108]);
            bytes[108..112].copy_from_slice(&sum.to_le_bytes());
        }
        match Header::decode(&bytes) {
            Ok(header) => prop_assert_eq!(&header.encode()[..], &bytes[..Header::BYTES]),
            Err(Malformed::Short(found)) => prop_assert_eq!(found, bytes.len()),
            Err(why) => prop_assert!(!why.to_string().is_empty()),
        }
    }
}

#[test]
fn refusals_name_the_problem() {
    let good = Header::new(Kind::Acknowledge, 7).encode();
    let mut old = good;
    old[2] = 9;
    let words = |bytes: &[u8]| Header::decode(bytes).unwrap_err().to_string();
    assert_eq!(words(&good[..50]), "50 bytes: a header has 112");
    assert_eq!(
        words(&[0; 112]),
        "no header begins so: it begins with the letters IS"
    );
    assert_eq!(words(&old), "version 9 of headers: 1 is known");
}
