//! A file that a program is given to read. It has no name, and nobody can change it: not even by `/proc/self/fd`, where a program
//! opens again what it may only read.

use std::io;
use std::os::fd::OwnedFd;

/// Such a file with this content, read from its start.
#[cfg(target_os = "linux")]
pub(super) fn sealed_input(content: &[u8]) -> io::Result<OwnedFd> {
    use std::fs::File;
    use std::io::{Seek, Write};

    use nix::fcntl::{FcntlArg, SealFlag, fcntl};
    use nix::sys::memfd::{MFdFlags, memfd_create};

    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let mut file = File::from(memfd_create(c"input", flags)?);
    file.write_all(content)?;
    file.rewind()?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::all()))?;
    Ok(file.into())
}

/// Other systems have no seals: the descriptor only reads, and there is no other.
#[cfg(not(target_os = "linux"))]
pub(super) fn sealed_input(content: &[u8]) -> io::Result<OwnedFd> {
    use std::io::Write;

    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(content)?;
    Ok(std::fs::File::open(file.path())?.into())
}
