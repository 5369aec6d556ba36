//! Reader of graphs in GraphML, an XML format of graph tools.

mod read;

pub(super) use read::read;
