//! CRC32C by two units of the processor at a time: three lanes of the instruction for this sum, and
//! folds of 128 bytes by multiplications without carries, in registers of 256 bits.
//!
//! Folds are those of Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
//! Instruction", Intel, 2009. A part of the data is a number of rounds, and lies so: the first
//! lane's bytes of all rounds, the second's, the third's, and what is folded. Each of the four is
//! summed from zero. Its sum times the power of `x` of the bits behind it is its share of the sum of
//! all, and so is that of the parts before: none waits for the one before it.

use super::powers::power;
use archmage::{SimdToken, X64V3CryptoToken, arcane, rite};
use std::arch::x86_64::__m256i;

/// Words of eight bytes of a lane in a round.
const WORDS: usize = 5;
/// Bytes that are folded in a round.
const FOLDED: usize = 128;
/// Parts, from long to short. The first is nearly a block as ranks sum them, 16 KiB.
const PARTS: [Part; 3] = [Part::of(66), Part::of(16), Part::of(4)];

/// The proof that the processor has what this way of summing takes: x86-64 of level 3 with
/// multiplications without carries in registers of 256 bits.
#[derive(Clone, Copy, Debug)]
pub struct Woven(X64V3CryptoToken);

impl Woven {
    /// The proof, if this processor has it.
    #[must_use]
    pub fn here() -> Option<Self> {
        X64V3CryptoToken::summon().map(Self)
    }

    /// The CRC32C of `data`.
    #[must_use]
    pub fn crc32c(self, data: &[u8]) -> u32 {
        sum(self.0, data)
    }
}

/// A part of the data.
struct Part {
    rounds: usize,
    /// What the sums of all before it and of each lane are multiplied with to be moved to its end.
    moves: [u32; 4],
}

impl Part {
    const fn of(rounds: usize) -> Self {
        let (lane, folded) = (rounds * 8 * WORDS, rounds * FOLDED);
        Self {
            rounds,
            moves: [
                moved_by(3 * lane + folded),
                moved_by(2 * lane + folded),
                moved_by(lane + folded),
                moved_by(folded),
            ],
        }
    }

    const fn bytes(&self) -> usize {
        self.rounds * (3 * 8 * WORDS + FOLDED)
    }
}

/// What a sum is multiplied with to be moved by `bytes`: a product of reflected polynomials is one
/// power too high, and the instruction that reduces it multiplies with `x^32`.
const fn moved_by(bytes: usize) -> u32 {
    power(8 * bytes as u64 - 33, 0)
}

/// What the two words of a register of 128 bits are multiplied with to be moved by `bytes`, as in
/// the paper's section on folding, of reflected data: the lower word has the higher powers, 64 above
/// those of the upper one, and of both products 33 are there already, as above.
const fn fold_by(bytes: usize) -> [i64; 2] {
    let bits = 8 * bytes as u64;
    [power(bits + 31, 0) as i64, power(bits - 33, 0) as i64]
}

#[arcane(import_intrinsics)]
fn sum(_token: X64V3CryptoToken, data: &[u8]) -> u32 {
    let (mut sum, mut rest) = (!0, data);
    for part in &PARTS {
        while let Some((next, behind)) = rest.split_at_checked(part.bytes()) {
            sum = with_part(sum, next, part);
            rest = behind;
        }
    }
    let (words, bytes) = rest.as_chunks();
    sum = with_words(u64::from(sum), words) as u32;
    for byte in bytes {
        sum = _mm_crc32_u8(sum, *byte);
    }
    !sum
}

/// The sum of a part behind what has the sum `before`.
#[rite(v3_crypto, import_intrinsics)]
fn with_part(before: u32, data: &[u8], part: &Part) -> u32 {
    const A_ROUND: [i64; 2] = fold_by(FOLDED);
    let (lanes, folded) = data.split_at(part.rounds * 3 * 8 * WORDS);
    let (lanes, _) = lanes.as_chunks::<8>().0.as_chunks::<WORDS>();
    let (first, lanes) = lanes.split_at(part.rounds);
    let (second, third) = lanes.split_at(part.rounds);
    let (folded, _) = folded.as_chunks::<FOLDED>();

    let [mut a, mut b, mut c] = [0; 3];
    let mut wide = [_mm256_setzero_si256(); 4];
    for (((first, second), third), next) in first.iter().zip(second).zip(third).zip(folded) {
        a = with_words(a, first);
        b = with_words(b, second);
        c = with_words(c, third);
        let (next, _) = next.as_chunks::<32>();
        wide = [
            fold(wide[0], A_ROUND, _mm256_loadu_si256(&next[0])),
            fold(wide[1], A_ROUND, _mm256_loadu_si256(&next[1])),
            fold(wide[2], A_ROUND, _mm256_loadu_si256(&next[2])),
            fold(wide[3], A_ROUND, _mm256_loadu_si256(&next[3])),
        ];
    }
    let moved = times(u64::from(before), part.moves[0])
        ^ times(a, part.moves[1])
        ^ times(b, part.moves[2])
        ^ times(c, part.moves[3]);
    _mm_crc32_u64(0, moved) as u32 ^ of_folded(wide)
}

/// A lane's sum with these words behind it.
#[rite(v3_crypto, import_intrinsics)]
fn with_words(sum: u64, words: &[[u8; 8]]) -> u64 {
    words.iter().fold(sum, |sum, word| {
        _mm_crc32_u64(sum, u64::from_le_bytes(*word))
    })
}

/// What is left of both halves of `wide` when they are moved by bytes, onto `next`.
#[rite(v3_crypto, import_intrinsics)]
fn fold(wide: __m256i, by: [i64; 2], next: __m256i) -> __m256i {
    let by = _mm256_setr_epi64x(by[0], by[1], by[0], by[1]);
    let low = _mm256_clmulepi64_epi128::<0x00>(wide, by);
    let high = _mm256_clmulepi64_epi128::<0x11>(wide, by);
    _mm256_xor_si256(_mm256_xor_si256(low, high), next)
}

/// The sum of what was folded to four registers.
#[rite(v3_crypto, import_intrinsics)]
fn of_folded(wide: [__m256i; 4]) -> u32 {
    let [first, second, third, fourth] = wide;
    let third = fold(first, const { fold_by(64) }, third);
    let fourth = fold(second, const { fold_by(64) }, fourth);
    let all = fold(third, const { fold_by(32) }, fourth);
    // Its lower half goes before the upper one.
    let lower = _mm256_permute2x128_si256::<0x08>(all, all);
    let all = _mm256_extracti128_si256::<1>(fold(lower, const { fold_by(16) }, all));
    let sum = _mm_crc32_u64(0, _mm_cvtsi128_si64(all) as u64);
    _mm_crc32_u64(sum, _mm_extract_epi64::<1>(all) as u64) as u32
}

/// The product of a sum and a power.
#[rite(v3_crypto, import_intrinsics)]
fn times(sum: u64, power: u32) -> u64 {
    let (sum, power) = (
        _mm_cvtsi64_si128(sum as i64),
        _mm_cvtsi32_si128(power as i32),
    );
    _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0>(sum, power)) as u64
}
