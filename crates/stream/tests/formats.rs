//! ADUs, TUs, SUs and packets compared with their definition, byte by byte.

use isthmus_stream::{Adu, Format, LinkId};
use proptest::prelude::*;

prop_compose! {
    fn formats()(
        tu in 1u64..200,
        links in prop::collection::vec(0u16..5, 1..6),
        granule in 1u64..9,
        part in 0u64..200,
        adu in 1u64..1000,
    ) -> Format {
        Format {
            adu: Adu::Fixed(adu),
            tu_bytes: tu,
            order: links.into_iter().map(LinkId).collect(),
            granule_bytes: granule,
            packet_bytes: 1 + part % tu,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// TUs cover the ADU, and SUs and packets cover each TU, once and in order. SUs follow the
    /// rule.
    #[test]
    fn units_cover_their_data_once(format in formats()) {
        prop_assert!(format.check().is_ok());
        let Adu::Fixed(adu) = format.adu else { unreachable!() };
        let mut bytes = 0;
        for index in 0..format.tus(adu) {
            let tu = format.tu(7, adu, index).unwrap();
            prop_assert_eq!((tu.adu, tu.index, tu.offset), (7, index, bytes));
            prop_assert_eq!(tu.bytes, format.tu_bytes.min(adu - bytes));
            prop_assert_eq!(tu.last, bytes + tu.bytes == adu);
            bytes += tu.bytes;
            let mut at = 0;
            for (place, su) in format.sus(tu.bytes).enumerate() {
                prop_assert_eq!((su.offset, su.index as usize), (at, place));
                prop_assert_eq!(su.link, format.order[place]);
                prop_assert!(su.bytes > 0);
                at += su.bytes;
                // All except the last have the same size, in whole granules, with the smallest
                // possible number.
                if at < tu.bytes {
                    prop_assert_eq!(su.bytes % format.granule_bytes, 0);
                    let even = tu.bytes as f64 / format.order.len() as f64;
                    prop_assert!((su.bytes as f64) < even + format.granule_bytes as f64);
                }
            }
            prop_assert_eq!(at, tu.bytes);
            let mut at = 0;
            for (offset, bytes) in format.packets(tu.bytes) {
                prop_assert_eq!(offset, at);
                prop_assert!(bytes > 0 && u64::from(bytes) <= format.packet_bytes);
                at += u64::from(bytes);
            }
            prop_assert_eq!(at, tu.bytes);
        }
        prop_assert_eq!(bytes, adu);
        prop_assert_eq!(format.tu(7, adu, format.tus(adu)), None);
    }
}

/// Section 7.1 of the paper: four forwarders, SUs of 16 KB in TUs of 64 KB. Also eight blocks of 8
/// KB over four links, each link twice.
#[test]
fn units_of_the_paper() {
    let four: Vec<_> = (0..4).map(LinkId).collect();
    let format = Format::fixed(1 << 20, 64 << 10, &four);
    assert_eq!(format.su_bytes(64 << 10), 16 << 10);
    let eight: Vec<_> = four.iter().chain(&four).copied().collect();
    let format = Format::fixed(1 << 20, 64 << 10, &eight);
    assert_eq!(format.su_bytes(64 << 10), 8 << 10);
    assert_eq!(format.links(), four);
}

/// 100 bytes in TUs of 64 over 4 links: SUs of 16 bytes, then 36 bytes as SUs of 9. With granules
/// of 8 the last TU is 16, 16, 4 and nothing.
#[test]
fn the_last_tu_is_shorter_and_so_are_its_sus() {
    let four: Vec<_> = (0..4).map(LinkId).collect();
    let mut format = Format::fixed(100, 64, &four);
    let cut = |format: &Format| -> Vec<u64> {
        let tus = (0..2).filter_map(|index| format.tu(0, 100, index));
        tus.flat_map(|tu| format.sus(tu.bytes).map(|su| su.bytes).collect::<Vec<_>>())
            .collect()
    };
    assert_eq!(cut(&format), [16, 16, 16, 16, 9, 9, 9, 9]);
    format.granule_bytes = 8;
    assert_eq!(cut(&format), [16, 16, 16, 16, 16, 16, 4]);
}

#[test]
fn invalid_formats_are_refused_with_a_message() {
    let link = [LinkId(0)];
    let refusal = |change: fn(&mut Format)| {
        let mut format = Format::fixed(100, 64, &link);
        change(&mut format);
        format.check().unwrap_err().to_string()
    };
    let cases = [
        refusal(|format| format.adu = Adu::Fixed(0)),
        refusal(|format| format.tu_bytes = 0),
        refusal(|format| format.order.clear()),
        refusal(|format| format.packet_bytes = 65),
    ];
    let expected = [
        "data format: an ADU of 0 bytes: it has at least 1",
        "data format: a TU, a granule or a packet of 0 bytes: each has at least 1",
        "data format: 0 SUs in a TU: 1 to 65536 can be",
        "data format: packets of 65 bytes with TUs of 64: a packet is a TU or a part of it, below \
         4 GiB",
    ];
    assert_eq!(cases, expected);
}
