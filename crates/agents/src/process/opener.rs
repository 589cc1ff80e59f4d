//! The first program of a sandbox with a network of its own. It opens sockets there, hands them to the runner, and becomes the program
//! that the sandbox is for: no process of ours stays.
//!
//! It is this program, by a descriptor. Its standard input is the socket to the runner, and a variable says the rest: the descriptors
//! of the program's own standard input and of this program, and the ports. If it fails, it writes why to that socket.

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use crate::settings::ROOM_VARIABLE;

/// How long the sandbox may take until its sockets are here.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most sockets that one message can hold.
const MOST_SOCKETS: usize = 64;

/// The exit status of a room whose sockets could not be opened.
const FAILED: i32 = 127;

/// The network of a sandbox that has its own. What is at its sockets is the only way out.
pub trait RoomNetwork: Debug + Send + Sync {
    /// The ports that are opened in it, on 127.0.0.1 and, where there is one, on `::1`.
    fn ports(&self) -> Vec<u16>;

    /// The variables by which programs in it find them, in the place of others of these names.
    fn variables(&self) -> Vec<(OsString, OsString)>;

    /// Takes the sockets of the ports.
    fn adopt(&self, sockets: Vec<TcpListener>) -> io::Result<()>;
}

/// The runner's side of an opener.
pub(super) struct Opening {
    runner: UnixStream,
    /// What the opener inherits under its own number.
    pub(super) handed: Vec<OwnedFd>,
    /// The program by which it starts.
    pub(super) program: OsString,
    /// The value of [`ROOM_VARIABLE`].
    pub(super) plan: OsString,
}

impl Opening {
    /// An opener for a program with this standard input, and its own standard input.
    pub(super) fn new(network: &dyn RoomNetwork, input: OwnedFd) -> io::Result<(Self, OwnedFd)> {
        let (runner, theirs) = UnixStream::pair()?;
        runner.set_read_timeout(Some(PATIENCE))?;
        let own = OwnedFd::from(File::open(std::env::current_exe()?)?);
        let program = format!("/proc/self/fd/{}", own.as_raw_fd()).into();
        let ports: Vec<String> = network.ports().iter().map(ToString::to_string).collect();
        let plan = format!("{} {} {}", input.as_raw_fd(), own.as_raw_fd(), ports.join(" ")).into();
        Ok((Self { runner, handed: vec![input, own], program, plan }, theirs.into()))
    }

    /// Waits for the sockets, and lets the program begin. Without them it does not.
    pub(super) fn finish(mut self, network: &dyn RoomNetwork) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_SOCKETS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let parts = &mut [IoSliceMut::new(&mut byte)];
        let received = recvmsg(&self.runner, parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        if received.bytes == 0 {
            return Err(io::Error::other("the sandbox ended before its network was open"));
        }
        let rights = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let sockets: Vec<TcpListener> = rights.flatten().map(TcpListener::from).collect();
        if sockets.is_empty() {
            let mut why = String::from_utf8_lossy(&byte).into_owned();
            (&mut self.runner).take(1000).read_to_string(&mut why)?;
            return Err(io::Error::other(format!("the network of the sandbox cannot be opened: {why}")));
        }
        network.adopt(sockets)?;
        self.runner.write_all(b"g")
    }
}

/// Opens the sockets and becomes the program of the arguments. `plan` is the value of [`ROOM_VARIABLE`].
pub(super) fn become_program(plan: &OsStr) -> ! {
    let error = open(plan).to_string();
    // Nobody reads it if the runner is gone.
    let _ = rustix::io::write(io::stdin().as_fd(), error.as_bytes());
    std::process::exit(FAILED)
}

/// Returns only if it fails.
fn open(plan: &OsStr) -> io::Error {
    let mut command = match prepare(plan) {
        Ok(command) => command,
        Err(error) => return error,
    };
    command.exec()
}

fn prepare(plan: &OsStr) -> io::Result<Command> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "its variable is not that of a room");
    let numbers = plan.to_str().ok_or_else(wrong)?.split(' ').map(str::parse);
    let numbers: Vec<i32> = numbers.collect::<Result<_, _>>().map_err(|_| wrong())?;
    let [input, own, ports @ ..] = numbers.as_slice() else { return Err(wrong()) };
    let inherited = File::open(format!("/proc/self/fd/{input}"))?;
    for file in [*input, *own] {
        nix::unistd::close(file)?;
    }
    let ports: Vec<u16> =
        ports.iter().map(|port| u16::try_from(*port).map_err(|_| wrong())).collect::<Result<_, _>>()?;
    let mut sockets: Vec<OwnedFd> = Vec::new();
    for port in ports {
        sockets.push(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|why| not_opened(port, &why))?.into());
        // A machine may have no such address.
        sockets.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, port)).map(OwnedFd::from));
    }
    hand_out(io::stdin().as_fd(), &sockets)?;
    drop(sockets);
    let mut args = std::env::args_os().skip(1);
    let mut command = Command::new(args.next().ok_or_else(wrong)?);
    command.args(args).env_remove(ROOM_VARIABLE).stdin(inherited);
    Ok(command)
}

fn not_opened(port: u16, why: &io::Error) -> io::Error {
    let hint = match why.kind() {
        io::ErrorKind::PermissionDenied => {
            "; in a sandbox, only ports from 1024 can be opened: let the server listen at one"
        }
        _ => "",
    };
    io::Error::new(why.kind(), format!("port {port}: {why}{hint}"))
}

/// Hands the sockets to the runner, and waits until it has them.
fn hand_out(runner: BorrowedFd<'_>, sockets: &[OwnedFd]) -> io::Result<()> {
    let sockets: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_SOCKETS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&sockets)) {
        return Err(io::Error::other("too many sockets"));
    }
    sendmsg(runner, &[IoSlice::new(b"s")], &mut control, SendFlags::empty())?;
    UnixStream::from(runner.try_clone_to_owned()?).read_exact(&mut [0])
}
