//! Relative paths between absolute ones. Pure.

use std::path::{Component, Path, PathBuf};

/// The path of `to` from the directory `from`. Both are absolute.
pub(super) fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to) = (normal(from), normal(to));
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

/// The path without `.` and `..`.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}
