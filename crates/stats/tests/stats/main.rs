//! Statistics and decisions, held against worlds whose true rates are known.

mod statistics;
mod worlds;
