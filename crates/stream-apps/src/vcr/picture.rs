//! Images of the cameras: a moving pattern, or films from files.

use crate::error::Error;
use isthmus_framebuffer::{Geometry, Pixel};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Width of the moving bar in pixels, and pixels by which it moves with each frame.
const BAR: (u64, u64) = (28, 4);
/// Number of pixels of a dot of a digit, in both directions.
const DOT: u32 = 8;
/// Position in pixels at which the number of the frame starts.
const CORNER: (u32, u32) = (16, 16);
/// Number of digits of the frame number that the pattern shows.
const DIGITS: u32 = 6;
/// Bitmaps of the digits, of 3 x 5 dots with one bit each: line by line from the top, from left to
/// right.
const FONT: [u16; 10] = [
    0o75557, 0o26227, 0o71747, 0o71717, 0o55711, 0o74717, 0o74757, 0o71111, 0o75757, 0o75717,
];

/// Source of the images of a camera.
#[derive(Clone, Debug)]
pub(crate) enum Picture {
    /// A pattern: a gradient of grey or colour, a moving bar, a moving ball, and the number of the
    /// frame, from 1.
    Pattern,
    /// A file with the frames as bytes, its path, and its number of frames.
    Film(Arc<File>, PathBuf, u64),
}

impl Picture {
    /// Open a file of frames of this geometry, without headers.
    pub fn film(path: &Path, geometry: &Geometry) -> Result<Self, Error> {
        let refuse = |why: String| Error::File(path.to_owned(), why);
        let file = File::open(path).map_err(|error| refuse(error.to_string()))?;
        let data = file.metadata().map_err(|error| refuse(error.to_string()))?;
        let (bytes, frame) = (data.len(), geometry.frame_bytes());
        if !data.is_file() || bytes == 0 || bytes % frame != 0 {
            let Geometry { width, height, .. } = geometry;
            return Err(refuse(format!(
                "{bytes} bytes are no frames of {frame} bytes, {width} x {height} pixels without \
                 headers; such a file is made by `ffmpeg -i film.mp4 -vf scale={width}:{height} \
                 -pix_fmt {} -f rawvideo film.raw`",
                match geometry.pixel {
                    Pixel::Grey => "gray",
                    Pixel::Color => "rgb0",
                }
            )));
        }
        Ok(Self::Film(Arc::new(file), path.to_owned(), bytes / frame))
    }

    /// Read lines `first`, `first + 2`, ... of a frame of a camera. `into` determines the number of
    /// lines.
    pub fn field(
        &self,
        geometry: &Geometry,
        (camera, frame): (u32, u64),
        first: u32,
        into: &mut [u8],
    ) -> Result<(), Error> {
        let line = geometry.line_bytes() as usize;
        match self {
            Self::Pattern => {
                for (y, row) in (first..).step_by(2).zip(into.chunks_exact_mut(line)) {
                    pattern(geometry, (camera, frame), y, row);
                }
                Ok(())
            }
            Self::Film(file, path, frames) => {
                // Read the lines of both fields with one system call, and keep those of one field.
                // One call for each line would be slower.
                let lines = into.len() / line;
                let mut both = vec![0; (2 * lines - 1) * line];
                let at = frame % frames * geometry.frame_bytes() + u64::from(first) * line as u64;
                file.read_exact_at(&mut both, at)
                    .map_err(|error| Error::File(path.clone(), format!("at byte {at}: {error}")))?;
                for (row, from) in into.chunks_exact_mut(line).zip(both.chunks(2 * line)) {
                    row.copy_from_slice(&from[..line]);
                }
                Ok(())
            }
        }
    }
}

/// Return the range of pixels of line `y` that the ball covers, `None` if it does not cover the
/// line. The ball moves around once in 120 frames. Each camera sees it somewhat further to the
/// right.
fn ball(geometry: &Geometry, (camera, frame): (u32, u64), y: u32) -> Option<(u32, u32)> {
    let (width, height) = (f64::from(geometry.width), f64::from(geometry.height));
    let turn = (frame % 120) as f64 / 120.0 * std::f64::consts::TAU;
    let across = width * (0.55 + 0.25 * turn.cos()) - width * 0.03 * f64::from(camera);
    let down = height * (0.55 + 0.25 * turn.sin()) - f64::from(y);
    let square = (height * 0.12).powi(2) - down * down;
    let half = (square > 0.0).then(|| square.sqrt())?;
    Some(((across - half) as u32, (across + half) as u32))
}

/// Write the pixels of line `y` of a camera's test pattern to `row`.
fn pattern(geometry: &Geometry, (camera, frame): (u32, u64), y: u32, row: &mut [u8]) {
    let width = geometry.width;
    match geometry.pixel {
        Pixel::Grey => {
            let base = 20 + 25 * camera + y / 5;
            for (x, pixel) in (0..).zip(row.iter_mut()) {
                *pixel = (base + x / 8) as u8;
            }
        }
        Pixel::Color => {
            // Each camera has its own colour.
            let weights: [u32; 3] =
                [[3, 1, 1], [1, 3, 1], [1, 1, 3], [3, 3, 1]][camera as usize % 4];
            for (x, pixel) in (0..).zip(row.chunks_exact_mut(4)) {
                for (part, weight) in pixel.iter_mut().zip(weights) {
                    *part = (20 + weight * (y / 12 + x / 16)) as u8;
                }
            }
        }
    }
    let size = geometry.pixel.bytes() as usize;
    let mut paint = |from: u32, to: u32, value: u8| {
        let range = from.min(width) as usize * size..to.min(width) as usize * size;
        row[range].fill(value);
    };
    let begin = (frame * BAR.1 % u64::from(width)) as u32;
    paint(begin, begin + BAR.0 as u32, 250);
    if let Some((from, to)) = ball(geometry, (camera, frame), y) {
        paint(from, to, 205);
    }
    let (left, top) = CORNER;
    if !(top..top + 5 * DOT).contains(&y) {
        return;
    }
    let line = (y - top) / DOT;
    paint(left - DOT / 2, left + DIGITS * 4 * DOT, 16);
    for place in 0..DIGITS {
        let digit = (frame + 1) / 10u64.pow(DIGITS - 1 - place) % 10;
        let dots = FONT[digit as usize] >> (3 * (4 - line));
        for dot in (0..3).filter(|dot| dots >> (2 - dot) & 1 == 1) {
            let x = left + (4 * place + dot) * DOT;
            paint(x, x + DOT, 255);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a film is read field by field, and starts again after its last frame.
    #[test]
    fn a_film_is_read_by_fields() {
        let geometry = Geometry {
            width: 3,
            height: 4,
            pixel: Pixel::Grey,
            interlaced: false,
        };
        let path = std::env::temp_dir().join(format!("isthmus-film-{}", std::process::id()));
        let bytes: Vec<u8> = (0..24).collect();
        std::fs::write(&path, &bytes).unwrap();
        let film = Picture::film(&path, &geometry).unwrap();
        let mut field = [0; 6];
        film.field(&geometry, (0, 1), 1, &mut field).unwrap();
        assert_eq!(field, [15, 16, 17, 21, 22, 23]);
        // The film starts again after its last frame.
        film.field(&geometry, (3, 2), 0, &mut field).unwrap();
        assert_eq!(field, [0, 1, 2, 6, 7, 8]);
        std::fs::write(&path, [0; 25]).unwrap();
        let error = Picture::film(&path, &geometry).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("25 bytes are no frames of 12"), "{error}");
        assert!(error.contains("scale=3:4 -pix_fmt gray"), "{error}");
    }

    /// Checks that the pattern shows the number of the frame.
    #[test]
    fn the_number_of_a_frame_is_in_the_picture() {
        let geometry = Geometry {
            width: 496,
            height: 486,
            pixel: Pixel::Grey,
            interlaced: false,
        };
        let mut row = vec![0; 496];
        // In the third line of dots of the digit 7, only the right dot is set.
        pattern(&geometry, (0, 6), 16 + 2 * DOT, &mut row);
        let left = (16 + 4 * DOT * 5) as usize;
        assert_eq!(row[left..left + 16], [16; 16]);
        assert_eq!(row[left + 16..left + 24], [255; 8]);
    }
}
