"""Programs about this machine, its users and its processes, and the builtins of a shell."""

from __future__ import annotations

from .program import Operands, Program

__all__ = ["SYSTEM"]

_PURPOSE, _READ, _ASK = Operands.PURPOSE, Operands.READ, Operands.ASK
_ANSWERS = "--help --version"

SYSTEM = (
    # -s and an operand without `+` set the clock.
    Program(
        names="date gdate",
        safe=f"-uRjn -d: -r: -I? -v: {_ANSWERS} --date= --utc --universal --rfc-3339= --iso-8601? --rfc-email "
        "--reference= --debug",
        writes="-s: --set=",
        starts="-f: --file=",
        check="date_operand",
    ),
    # An operand sets the name.
    Program(
        names="hostname domainname",
        safe="-AadfiIsy --fqdn --short --ip-address --all-ip-addresses --domain --long",
        writes="-b -F: --file= --boot",
        most=0,
    ),
    Program(
        names="id whoami who w users groups tty uname arch nproc uptime free lscpu lsmem lsusb lspci vmstat iostat "
        "last logname locale getconf printenv lsof pgrep pidof pstree sw_vers",
        safe=f"-abcdeEfFghHiIjkKlLmMnNopPqrsStTuUvVwWxXyzZ0123456789 {_ANSWERS} -o: -p: -u: -C: -n: -s: --all --sort= "
        "--forest --ppid= --pid= --no-headers --null --group --user --real --name --kernel-name --kernel-release "
        "--machine --operating-system --human --total --pretty --full --list-name --exact --format=",
    ),
    Program(
        names="ps",
        old_cluster=True,
        safe="-aAcdefFghHjklLmMNPqrsStTuUVwxXyZ -o: -O: -p: -C: -g: -s: -t: --sort= --forest --ppid= --pid= "
        "--no-headers --format= --cols= --headers",
    ),
    Program(names="top htop btop", safe="-b -n: -d: -p: -u: -o: -h -v -i -c", starts="-s"),
    Program(
        names="test [ [[ true false : for in select case esac done fi pwd cd pushd popd dirs local declare typeset "
        "readonly export unset set shopt ulimit umask getopts shift return exit break continue read wait jobs fg "
        "bg disown times history logout",
        # A subscript is arithmetic, and arithmetic runs substitutions even from quotes: `test -v 'a[$(id)]'`.
        check="no_subscript",
        safe="-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    ),
    # They keep commands for later.
    Program(names="bind complete compgen mapfile readarray fc", operands=_ASK),
    Program(names="sleep usleep sync tzselect", safe=f"-d -f {_ANSWERS}", operands=_READ),
    Program(
        names="kill pkill killall",
        safe="-lLefinvxw -0123456789 -s: -u: -HUP -INT -KILL -TERM -STOP -CONT -QUIT -USR1 -USR2 --signal= --full "
        "--exact --list --newest --oldest",
        operands=_PURPOSE,
    ),
    Program(
        names="systemctl service journalctl loginctl launchctl",
        safe=f"-alnqerxkbN -n: -u: -p: -o: -t: -S: -U: -g: -H -M {_ANSWERS} --user --no-pager --all --type= --state= "
        "--full --lines= --unit= --since= --until= --output= --grep= --reverse --failed --plain --no-legend "
        "--boot? --dmesg --priority= --follow -f --property=",
        starts="-H: --host= -M: --machine= --root= --image= --file= -D: --directory=",
        writes="--vacuum-size= --vacuum-time= --rotate --flush --sync --output-fields= --setup-keys --cursor-file=",
        operands=_ASK,
        commands=(
            Program(
                names="status is-active is-enabled is-failed list-units list-unit-files list-timers list-dependencies show cat "
                "list"
            ),
        ),
    ),
    # Both keep a command for later.
    Program(names="crontab", safe="-l", starts="-e -r -i -u:", operands=_ASK),
    Program(names="at batch atq atrm anacron", safe="-l -V", operands=_ASK, starts="-f: -m -c:"),
    Program(
        names="mount umount mkfs fdisk parted losetup swapon swapoff modprobe insmod rmmod sysctl iptables nft ufw ip "
        "ifconfig route useradd usermod userdel passwd chpasswd visudo chsh reboot shutdown halt poweroff apt "
        "apt-get dpkg yum dnf rpm pacman apk zypper brew port snap flatpak update-alternatives ldconfig setcap "
        "security defaults",
        operands=_ASK,
        safe=f"-h -V {_ANSWERS}",
    ),
    Program(
        names="dmesg",
        safe="-HTtxkuLw -l: -f: --human --ctime --level= --facility= --follow --color?",
        starts="-C -c -F: --file= --clear --read-clear",
    ),
    Program(names="pbcopy pbpaste xclip xsel wl-copy wl-paste notify-send say tmutil", operands=_ASK),
)
