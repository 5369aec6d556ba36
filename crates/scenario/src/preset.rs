//! Presets: a name that stands for the values of many fields.

/// The presets of a kind of machine.
#[derive(Debug)]
pub struct Presets {
    /// The field that names one.
    pub key: &'static str,
    /// All of them.
    pub rows: &'static [Preset],
}

/// One of them.
#[derive(Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub values: &'static [PresetValue],
}

/// What it says of one field.
#[derive(Debug)]
pub struct PresetValue {
    /// The field.
    pub key: &'static str,
    /// As it would be written in a file.
    pub value: &'static str,
    /// Where the value is from, or that it is an assumption.
    pub source: &'static str,
}
