//! The system calls that a program in a sandbox is refused, as a filter that bubblewrap gives to the kernel (seccomp, in the
//! kernel's classic BPF). bubblewrap's namespaces hide files and processes. These calls reach what has no namespace.

use nix::libc;

/// A refused call, the error that its caller sees, and why it is refused. An error that says that the kernel lacks the call
/// makes programs do without it.
type RefusedCall = (libc::c_long, i32, &'static str);

const REFUSED: [RefusedCall; 11] = [
    (libc::SYS_add_key, libc::EPERM, "keyrings are the user's, in no namespace: they hold tickets and passwords"),
    (libc::SYS_keyctl, libc::EPERM, "the same"),
    (libc::SYS_request_key, libc::EPERM, "the same, and it may start a program of root outside"),
    (libc::SYS_io_uring_setup, libc::ENOSYS, "what it does is filtered by nothing here: it opens sockets of any kind"),
    (libc::SYS_io_uring_enter, libc::ENOSYS, "the same, for a ring that was passed on"),
    (libc::SYS_io_uring_register, libc::ENOSYS, "the same"),
    (libc::SYS_userfaultfd, libc::EPERM, "stops the kernel at any access to memory, by which races in it are won"),
    (libc::SYS_perf_event_open, libc::EPERM, "counts and samples what the processor does for others"),
    (libc::SYS_bpf, libc::EPERM, "loads programs into the kernel, whose objects have no namespace"),
    (libc::SYS_open_by_handle_at, libc::EPERM, "opens files by number, whatever paths the sandbox shows"),
    (libc::SYS_syslog, libc::EPERM, "the kernel's log is that of the machine"),
];

/// Requests to a terminal that type into it, as if its user did: a program outside would run what they type.
const TYPING: [u32; 2] = [0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */];

/// Kinds of sockets that are local, or kept to the network namespace. Others reach hardware (Bluetooth, CAN) and the host of a
/// virtual machine (VSOCK) past every rule of a firewall.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The kernel's number for this architecture (`AUDIT_ARCH_…`); `None` without a filter for it.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xC000_003E)
} else if cfg!(target_arch = "aarch64") {
    Some(0xC000_00B7)
} else {
    None
};

/// On x86-64, calls with this bit are those of the x32 interface: the same calls under other numbers.
const X32: u32 = 0x4000_0000;

/// Where the kernel shows a filter the call's number, the architecture, and the lower half of the first and second argument.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const FIRST: u32 = 16;
const SECOND: u32 = 24;

const ALLOW: u32 = 0x7FFF_0000;

/// An instruction: its code, how many instructions to skip if its condition holds and if not, and its constant.
type Instruction = (u16, u8, u8, u32);

const fn load(offset: u32) -> Instruction {
    (0x20, 0, 0, offset)
}

const fn give(answer: u32) -> Instruction {
    (0x06, 0, 0, answer)
}

/// Continues if the loaded value is `value`, else skips `other`.
const fn is(value: u32, other: u8) -> Instruction {
    (0x15, 0, other, value)
}

/// Continues if the loaded value is at least `value`, else skips `other`.
const fn is_from(value: u32, other: u8) -> Instruction {
    (0x35, 0, other, value)
}

const fn refuse(error: i32) -> Instruction {
    give(0x0005_0000 | error.cast_unsigned())
}

fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

fn instructions(architecture: u32) -> Vec<Instruction> {
    // Calls of another architecture have other numbers: 32-bit programs, and `int 0x80` in others.
    let mut all = vec![load(ARCH), (0x15, 1, 0, architecture), refuse(libc::ENOSYS), load(NUMBER)];
    if cfg!(target_arch = "x86_64") {
        all.extend([is_from(X32, 1), refuse(libc::ENOSYS)]);
    }
    for (call, error, _) in REFUSED {
        all.extend([is(number(call), 1), refuse(error)]);
    }
    all.extend([is(number(libc::SYS_ioctl), 6), load(SECOND)]);
    for request in TYPING {
        all.extend([is(request, 1), refuse(libc::EPERM)]);
    }
    all.push(give(ALLOW));
    all.extend([is(number(libc::SYS_socket), 10), load(FIRST)]);
    for family in FAMILIES {
        all.extend([is(family.cast_unsigned(), 1), give(ALLOW)]);
    }
    all.extend([refuse(libc::EAFNOSUPPORT), give(ALLOW)]);
    all
}

/// The filter as the kernel reads it; `None` if this architecture has none.
pub(super) fn filter() -> Option<Vec<u8>> {
    let bytes = |(code, then, other, constant): Instruction| {
        [&code.to_ne_bytes()[..], &[then, other], &constant.to_ne_bytes()].concat()
    };
    Some(instructions(ARCHITECTURE?).into_iter().flat_map(bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: u32 = ARCHITECTURE.expect("a filter for this architecture");

    /// What the kernel answers to a call: it runs the filter.
    fn answer(architecture: u32, call: u32, arguments: [u32; 2]) -> u32 {
        let all = instructions(HERE);
        let (mut at, mut loaded) = (0, 0);
        loop {
            let (code, then, other, constant) = all[at];
            at += 1;
            let holds = match code {
                0x20 => {
                    loaded = match constant {
                        NUMBER => call,
                        ARCH => architecture,
                        FIRST => arguments[0],
                        SECOND => arguments[1],
                        _ => panic!("no such field"),
                    };
                    continue;
                }
                0x06 => return constant,
                0x15 => loaded == constant,
                0x35 => loaded >= constant,
                _ => panic!("no such instruction"),
            };
            at += usize::from(if holds { then } else { other });
        }
    }

    fn error(number: i32) -> u32 {
        0x0005_0000 | number.cast_unsigned()
    }

    #[test]
    fn what_has_no_namespace_is_refused_and_all_else_is_allowed() {
        for (call, refusal, why) in REFUSED {
            assert_eq!(answer(HERE, number(call), [0, 0]), error(refusal), "{why}");
        }
        let refused = |call: u32| REFUSED.iter().any(|(other, ..)| number(*other) == call);
        for call in (0..600).filter(|call| !refused(*call)) {
            // To `socket`, the first argument 1 is AF_UNIX.
            assert_eq!(answer(HERE, call, [1, 0]), ALLOW, "{call}");
        }
        for family in 0..64 {
            let is_allowed = FAMILIES.contains(&family);
            let expected = if is_allowed { ALLOW } else { error(libc::EAFNOSUPPORT) };
            assert_eq!(answer(HERE, number(libc::SYS_socket), [family.cast_unsigned(), 0]), expected, "{family}");
        }
        for request in (0..600).chain(0x5400..0x5480) {
            let expected = if [0x5412, 0x541C].contains(&request) { error(libc::EPERM) } else { ALLOW };
            assert_eq!(answer(HERE, number(libc::SYS_ioctl), [3, request]), expected, "{request:x}");
        }
    }

    #[test]
    fn calls_of_other_architectures_are_unknown() {
        let unknown = error(libc::ENOSYS);
        for call in 0..600 {
            // Those of 32 bits: i386 and AArch32.
            assert_eq!(answer(0x4000_0003, call, [0, 0]), unknown);
            assert_eq!(answer(0x4000_0028, call, [0, 0]), unknown);
            if cfg!(target_arch = "x86_64") {
                assert_eq!(answer(HERE, X32 | call, [0, 0]), unknown);
            }
        }
    }

    #[test]
    fn a_filter_is_whole_instructions_of_eight_bytes() {
        let filter = filter().expect("a filter for this architecture");
        assert_eq!(filter.len(), instructions(HERE).len() * 8);
    }
}
