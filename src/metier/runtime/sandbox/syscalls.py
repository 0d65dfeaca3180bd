"""The numbers of the system calls that a filter names, for the two processors we build filters for.

x86_64 has its own old table, aarch64 the kernel's generic one; whatever came after 2019 has the same number on both.
None: that processor never had the call.
"""

from __future__ import annotations

__all__ = ["AARCH64", "ARCHITECTURES", "NUMBERS", "X86_64", "Architecture", "this_architecture"]

import os
from typing import NamedTuple


class Architecture(NamedTuple):
    name: str
    audit: int
    """AUDIT_ARCH_*: what the kernel says a call was made as."""
    column: int


X86_64 = Architecture("x86_64", 0xC000003E, 0)
AARCH64 = Architecture("aarch64", 0xC00000B7, 1)
ARCHITECTURES = {"x86_64": X86_64, "amd64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}


def this_architecture() -> Architecture | None:
    """None: no filter can be built for this processor."""
    return ARCHITECTURES.get(os.uname().machine.lower())


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
    "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    # files, for a Landlock that does not know truncation
    "truncate": (76, 45), "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "creat": (85, None),
}  # fmt: skip
