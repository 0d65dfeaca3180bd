"""The system calls that a script does not get, as a program for the kernel (seccomp, classic BPF).

A list of what is denied, not of what is allowed: scripts are Python, node, shells and whatever they start, and an allow list
breaks with the next version of libc. The namespace or Landlock decides what can be reached; the filter closes the ways
around them and the corners of the kernel that have broken sandboxes before.

Every check looks at the lower half of an argument only. That is right here: the kernel itself reads these arguments
as 32-bit integers, or the flags that matter live in the lower half.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from .syscalls import NUMBERS, X86_64, Architecture

__all__ = ["ALLOW", "KILL", "Deny", "Policy", "When", "assemble", "deny", "program"]

ALLOW, KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06  # BPF_LD|W|ABS, BPF_ALU|AND|K, BPF_RET|K
_IF_EQUAL, _IF_AT_LEAST = 0x15, 0x35  # BPF_JMP|JEQ|K, BPF_JMP|JGE|K
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000

_AF_INET, _AF_INET6, _SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_TYPES = 2, 10, 1, 5, 0xF
_CLONE_NEW = 0x7E020000  # NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FS_IOC_SETFLAGS, _FS_IOC_SETVERSION, _FS_IOC_FSSETXATTR = 0x40086602, 0x40087602, 0x401C5820
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000


@dataclass(frozen=True, slots=True)
class When:
    """A question about one argument: is (argument & mask) one of the values?"""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Deny:
    """Answer this call with an error (0: pretend that it worked), always or when the test says so."""

    name: str
    error: int = errno.EPERM
    when: When | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What varies between runs. Namespaces keep modes and queues apart by themselves; Landlock does not."""

    network: bool = False
    keep_modes: bool = False
    keep_queues: bool = False
    keep_sizes: bool = False


def deny(policy: Policy) -> Iterator[Deny]:
    yield from _always()
    yield from _sockets(network=policy.network)
    if policy.keep_modes:
        yield from _modes()
    if policy.keep_queues:
        yield from _denied("shmget shmat msgget semget mq_open")
    if policy.keep_sizes:
        # Landlock before ABI 3 lets anybody cut off a file that they may only read.
        yield from _denied("truncate creat")
        yield Deny("openat2", errno.ENOSYS)
        yield Deny("open", errno.EPERM, When(1, (_O_TRUNC,), _O_TRUNC | _O_ACCMODE))
        yield Deny("openat", errno.EPERM, When(2, (_O_TRUNC,), _O_TRUNC | _O_ACCMODE))


@cache
def program(policy: Policy, architecture: Architecture) -> bytes:
    return assemble(deny(policy), architecture)


def assemble(rules: Iterable[Deny], architecture: Architecture) -> bytes:
    """struct sock_filter[], in the order of the rules; a call that this processor never had is left out."""
    code = [_op(_LOAD, _ARCH), _op(_IF_EQUAL, architecture.audit, 1, 0), _op(_RETURN, KILL), _op(_LOAD, _NUMBER)]
    if architecture is X86_64:
        code += [_op(_IF_AT_LEAST, _X32, 0, 1), _op(_RETURN, KILL)]
    for rule in rules:
        number = NUMBERS[rule.name][architecture.column]
        if number is None:
            continue
        then = [_op(_RETURN, _ERRNO | rule.error)]
        if rule.when:
            then = [*_ask(rule.when), *then, _op(_LOAD, _NUMBER)]
        code += [_op(_IF_EQUAL, number, 0, len(then)), *then]
    return b"".join([*code, _op(_RETURN, ALLOW)])


def _ask(when: When) -> list[bytes]:
    """Falls through to the next instruction where the test holds, jumps over one where not."""
    load = [_op(_LOAD, _ARGUMENTS + 8 * when.argument)]
    if when.mask != 0xFFFFFFFF:
        load.append(_op(_AND, when.mask))
    last = len(when.values) - 1
    if when.negated:
        return [*load, *(_op(_IF_EQUAL, value, last - at + 1, 0) for at, value in enumerate(when.values))]
    return [*load, *(_op(_IF_EQUAL, value, last - at, 0 if at < last else 1) for at, value in enumerate(when.values))]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _denied(names: str, error: int = errno.EPERM) -> Iterator[Deny]:
    return (Deny(name, error) for name in names.split())


def _always() -> Iterator[Deny]:
    yield from _denied("ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd migrate_pages move_pages")
    yield from _denied("unshare setns mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig")
    yield from _denied("fsmount fspick mount_setattr keyctl add_key request_key bpf userfaultfd perf_event_open")
    yield from _denied("io_uring_setup io_uring_enter io_uring_register open_by_handle_at name_to_handle_at fanotify_init")
    yield from _denied("lookup_dcookie kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff")
    yield from _denied("acct settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname iopl ioperm quotactl")
    yield from _denied("syslog vhangup")
    # libc falls back from clone3, whose flags a filter cannot see.
    yield Deny("clone", errno.EPERM, When(0, (0,), _CLONE_NEW, negated=True))
    yield Deny("clone3", errno.ENOSYS)
    yield Deny("ioctl", errno.EPERM, When(1, (_TIOCSTI, _TIOCLINUX)))
    # Whoever has our user id could change the limits and the priority of our own processes.
    others = When(0, (0,), negated=True)
    for name in ("prlimit64", "sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"):
        yield Deny(name, errno.EPERM, others)
    for name in ("setpriority", "ioprio_set"):
        yield Deny(name, errno.EPERM, replace(others, argument=1))


def _sockets(*, network: bool) -> Iterator[Deny]:
    # A pair of datagram sockets can be pointed at any other UNIX socket afterwards; a connected stream cannot.
    yield Deny("socketpair", errno.EPERM, When(1, (_SOCK_STREAM, _SOCK_SEQPACKET), _SOCK_TYPES, negated=True))
    if network:
        yield Deny("socket", errno.EPERM, When(0, (_AF_INET, _AF_INET6), negated=True))
        return
    yield from _denied("socket connect bind listen accept accept4")


def _modes() -> Iterator[Deny]:
    # chmod and the like need no right that Landlock knows, on any file of the user. They do nothing and say that it worked,
    # as under fakeroot: with an error, `cp -p`, tar and shutil.copy would fail on files of their own.
    yield from _denied("chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat", 0)
    yield from _denied("utime utimes utimensat futimesat", 0)
    yield from _denied("setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr", errno.EOPNOTSUPP)
    yield from _denied("fremovexattr removexattrat file_setattr", errno.EOPNOTSUPP)
    yield Deny("ioctl", errno.EOPNOTSUPP, When(1, (_FS_IOC_SETFLAGS, _FS_IOC_SETVERSION, _FS_IOC_FSSETXATTR)))
