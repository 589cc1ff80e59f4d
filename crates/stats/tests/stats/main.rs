//! Statistics and decisions, held against worlds whose true rates are known.

mod drift;
mod statistics;
mod worlds;
