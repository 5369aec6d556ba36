//! Triangles of a surface in a volume, by marching tetrahedra. The volume is an artificial brain,
//! which a formula defines.
//!
//! A cube between eight voxels is divided into six tetrahedra, which share its longest diagonal. In
//! a tetrahedron with corners on both sides, the surface consists of one or two triangles.

/// Number of voxels of a line, of lines, and of slices; the paper has 52 slices. The lines are
/// divided among the ranks.
pub(crate) const VOLUME: [u32; 3] = [256, 256, 52];
/// Number of bytes of a triangle: nine coordinates, and one word with the number of its rank and
/// its own number there.
pub(crate) const TRIANGLE_BYTES: usize = 40;
/// The probability above which a voxel belongs to the brain.
const THRESHOLD: f32 = 0.5;
/// The tetrahedra of a cube, each by its corners. In the number of a corner, bit 0 is x, bit 1 is
/// y, bit 2 is z.
const TETRAHEDRA: [[usize; 4]; 6] = [
    [0, 1, 3, 7],
    [0, 3, 2, 7],
    [0, 2, 6, 7],
    [0, 6, 4, 7],
    [0, 4, 5, 7],
    [0, 5, 1, 7],
];

/// Return the probability that a voxel belongs to the brain, an ellipsoid with folds that differ
/// from image to image.
pub(crate) fn probability(image: u64, [x, y, z]: [u32; 3]) -> f32 {
    let scaled = |at: u32, of: u32, half: f32| (at as f32 - (of as f32 - 1.0) / 2.0) / half;
    let [p, q, r] = [
        scaled(x, VOLUME[0], 74.0),
        scaled(y, VOLUME[1], 94.5),
        scaled(z, VOLUME[2], 21.7),
    ];
    let away = (p * p + q * q + r * r).sqrt();
    let turn = image as f32 * 0.4;
    let folds = (19.0 * p + turn).sin() * (23.0 * q - turn).cos() + (13.0 * r + 9.0 * p * q).sin();
    // The value is above the threshold within the surface, and changes steeply across it.
    0.5 + 4.0 * (1.0 + 0.06 * folds - away)
}

/// Return the triangles of the surface between the lines `lines` of an image, as rank `rank` sends
/// them.
pub(crate) fn triangles(image: u64, rank: u8, lines: std::ops::Range<u32>) -> Vec<u8> {
    let [width, height, slices] = VOLUME;
    // Cubes extend to the next line, which may belong to the next rank.
    let last = lines.end.min(height - 1);
    let line = |y: u32| -> Vec<f32> {
        let row = |z| (0..width).map(move |x| probability(image, [x, y, z]));
        (0..slices).flat_map(row).collect()
    };
    let mut made = Vec::new();
    let mut near = line(lines.start);
    for y in lines.start..last {
        let far = line(y + 1);
        for z in 0..slices - 1 {
            for x in 0..width - 1 {
                let value = |corner: usize| {
                    let of = if corner & 2 == 0 { &near } else { &far };
                    let at = (z + (corner as u32 >> 2)) * width + x + (corner as u32 & 1);
                    of[at as usize]
                };
                let corners: [f32; 8] = std::array::from_fn(value);
                let inside = corners.iter().filter(|value| **value >= THRESHOLD).count();
                if inside % 8 != 0 {
                    cube(&mut made, rank, [x, y, z], &corners);
                }
            }
        }
        near = far;
    }
    made
}

/// Append the triangles of the surface in one cube to `made`.
fn cube(made: &mut Vec<u8>, rank: u8, at: [u32; 3], corners: &[f32; 8]) {
    for tetrahedron in TETRAHEDRA {
        let (inside, outside): (Vec<usize>, Vec<usize>) = tetrahedron
            .into_iter()
            .partition(|corner| corners[*corner] >= THRESHOLD);
        let cut = |from: usize, to: usize| crossing(at, corners, from, to);
        match (inside.as_slice(), outside.as_slice()) {
            ([one], [a, b, c]) | ([a, b, c], [one]) => {
                add(made, rank, [cut(*one, *a), cut(*one, *b), cut(*one, *c)]);
            }
            ([a, b], [c, d]) => {
                let quad = [cut(*a, *c), cut(*a, *d), cut(*b, *d), cut(*b, *c)];
                add(made, rank, [quad[0], quad[1], quad[2]]);
                add(made, rank, [quad[0], quad[2], quad[3]]);
            }
            _ => {}
        }
    }
}

/// Return the point at which the surface crosses the edge between the corners `from` and `to` of
/// the cube whose lowest corner is `at`.
fn crossing(at: [u32; 3], corners: &[f32; 8], from: usize, to: usize) -> [f32; 3] {
    let part = (THRESHOLD - corners[from]) / (corners[to] - corners[from]);
    std::array::from_fn(|axis| {
        let place = |corner: usize| (at[axis] + (corner as u32 >> axis & 1)) as f32;
        place(from) + part * (place(to) - place(from))
    })
}

/// Append a triangle to `made`, with its rank and its number.
fn add(made: &mut Vec<u8>, rank: u8, points: [[f32; 3]; 3]) {
    let number = (made.len() / TRIANGLE_BYTES) as u32;
    for coordinate in points.as_flattened() {
        made.extend(coordinate.to_le_bytes());
    }
    made.extend((u32::from(rank) << 24 | number & 0xff_ffff).to_le_bytes());
}

/// Return the points of a received triangle, the number of its rank, and its own number there.
pub(crate) fn read(bytes: &[u8; TRIANGLE_BYTES]) -> ([f32; 9], u8, u32) {
    let word = |at: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&bytes[4 * at..4 * at + 4]);
        word
    };
    let points = std::array::from_fn(|at| f32::from_le_bytes(word(at)));
    let tail = u32::from_le_bytes(word(9));
    (points, (tail >> 24) as u8, tail & 0xff_ffff)
}

/// Return a fingerprint (hash) of a triangle, which changes if any byte of the triangle changes.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Checks that the surface has no holes.
    #[test]
    fn the_surface_has_no_holes() {
        // Each edge belongs to exactly two triangles, except at the ends of the lines.
        let made = triangles(1, 3, 100..108);
        let (all, rest) = made.as_chunks::<TRIANGLE_BYTES>();
        assert!(rest.is_empty() && all.len() > 1000, "{}", all.len());
        let mut edges: BTreeMap<[[u32; 3]; 2], u32> = BTreeMap::new();
        for (number, bytes) in all.iter().enumerate() {
            let (points, rank, count) = read(bytes);
            assert_eq!((rank, count as usize), (3, number));
            let corner = |at: usize| [points[3 * at], points[3 * at + 1], points[3 * at + 2]];
            for (from, to) in [(0, 1), (1, 2), (2, 0)] {
                // The coordinates of a point can differ in the last bits between the triangles that
                // share it, so rounded coordinates are compared.
                let near = |point: [f32; 3]| point.map(|at| (at * 512.0).round() as u32);
                let mut edge = [near(corner(from)), near(corner(to))];
                edge.sort_unstable();
                if edge[0] != edge[1] {
                    *edges.entry(edge).or_default() += 1;
                }
            }
        }
        let ends = |edge: &[[u32; 3]; 2]| {
            let on = |y: u32| edge.iter().all(|point| point[1] == y * 512);
            on(100) || on(108)
        };
        let open = edges
            .iter()
            .filter(|(edge, count)| **count % 2 == 1 && !ends(edge));
        let open = open.count();
        assert!(open * 200 < edges.len(), "{open} of {} edges", edges.len());
    }

    /// Checks that ranks have very different numbers of triangles.
    #[test]
    fn ranks_have_very_different_numbers_of_triangles() {
        let counts: Vec<usize> = (0..32)
            .step_by(5)
            .map(|rank| triangles(0, rank as u8, 8 * rank..8 * rank + 8).len() / TRIANGLE_BYTES)
            .collect();
        assert_eq!(counts[0], 0, "no brain at the edge: {counts:?}");
        assert!(counts.iter().max() > Some(&20_000), "{counts:?}");
    }
}
