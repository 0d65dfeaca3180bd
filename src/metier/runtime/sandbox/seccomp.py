"""The system call filter of a script: a program for the kernel (seccomp, classic BPF).

It lists denied calls, not allowed ones: scripts are Python, node, shells and their children, and an allow list breaks with the
next version of libc. The namespace or Landlock decides what can be reached. The filter closes ways around them, and parts of
the kernel that have broken sandboxes before.

Every test reads only the lower half of an argument. The kernel reads these arguments as 32-bit integers, or their relevant
flags are in the lower half.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from metier.values import dataclass, replace

__all__ = [
    "AARCH64",
    "ALLOW",
    "KILL",
    "NUMBERS",
    "X86_64",
    "Architecture",
    "ArgumentTest",
    "DeniedCall",
    "FilterOptions",
    "assemble",
    "denied_calls",
    "filter_program",
    "notify_program",
    "signals_to",
    "this_architecture",
]  # fmt: skip

ALLOW, KILL, _ERRNO, _NOTIFY = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06  # BPF_LD|W|ABS, BPF_ALU|AND|K, BPF_RET|K
_IF_EQUAL, _IF_AT_LEAST = 0x15, 0x35  # BPF_JMP|JEQ|K, BPF_JMP|JGE|K
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000

_AF_UNIX, _AF_INET, _AF_INET6, _SOCK_STREAM, _SOCK_DGRAM, _SOCK_SEQPACKET, _SOCK_TYPES = 1, 2, 10, 1, 2, 5, 0xF
_TCP, _UDP = 6, 17
_CLONE_NEW = 0x7E020000  # NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_IOCTL_TYPES = (0x5400, 0x8900)
_NOTIFY_IOCTLS = 0x2100
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902
_F_SETOWN, _F_SETOWN_EX = 8, 15
_PRIO_USER, _IOPRIO_WHO_USER = 2, 3
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000


class Architecture(NamedTuple):
    name: str
    audit: int
    """AUDIT_ARCH_*: the architecture of the call, as the kernel reports it."""
    column: int


X86_64 = Architecture("x86_64", 0xC000003E, 0)
AARCH64 = Architecture("aarch64", 0xC00000B7, 1)
ARCHITECTURES = {"x86_64": X86_64, "amd64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}


def this_architecture() -> Architecture | None:
    """Returns None if no filter can be built for this processor."""
    return ARCHITECTURES.get(os.uname().machine.lower())


@dataclass(frozen=True, slots=True)
class ArgumentTest:
    """Tests whether (argument & mask) is one of the values."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    negated: bool = False


@dataclass(frozen=True, slots=True)
class DeniedCall:
    """Denies a call with an error (0: pretend success), always or if the test is true."""

    name: str
    error: int = errno.EPERM
    when: ArgumentTest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """Differences between runs. Namespaces isolate other files and processes by themselves; Landlock does not."""

    internet: bool = False
    """Sockets of IPv4 and IPv6, for a run with a network namespace of its own."""
    unix: bool = False
    """With `internet`, also UNIX sockets, for a run that sees no others' files."""
    tracing: bool = False
    """The run observes its own children by seccomp notifications."""
    keep_files: bool = False
    keep_sizes: bool = False


def denied_calls(policy: FilterOptions) -> Iterator[DeniedCall]:
    yield from _always(tracing=policy.tracing)
    yield from _sockets(internet=policy.internet, unix=policy.unix)
    if policy.keep_files:
        yield from _modes()
        yield from _names()
    if policy.keep_sizes:
        # Landlock before ABI 3 does not stop truncation of a read-only file.
        yield from _denied("truncate creat")
        yield DeniedCall("openat2", errno.ENOSYS)
        yield DeniedCall("open", errno.EPERM, ArgumentTest(1, (_O_TRUNC,), _O_TRUNC | _O_ACCMODE))
        yield DeniedCall("openat", errno.EPERM, ArgumentTest(2, (_O_TRUNC,), _O_TRUNC | _O_ACCMODE))


@cache
def filter_program(policy: FilterOptions, architecture: Architecture) -> bytes:
    return assemble(denied_calls(policy), architecture)


def assemble(rules: Iterable[DeniedCall], architecture: Architecture) -> bytes:
    """Returns struct sock_filter[], in the order of the rules. Calls that this processor does not have are left out."""
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


def notify_program(names: Iterable[str], architecture: Architecture, *, link: int) -> bytes:
    """Returns a filter that reports these calls to the process that listens. `sendmsg` on the descriptor `link` is exempt."""
    code = [_op(_LOAD, _ARCH), _op(_IF_EQUAL, architecture.audit, 1, 0), _op(_RETURN, KILL), _op(_LOAD, _NUMBER)]
    for name in names:
        number = NUMBERS[name][architecture.column]
        if number is None:
            continue
        then = [_op(_RETURN, _NOTIFY)]
        if name == "sendto":  # without an address it goes where `connect` went
            then = [*_ask(ArgumentTest(4, (0,), negated=True)), *then, _op(_LOAD, _NUMBER)]
        elif name == "sendmsg":
            then = [*_ask(ArgumentTest(0, (link,), negated=True)), *then, _op(_LOAD, _NUMBER)]
        code += [_op(_IF_EQUAL, number, 0, len(then)), *then]
    return b"".join([*code, _op(_RETURN, ALLOW)])


def _ask(when: ArgumentTest) -> list[bytes]:
    """Continues with the next instruction if the test is true, else skips one."""
    load = [_op(_LOAD, _ARGUMENTS + 8 * when.argument)]
    if when.mask != 0xFFFFFFFF:
        load.append(_op(_AND, when.mask))
    last = len(when.values) - 1
    if when.negated:
        return [*load, *(_op(_IF_EQUAL, value, last - at + 1, 0) for at, value in enumerate(when.values))]
    return [*load, *(_op(_IF_EQUAL, value, last - at, 0 if at < last else 1) for at, value in enumerate(when.values))]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _denied(names: str, error: int = errno.EPERM) -> Iterator[DeniedCall]:
    return (DeniedCall(name, error) for name in names.split())


def _always(*, tracing: bool) -> Iterator[DeniedCall]:
    yield from _denied("ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd migrate_pages move_pages")
    yield from _denied("unshare setns mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig")
    yield from _denied("fsmount fspick mount_setattr keyctl add_key request_key bpf userfaultfd perf_event_open")
    yield from _denied("io_uring_setup io_uring_enter io_uring_register open_by_handle_at name_to_handle_at fanotify_init")
    yield from _denied("lookup_dcookie kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff")
    yield from _denied("acct settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname iopl ioperm quotactl")
    yield from _denied("syslog vhangup")
    # Queues, semaphores and segments outlive a process, are memory that no process has, and those of others have known numbers.
    yield from _denied("shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl")
    yield from _denied("mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr memfd_secret")
    # A filter cannot see the flags of clone3. libc falls back to clone.
    yield DeniedCall("clone", errno.EPERM, ArgumentTest(0, (0,), _CLONE_NEW, negated=True))
    yield DeniedCall("clone3", errno.ENOSYS)
    yield DeniedCall("ioctl", errno.EPERM, ArgumentTest(1, (_TIOCSTI, _TIOCLINUX)))
    allowed = (*_IOCTL_TYPES, _NOTIFY_IOCTLS) if tracing else _IOCTL_TYPES
    # Those of terminals, pipes and sockets are enough. File systems have some that make snapshots, or read other files' names.
    yield DeniedCall("ioctl", errno.ENOTTY, ArgumentTest(1, allowed, 0xFF00, negated=True))
    # A process with our user id could change limits and priority of our other processes.
    others = ArgumentTest(0, (0,), negated=True)
    for name in ("prlimit64", "sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"):
        yield DeniedCall(name, errno.EPERM, others)
    for name, all_of_the_user in (("setpriority", _PRIO_USER), ("ioprio_set", _IOPRIO_WHO_USER)):
        yield DeniedCall(name, errno.EPERM, replace(others, argument=1))
        yield DeniedCall(name, errno.EPERM, ArgumentTest(0, (all_of_the_user,)))


def _sockets(*, internet: bool, unix: bool) -> Iterator[DeniedCall]:
    # A datagram pair can be connected to another UNIX socket afterwards; a stream pair cannot.
    yield DeniedCall("socketpair", errno.EPERM, ArgumentTest(1, (_SOCK_STREAM, _SOCK_SEQPACKET), _SOCK_TYPES, negated=True))
    if internet:
        families = (*((_AF_UNIX,) if unix else ()), _AF_INET, _AF_INET6)
        yield DeniedCall("socket", errno.EPERM, ArgumentTest(0, families, negated=True))
        yield DeniedCall("socket", errno.EPERM, ArgumentTest(1, (_SOCK_STREAM, _SOCK_DGRAM), _SOCK_TYPES, negated=True))
        yield DeniedCall("socket", errno.EPROTONOSUPPORT, ArgumentTest(2, (0, _TCP, _UDP), negated=True))
        return
    yield from _denied("socket connect bind listen accept accept4")


def _modes() -> Iterator[DeniedCall]:
    # Landlock has no right for chmod and similar calls on files of the user. They do nothing and report success, as under
    # fakeroot: with an error, `cp -p`, tar and shutil.copy would fail.
    yield from _denied("chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat", 0)
    yield from _denied("utime utimes utimensat futimesat", 0)
    yield from _denied("setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr", errno.EOPNOTSUPP)
    yield from _denied("fremovexattr removexattrat file_setattr", errno.EOPNOTSUPP)


def _names() -> Iterator[DeniedCall]:
    # Landlock has no right for these either: they tell the names in other folders, the attributes of other files, and the
    # state of other processes. Each error is one that programs expect from an old kernel or a simple file system.
    yield from _denied("inotify_init inotify_init1 inotify_add_watch pidfd_open", errno.ENOSYS)
    yield from _denied("getxattr lgetxattr fgetxattr getxattrat listxattr llistxattr flistxattr", errno.EOPNOTSUPP)
    yield from _denied("listxattrat file_getattr", errno.EOPNOTSUPP)
    yield DeniedCall("getsid", errno.EPERM, ArgumentTest(0, (0,), negated=True))


def signals_to(pids: Iterable[int]) -> Iterator[DeniedCall]:
    """Yields the rules that keep signals from these processes: by id, by group, to all, and by way of a descriptor."""
    known = tuple(pids)
    everyone = (*known, *(-pid & 0xFFFFFFFF for pid in known), 0xFFFFFFFF)
    for name in ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"):
        yield DeniedCall(name, errno.EPERM, ArgumentTest(0, everyone))
    for name in ("tgkill", "rt_tgsigqueueinfo"):
        yield DeniedCall(name, errno.EPERM, ArgumentTest(1, known))
    yield DeniedCall("fcntl", errno.EPERM, ArgumentTest(1, (_F_SETOWN, _F_SETOWN_EX)))
    yield DeniedCall("ioctl", errno.EPERM, ArgumentTest(1, (_FIOSETOWN, _SIOCSPGRP)))


# The number of each call on x86_64, which has a table of its own, and on aarch64, which has the generic one. Calls added
# after 2019 have the same number on both. None: the processor never had the call.
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    # sockets
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242),
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "kcmp": (312, 272), "pidfd_getfd": (438, 438), "prlimit64": (302, 261), "setpriority": (141, 140),
    "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122), "ioprio_set": (251, 30), "migrate_pages": (256, 238), "move_pages": (279, 239),
    # namespaces and mounts
    "unshare": (272, 97), "setns": (308, 268), "clone": (56, 220), "clone3": (435, 435), "mount": (165, 40),
    "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    # corners of the kernel with a history
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280), "userfaultfd": (323, 282),
    "perf_event_open": (298, 241), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262), "lookup_dcookie": (212, 18), "ioctl": (16, 29),
    # the machine itself
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162), "iopl": (172, None), "ioperm": (173, None),
    "quotactl": (179, 60), "syslog": (103, 116), "vhangup": (153, 58),
    # modes, owners, times, attributes
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "utimensat": (280, 88), "futimesat": (261, None), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "setxattrat": (463, 463),
    "removexattrat": (466, 466), "file_setattr": (469, 469),
    # memory and queues that outlive a process
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "shmdt": (67, 197), "semget": (64, 190),
    "semop": (65, 193), "semtimedop": (220, 192), "semctl": (66, 191), "msgget": (68, 186), "msgsnd": (69, 189),
    "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182), "mq_timedreceive": (243, 183), "mq_notify": (244, 184), "mq_getsetattr": (245, 185),
    "memfd_secret": (447, 447),
    # names, attributes and states of others
    "inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27), "pidfd_open": (434, 434),
    "getxattr": (191, 8), "lgetxattr": (192, 9), "fgetxattr": (193, 10), "getxattrat": (464, 464),
    "listxattr": (194, 11), "llistxattr": (195, 12), "flistxattr": (196, 13), "listxattrat": (465, 465),
    "file_getattr": (468, 468), "getsid": (124, 156),
    # signals, for a Landlock that does not know them
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "fcntl": (72, 25),
    # files, for a Landlock that does not know truncation
    "truncate": (76, 45), "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "creat": (85, None),
    # calls that are observed
    "execve": (59, 221), "execveat": (322, 281), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "rename": (82, None), "renameat": (264, 38),
    "renameat2": (316, 276), "unlink": (87, None), "unlinkat": (263, 35), "rmdir": (84, None), "link": (86, None),
    "linkat": (265, 37), "symlink": (88, None), "symlinkat": (266, 36),
}  # fmt: skip
