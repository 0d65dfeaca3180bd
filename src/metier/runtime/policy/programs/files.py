"""Programs that list, find, copy, remove and pack files."""

from __future__ import annotations

from .program import Operands, Program

__all__ = ["FILES"]

_ANSWERS = "--help --version"
_COPY = (
    f"-abdfHilLnPpRrsuvxZ -S: -t: -T {_ANSWERS} --archive --backup? --force --interactive --no-clobber "
    "--dereference --no-dereference --preserve? --no-preserve= --parents --recursive --reflink? "
    "--remove-destination --sparse= --symbolic-link --suffix= --target-directory= --no-target-directory "
    "--update? --verbose --one-file-system --link --strip-trailing-slashes --attributes-only --debug"
)

FILES = (
    Program(
        names="ls dir vdir exa eza lsd",
        safe=f"-aAbBcCdDfFgGhHiIklLmnNoOpqQrRsStTuUvwxXZ1 -I: -w: -T: {_ANSWERS} --all --almost-all --author --escape "
        "--block-size= --color? --directory --classify? --file-type --format= --full-time "
        "--group-directories-first --no-group --human-readable --si --hide= --ignore= --indicator-style= --inode "
        "--literal --numeric-uid-gid --quote-name --reverse --recursive --size --sort= --time= --time-style= "
        "--tabsize= --width= --zero --tree --git --icons --long --level= --header",
    ),
    Program(
        names="tree",
        safe="-adfilqpugshDFrtUvcxACnJXS -L: -P: -I: -H: --du --gitignore --dirsfirst --filelimit= --noreport --prune "
        "--matchdirs --charset= --si",
        writes="-o:",
        starts="-R",
    ),
    Program(
        names="stat du df readlink realpath namei lsattr getfacl mountpoint findmnt lsblk locate",
        safe=f"-abcdefghiklmnpPqrsStTuvxzLHE -c: -d: -t: {_ANSWERS} --brief --mime --mime-type --mime-encoding "
        "--dereference --format= --printf= --file-system --terse --all --apparent-size --total --max-depth= "
        "--human-readable --si --summarize --exclude= --inodes --local --output? --type= --canonicalize "
        "--no-newline --relative-to= --relative-base= --strip --logical --physical --separate-dirs --time? "
        "--threshold= --canonicalize-missing --canonicalize-existing --quiet --zero",
        starts="--files0-from=",
    ),
    Program(
        names="file",
        safe=f"-bhiIklLnNprsSz0dE -e: {_ANSWERS} --brief --mime --mime-type --mime-encoding --dereference "
        "--no-dereference --raw --uncompress",
        writes="-C --compile",
        starts="-m: --magic-file= -f: --files-from= -P: --parameter=",
    ),
    Program(names="which whereis type command-not-found apropos whatis", safe="-abfmst -pPv --all --skip-alias"),
    # Tests and actions are words with one dash. What is not listed here is an action.
    Program(
        names="find gfind",
        long_dash=True,
        safe="-H -L -P -O1 -O2 -O3 -D: -amin: -anewer: -atime: -cmin: -cnewer: -context: -ctime: -daystart -depth "
        "-empty -executable -false -fstype: -gid: -group: -ignore_readdir_race -ilname: -iname: -inum: -ipath: "
        "-iregex: -iwholename: -links: -lname: -ls -maxdepth: -mindepth: -mmin: -mount -mtime: -name: -newer: "
        "-newermt: -newerct: -newerat: -newermm: -nogroup -noignore_readdir_race -noleaf -nouser -path: -perm: "
        "-print -print0 -printf: -prune -quit -readable -regex: -regextype: -samefile: -size: -true -type: -uid: "
        "-used: -user: -wholename: -writable -xdev -xtype: -a -o -and -or -not -help -version --help --version "
        "-E -s -x -X",
        starts="-exec* -execdir* -ok* -okdir*",
        writes="-delete -fprint: -fprint0: -fprintf* -fls:",
    ),
    Program(
        names="fd fdfind",
        safe=f"-HIuigsFaLp0l1 -d: -t: -e: -E: -S: -c: -j: -q {_ANSWERS} --hidden --no-ignore --unrestricted "
        "--case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --follow --full-path "
        "--max-depth= --min-depth= --exact-depth= --type= --extension= --exclude= --size= --changed-within= "
        "--changed-before= --color= --threads= --max-results= --print0 --quiet --prune",
        starts="-x* -X* --exec* --exec-batch* -l --list-details",
        writes="-C: --base-directory= --search-path=",
    ),
    Program(
        names="cp mv",
        safe=_COPY,
        operands=Operands.PURPOSE,
        walks="-r -R -a --recursive --archive",
        same="-r/-R/--recursive -f/--force",
    ),
    Program(
        names="ln link",
        safe="-fsnvirTLPb -S: -t: --force --symbolic --relative --no-dereference --verbose --interactive --backup? "
        "--target-directory= --no-target-directory --logical --physical",
        operands=Operands.PURPOSE,
        same="-f/--force -s/--symbolic",
    ),
    Program(
        names="install",
        safe="-bcCdDpTvs -g: -m: -o: -S: -t: --compare --directory --group= --mode= --owner= --preserve-timestamps "
        "--target-directory= --verbose",
        starts="--strip-program= --strip",
        operands=Operands.PURPOSE,
    ),
    Program(
        names="rm rmdir unlink shred",
        safe=f"-firRIdvpu -n: -z {_ANSWERS} --force --interactive? --one-file-system --no-preserve-root "
        "--preserve-root? --recursive --dir --verbose --parents --ignore-fail-on-non-empty --iterations= --zero "
        "--remove?",
        operands=Operands.PURPOSE,
        starts="--random-source=",
        same="-r/-R/--recursive -f/--force -i/--interactive -v/--verbose",
    ),
    Program(
        names="mkdir touch truncate mktemp mkfifo chmod chown chgrp chattr setfacl",
        safe=f"-acdfhmopqruvRHLPtZVXwx -m: -t: -d: -r: -s: -p: {_ANSWERS} --parents --mode= --verbose --no-create "
        "--date= --time= --reference= --size= --recursive --changes --silent --quiet --from= --directory "
        "--suffix= --tmpdir? --dry-run --no-dereference",
        operands=Operands.PURPOSE,
        same="-R/--recursive -p/--parents",
    ),
    Program(names="tee sponge", safe="-aip --append --ignore-interrupts --output-error?", operands=Operands.PURPOSE),
    # `of=` may name a device.
    Program(names="dd", operands=Operands.READ, check="dd_operand"),
    Program(
        names="tar gtar bsdtar",
        old_cluster=True,
        check="tar_words",
        operands=Operands.READ,
        walks="always",
        safe=f"-ctxzjJZapvkmnOShlwWUs -b: -f: -X: -T: -L: -N: -H: -K: {_ANSWERS} --create --extract --get --list "
        "--gzip --gunzip --ungzip --bzip2 --xz --zstd --lzma --auto-compress --verbose --file= --exclude= "
        "--exclude-from= --exclude-vcs --keep-old-files --keep-newer-files --no-recursion --strip-components= "
        "--to-stdout --wildcards --no-wildcards --no-same-owner --no-same-permissions --numeric-owner --sort= "
        "--mtime= --owner= --group= --format= --totals? --diff --compare -d --sparse --anchored --ignore-case "
        "--overwrite --skip-old-files --force-local",
        writes="-C: --directory= -P --absolute-names -r -u -A --append --update --concatenate --delete --remove-files "
        "--unlink-first --recursive-unlink -g: --listed-incremental= --index-file= --transform= --xform= "
        "--one-top-level? --volno-file= --keep-directory-symlink",
        starts="-I: --use-compress-program= --to-command= --checkpoint-action= --rsh-command= --rmt-command= -F: "
        "--info-script= --new-volume-script= -M --multi-volume --checkpoint?",
    ),
    Program(
        names="zip",
        safe="-0123456789 -djqruvxym -i: -x: -e --recurse-paths --quiet --verbose --exclude= --junk-paths --update "
        "--freshen -f",
        starts="-T --test --unzip-command=",
        writes="-b: --temp-path= -O: --output-file= -m --move -o",
        operands=Operands.PURPOSE,
        walks="-r --recurse-paths",
    ),
    Program(
        names="unzip zipinfo", safe="-lvtZpczfuonjqLaCMshT -x: -1 -2", writes="-d:", starts="-:", operands=Operands.PURPOSE
    ),
    Program(names="7z 7za 7zr unrar", commands=(Program(names="l t", safe="-slt -ba -r"),)),
    Program(
        names="gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat zstd unzstd zstdcat lz4",
        safe=f"-cdfhklLnNqrtvV0123456789 -T: -S: {_ANSWERS} --stdout --decompress --force --keep --list --name "
        "--no-name --quiet --recursive --suffix= --test --verbose --fast --best --threads= --rm",
        writes="-o: --output-dir-flat= --output-dir-mirror=",
        operands=Operands.PURPOSE,
    ),
    Program(
        names="patch",
        safe="-pRNEbfstlu -p: -F: -V: -z: --strip= --dry-run --reverse --forward --backup --batch --force --silent "
        "--fuzz= --verbose",
        writes="-o: --output= -d: --directory= -r: --reject-file= -i: --input= -B: --prefix=",
        starts="-e --ed",
        operands=Operands.PURPOSE,
    ),
    Program(
        names="convert magick mogrify identify ffmpeg ffprobe",
        long_dash=True,
        operands=Operands.ASK,
        safe="-version -help -h -hide_banner -verbose -v: -show_streams -show_format -of: -print_format: -i:",
    ),
    Program(names="cpio ar", operands=Operands.ASK, safe="-t -v --list --help --version"),
)
