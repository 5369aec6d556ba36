//! Assembles the frames of a screen from the bytes of a stream's application data units (ADUs).

use crate::error::Error;
use crate::geometry::Geometry;
use crate::message::{HEAD_BYTES, blank};
use crate::screens::Screens;

/// The exclusive right to draw on a screen, until it is dropped.
#[derive(Debug)]
pub struct Painter {
    screens: Screens,
    name: String,
    id: u32,
    form: u64,
    geometry: Geometry,
    /// The message to viewers with the frame that is being drawn.
    back: Vec<u8>,
    /// Number of the field (a part of an interlaced frame) that is being drawn. `filled` is the
    /// number of its bytes that have arrived.
    field: u64,
    filled: u64,
}

impl Painter {
    /// Create a painter for a screen. `form` is the number of the screen's current geometry, to
    /// detect a change of geometry.
    pub(crate) fn new(
        screens: Screens,
        name: &str,
        (id, form): (u32, u64),
        geometry: Geometry,
    ) -> Self {
        Self {
            screens,
            name: name.into(),
            id,
            form,
            geometry,
            back: blank(id, &geometry),
            field: 0,
            filled: 0,
        }
    }

    /// Return the geometry of the screen that the painter draws on.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Draw bytes of application data unit (ADU) number `adu` of a stream, from byte `at` of the
    /// ADU. ADUs must arrive one after the other, each from its first byte to its last; the last
    /// ADU of a frame completes it. If a frame starts again before it is complete, the incomplete
    /// frame counts as broken and is never shown.
    ///
    /// # Errors
    /// [`Error::Bytes`]: these are not the next bytes of the frame. [`Error::Changed`]: the
    /// geometry of the screen has changed since the painter was created.
    pub fn put(&mut self, adu: u64, at: u64, data: &[u8]) -> Result<(), Error> {
        let field = adu % self.geometry.fields();
        if at == 0 && (self.filled > 0 || field < self.field) {
            self.screens.broken(&self.name);
            self.filled = 0;
        }
        if at == 0 && self.filled == 0 && field == 0 {
            self.field = 0;
        }
        let whole = self.geometry.adu_bytes();
        let end = at.saturating_add(data.len() as u64);
        if at != self.filled || field != self.field || end > whole {
            let (next, of) = (self.filled, self.field);
            let what = format!(
                "bytes {at} to {end} of ADU {adu}, field {field}: the next is byte {next} of field \
                 {of}, and an ADU has {whole}"
            );
            return Err(Error::Bytes(self.name.clone(), what));
        }
        let frame = &mut self.back[HEAD_BYTES..];
        self.geometry.weave(field, at, data, frame);
        self.filled = end;
        if end < whole {
            return Ok(());
        }
        self.filled = 0;
        self.field += 1;
        if self.field == self.geometry.fields() {
            self.field = 0;
            let next = blank(self.id, &self.geometry);
            let frame = std::mem::replace(&mut self.back, next);
            self.screens.show(&self.name, self.form, frame)?;
        }
        Ok(())
    }
}

impl Drop for Painter {
    /// Release the screen for another painter.
    fn drop(&mut self) {
        let bytes = self.geometry.frame_bytes();
        self.screens.leave(&self.name, self.form, bytes);
    }
}

impl isthmus_stream_net::Screen for Painter {
    /// Return the size in bytes of each application data unit (ADU) to draw.
    fn adu_bytes(&self) -> u64 {
        self.geometry.adu_bytes()
    }

    /// Draw the bytes `data`, which start at byte `at` of application data unit (ADU) `adu`, as
    /// [`Painter::put`] does. An error is returned as its message.
    fn put(&mut self, adu: u64, at: u64, data: &[u8]) -> Result<(), String> {
        Self::put(self, adu, at, data).map_err(|error| error.to_string())
    }
}
