//! The objects of a bucket as a store of files.
//!
//! An export of a bucket has a tree of files in the folder of the cache that shows the names in the bucket: a file without
//! content has size and time of its object. Names, attributes, locks and open files are those of this tree, as for any other
//! export. This module keeps the tree and the bucket the same:
//!
//! | module | contents |
//! |---|---|
//! | `bucket` | requests to the store |
//! | `known` | which version of an object each file of the tree shows |
//! | `tree` | the tree of files |
//! | `refresh` | the tree after changes in the bucket by other programs |
//! | `change` | changes of names by clients |
//!
//! Data is read and stored by `cache::objects`.

mod bucket;
mod change;
mod known;
mod refresh;
mod tree;

pub(crate) use bucket::{Bucket, new_mark};
pub(crate) use known::{Age, Objects};
pub(crate) use tree::{is_directory, make_again};

/// What the names of such exports begin with.
pub(crate) const SCHEME: &str = "s3://";
