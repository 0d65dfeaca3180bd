"""Programs whose operands are a command: the command counts, not the wrapper."""

from __future__ import annotations

from .program import Operands, Program

__all__ = ["WRAPPERS"]

_COMMAND = Operands.COMMAND

WRAPPERS = (
    # -S splits a string into words; assignments can change what a program does (LD_PRELOAD, PATH).
    Program(
        names="env",
        safe="-0iv -u: --ignore-environment --null --unset= --debug --help --version --list-signal-handling",
        starts="-S: --split-string= -P:",
        writes="-C: --chdir=",
        operands=_COMMAND,
    ),
    Program(
        names="sudo doas",
        safe="-ABbEHknPSsiVvKl -u: -g: -p: -C: -h: -U: -r: -t: -T: --user= --group= --help --version --list "
        "--validate --preserve-env? --login --shell --non-interactive --stdin --set-home --background --askpass "
        "--reset-timestamp",
        writes="-D: -R: --chdir= --chroot= -e --edit",
        starts="-s -i --shell --login -A",
        operands=_COMMAND,
    ),
    Program(
        names="su runuser",
        safe="-l -m -p -f --login --preserve-environment --help --version -",
        starts="-c: --command= -s: --shell= --session-command=",
        operands=_COMMAND,
    ),
    Program(
        names="nice ionice chrt taskset nohup setsid time gtime stdbuf unbuffer command builtin exec noglob nocorrect "
        "caffeinate catchsegv dbus-run-session linux32 linux64 setarch prlimit ltrace faketime eatmydata "
        "fakeroot proot firejail bwrap nsenter rlwrap torsocks proxychains proxychains4 tsocks systemd-run "
        "systemd-inhibit daemonize start-stop-daemon chpst softlimit numactl sshpass mosh viddy entr",
        # Which options take a value differs, and a wrong guess would hide the command.
        safe="--help --version",
        operands=_COMMAND,
    ),
    Program(
        names="timeout gtimeout",
        safe="-k: -s: -v --foreground --preserve-status --kill-after= --signal= --verbose --help --version",
        operands=_COMMAND,
        lead=1,
    ),
    Program(
        names="xargs gxargs",
        safe="-0rtpxo -a: -d: -E: -e? -I: -i? -L: -l? -n: -P: -s: --null --arg-file= --delimiter= --eof? --replace? "
        "--max-lines? --max-args= --max-procs= --max-chars= --interactive --no-run-if-empty --verbose --exit "
        "--open-tty --show-limits --help --version -J: -R: -S:",
        operands=_COMMAND,
        appends=True,
    ),
    Program(
        names="parallel sem",
        safe="-0kXm -j: -n: -N: -a: --jobs= --dry-run --keep-order --halt= --bar --version --help",
        operands=_COMMAND,
        appends=True,
    ),
    Program(
        names="watch",
        safe="-bcdegtx -n: -q: --interval= --differences? --no-title --exec --beep --color --errexit --chgexit --precise",
        operands=_COMMAND,
    ),
    Program(
        names="chroot unshare flock strace perf gdb lldb valgrind script setpriv capsh su-exec gosu tini dumb-init "
        "with-contenv expect screen tmux",
        operands=_COMMAND,
        starts="-c: --command= -ex: -e: --exec=",
        writes="-o: --output= --log-file= -T: -B: -I: -O:",
        safe="-q -f -a -r -n --help --version -V",
    ),
    # Its input is `.` and the rest of the words in a new shell.
    Program(names="eval source . trap enable coproc", operands=_COMMAND, is_shell=True),
    # The words of a later command follow.
    Program(names="alias hash", operands=_COMMAND, appends=True),
    Program(names="busybox toybox", operands=_COMMAND, safe="--list --help"),
    Program(
        names="direnv devbox mise asdf nix-shell nix pyenv rbenv nodenv volta conda mamba micromamba pixi hatch tox "
        "nox pre-commit rye pdm",
        operands=_COMMAND,
        safe="--version --help -h",
        starts="-c: --run= --command=",
    ),
    Program(
        names="entrypoint winpty wsl cmd powershell pwsh osascript open xdg-open start",
        operands=_COMMAND,
        starts="-c: -Command: -e:",
    ),
)
