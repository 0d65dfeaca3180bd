"""More attempts of a hostile script, on the limits and on the supervisor. Runs like attempts.py, whose tools it uses.

Signals that would end processes are sent only to the supervisor of this run; those to all processes are the harmless signal 0.
"""
# mypy: ignore-errors
# ruff: noqa: T201
# A standalone script that runs without metier, so it is not typed.

import ctypes
import errno
import fcntl
import json
import mmap
import os
import signal
import socket
import struct
import sys
import time

from attempts import ARM, LIBC, call, daemon, read, tried

MEGABYTE = 1 << 20
CHUNK = b"x" * MEGABYTE


def stay(facts, **found):
    """Prints what was had, and holds it if the test says so."""
    print(json.dumps(found), flush=True)
    time.sleep(600 if facts.get("hold") else 0)


def e43_mapping(facts):
    shared = mmap.mmap(-1, facts["megabytes"] * MEGABYTE)
    for at in range(0, len(shared), 4096):
        shared[at] = 1
    stay(facts, megabytes=facts["megabytes"])


def memfd(megabytes):
    descriptor = os.memfd_create("x")
    for _ in range(megabytes):
        os.write(descriptor, CHUNK)
    return descriptor


def e43_memfds(facts):
    held = [memfd(facts["each"]) for _ in range(facts["megabytes"] // facts["each"])]
    stay(facts, megabytes=len(held) * facts["each"])


def e44_unmapped(facts):
    """Memory of files that are closed, and of which one page stays mapped."""
    LIBC.mmap.restype = ctypes.c_void_p
    for _ in range(facts["megabytes"] // facts["each"]):
        descriptor = memfd(facts["each"])
        LIBC.mmap(None, ctypes.c_size_t(4096), 1, mmap.MAP_SHARED, descriptor, ctypes.c_long(0))
        os.close(descriptor)
    stay(facts, megabytes=facts["megabytes"])


def e44_in_flight(facts):
    """Memory of files that no process has open: each is in a message that is never received."""
    links = socket.socketpair()
    for _ in range(facts["megabytes"] // facts["each"]):
        descriptor = memfd(facts["each"])
        socket.send_fds(links[0], [b"x"], [descriptor])
        os.close(descriptor)
    stay(facts, megabytes=facts["megabytes"])


def e44_hidden(facts):
    """The same from programs that their user cannot read, whose descriptors only root can list."""
    copy = os.environ["HOME"] + "/program"
    target = os.open(copy, os.O_CREAT | os.O_WRONLY, 0o111)
    with open(sys.executable, "rb") as program:
        while part := program.read(MEGABYTE):
            os.write(target, part)
    os.close(target)
    for _ in range(facts["megabytes"] // 200):
        if os.fork() == 0:
            os.execve(copy, [copy, "-S", "-c", HOLD_MEMFDS], {**os.environ, "PYTHONHOME": sys.base_prefix})
    stay({"hold": True})


HOLD_MEMFDS = """
import os, time
held = [os.memfd_create("x") for _ in range(200)]
for each in held:
    os.write(each, b"x" * (1 << 20))
time.sleep(600)
"""


def e45(facts):
    """Six children print a byte each millisecond, while this process exceeds a limit."""
    for _ in range(6):
        if os.fork() == 0:
            while True:
                os.write(1, b"y")
                time.sleep(0.001)
    globals()[facts["way"]](facts)


def e45_processes(facts):
    made = 0
    try:
        while made < 300:
            if os.fork() == 0:
                time.sleep(600)
                os._exit(0)
            made += 1
    except OSError as error:
        os.write(2, json.dumps({"made": made, "why": errno.errorcode[error.errno]}).encode())
        os._exit(0)
    time.sleep(600)


def e45_scratch(facts):
    try:
        for number in range(1000):
            with open(os.environ["HOME"] + f"/{number}", "wb") as file:
                file.write(CHUNK)
    except OSError as error:
        os.write(2, json.dumps({"why": errno.errorcode[error.errno]}).encode())
        os._exit(0)
    time.sleep(600)


def e45_memory(facts):
    for _ in range(4):
        if os.fork() == 0:
            hold = bytearray(60 * MEGABYTE)
            hold[::4096] = b"x" * len(hold[::4096])
            time.sleep(600)
    time.sleep(600)


def e46(facts):
    key, queue, semaphores, segment = facts["key"], facts["queue"], facts["semaphores"], facts["segment"]
    name = facts["mq"].encode() + b"\0"
    message = struct.pack("l", 1) + b"escaped\0"
    one = struct.pack("Hhh", 0, 1, 0)
    numbers = {
        "msgget": (186, 68), "msgsnd": (189, 69), "msgrcv": (188, 70), "msgctl": (187, 71), "semget": (190, 64),
        "semop": (193, 65), "semctl": (191, 66), "shmget": (194, 29), "shmat": (196, 30), "shmctl": (195, 31),
        "mq_open": (180, 240), "mq_unlink": (181, 241),
    }  # fmt: skip
    arguments = {
        "msgget": (key, 0o600), "msgsnd": (queue, message, 8, 0o4000), "msgrcv": (queue, bytes(64), 32, 0, 0o4000),
        "msgctl": (queue, 0, 0), "semget": (key, 1, 0o600), "semop": (semaphores, one, 1), "semctl": (semaphores, 0, 16, 7),
        "shmget": (key, 4096, 0o600), "shmat": (segment, 0, 0), "shmctl": (segment, 0, 0),
        "mq_open": (name, os.O_RDWR, 0o600, 0), "mq_unlink": (name,),
    }  # fmt: skip
    return {name: tried(call, numbers[name][0 if ARM else 1], *words) for name, words in arguments.items()}


def e47(facts):
    home, canary = facts["home"].encode() + b"\0", facts["canaries"][0]
    init = tried(call, 26 if ARM else 294, 0)
    results = {"inotify": init, "list": tried(os.listxattr, canary), "get": tried(os.getxattr, canary, "user.secret")}
    if init.startswith("ok"):
        results["watch"] = tried(call, 27 if ARM else 254, 3, home, 0x300)
    results["file_getattr"] = tried(call, 468, -100, canary.encode() + b"\0", bytes(24), 24, 0)
    return results


def e48(facts):
    """Twelve processes: children, their children, daemons, and one that never stays the same."""

    def restless():
        while True:
            time.sleep(0.01)
            if os.fork():
                os._exit(0)
            os.setsid()

    for _ in range(4):
        if os.fork() == 0:
            os.fork()
            time.sleep(600)
    daemon(lambda: time.sleep(600))
    daemon(lambda: time.sleep(600))
    daemon(restless)
    with open(os.environ["HOME"] + "/left", "w") as file:
        file.write("x")
    os.mkdir(os.environ["HOME"] + "/started")
    time.sleep(600)


def e49(facts):
    """Tries to end its supervisor, and the process that would end what a killed supervisor leaves."""
    results = {"kill all": tried(os.kill, -1, 0)}
    for pid in (os.getppid(), facts["spawner"]):
        pipe, other = os.pipe()
        results[f"kill {pid}"] = tried(os.kill, pid, signal.SIGKILL)
        if pid > 1:
            results[f"group {pid}"] = tried(os.kill, -pid, signal.SIGKILL)
        results[f"tkill {pid}"] = tried(call, 130 if ARM else 200, pid, 9)
        results[f"tgkill {pid}"] = tried(call, 131 if ARM else 234, pid, pid, 9)
        results[f"tgkill any {pid}"] = tried(call, 131 if ARM else 234, -1, pid, 9)
        info = struct.pack("iiii", 9, 0, -1, 0) + bytes(112)
        results[f"queue {pid}"] = tried(call, 138 if ARM else 129, pid, 9, info)
        results[f"queue thread {pid}"] = tried(call, 240 if ARM else 297, pid, pid, 9, info)
        results[f"pidfd {pid}"] = tried(lambda pid=pid: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL))
        fcntl.fcntl(pipe, 10, signal.SIGKILL)  # F_SETSIG: which signal is sent when the pipe has data
        results[f"owner {pid}"] = tried(fcntl.fcntl, pipe, 8, pid)
        fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        os.write(other, b"x")
    time.sleep(0.2)
    return results


def e51_unlinked(facts):
    home = os.environ["HOME"]
    held = []
    try:
        for number in range(facts["megabytes"]):
            held.append(os.open(f"{home}/{number}", os.O_CREAT | os.O_WRONLY))
            os.unlink(f"{home}/{number}")
            os.write(held[-1], CHUNK)
    except OSError as error:
        return {"why": errno.errorcode[error.errno]}
    return stay(facts, why="ok")


def e51_folders(facts):
    home = os.environ["HOME"]
    try:
        for number in range(4000):
            os.mkdir(f"{home}/{number}")
            with open(f"{home}/{number}/x", "wb") as file:
                file.write(b"x" * 8192)
    except OSError as error:
        return {"why": errno.errorcode[error.errno]}
    return stay(facts, why="ok")


def e51_deep(facts):
    os.chdir(os.environ["HOME"])
    for _ in range(1000):
        os.mkdir("d")
        os.chdir("d")
    return stay(facts, why="ok")


def e52(facts):
    codes = {
        "getflags": 0x80086601, "setflags": 0x40086602, "fiemap": 0xC020660B, "ext4 state": 0x40046629, "ext4 move": 0xC028660F,
        "fsgetxattr": 0x801C581F, "fssetxattr": 0x401C5820, "freeze": 0xC0045877, "trim": 0xC0185879, "uuid": 0x80111500,
        "snapshot": 0x50009417, "subvolume": 0x50009418, "lookup": 0xD0009412, "clone": 0x40049409, "verity": 0x40806685,
        "fibmap": 1,
    }  # fmt: skip
    results = {}
    for path in (f"{facts['skill']}/SKILL.md", os.environ["HOME"]):
        place = os.open(path, os.O_RDONLY)
        results |= {f"{name} {path}": tried(call, 29 if ARM else 16, place, code, bytes(4096)) for name, code in codes.items()}
    pipe, other = os.pipe()
    os.write(other, b"four")
    size = bytearray(4)
    fcntl.ioctl(pipe, 0x541B, size)
    return {"files": results, "pipe": struct.unpack("i", size)[0]}


def e53(facts):
    host = facts["victim"]
    return {
        "probe": tried(os.kill, host, 0), "session": tried(os.getsid, host), "group": tried(os.getpgid, host),
        "pidfd": tried(os.pidfd_open, host), "priority": tried(os.getpriority, os.PRIO_PROCESS, host),
        "affinity": tried(os.sched_getaffinity, host),
    }  # fmt: skip


def e54(facts):
    tables = ("kcore", "keys", "key-users", "timer_list", "slabinfo", "vmallocinfo", "pagetypeinfo", "kpagecount", "kpageflags")
    results = {name: tried(read, f"/proc/{name}") for name in (*tables, "kpagecgroup", "kmsg")}
    # An engine of containers puts /dev/null in its place.
    return {name: "empty" if found == "ok ''" else found[:2] for name, found in results.items()}


if __name__ == "__main__":
    found = globals()[sys.argv[1]](json.loads(sys.argv[2]))
    if found is not None:
        print(json.dumps(found))
