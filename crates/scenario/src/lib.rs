//! The versioned experiment file.
