//! What others wrote, read with care: regular files only, never more than a limit, never out of the folder that was
//! asked for. Everything that users and agents leave is read through here.

pub mod at;
pub mod below;
pub mod bounded;
pub mod material;
pub mod stamp;
