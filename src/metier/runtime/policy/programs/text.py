"""Programs that read text and print text. Some of them can write or start a program by an option."""

from __future__ import annotations

from .program import Operands, Program

__all__ = ["TEXT"]

_ANSWERS = "--help --version"

TEXT = (
    Program(
        names="cat tac nl rev",
        safe=f"-AbeEnstTuv -w: -s: -v: -b: {_ANSWERS} --show-all --number-nonblank --number --squeeze-blank "
        "--show-ends --show-tabs --show-nonprinting --separator= --before",
    ),
    Program(
        names="head tail",
        safe=f"-n: -c: -qvzfFr -0123456789 -s: {_ANSWERS} --lines= --bytes= --quiet --silent --verbose "
        "--zero-terminated --follow? --retry --pid= --sleep-interval=",
    ),
    Program(names="wc", safe=f"-clmLw {_ANSWERS} --bytes --chars --lines --words --max-line-length --total="),
    Program(
        names="cut paste join comm fold expand unexpand column fmt pr tsort",
        safe=f"-b: -c: -d: -f: -s -z -w: -t: -n -a: -e: -i -o: -1: -2: -v: -123 -l: -h: -m -x {_ANSWERS} --bytes= "
        "--characters= --delimiter= --fields= --complement --output-delimiter= --only-delimited "
        "--zero-terminated --serial --delimiters= --table --separator= --width= --spaces",
    ),
    Program(names="tr", safe="-cCdstu --complement --delete --squeeze-repeats --truncate-set1"),
    # -o may name the input itself, and the compressor is a program.
    Program(
        names="sort",
        safe=f"-bdfgiMhnRrVcCmsuz -k: -S: -t: {_ANSWERS} --ignore-leading-blanks --dictionary-order --ignore-case "
        "--general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort "
        "--random-sort --reverse --sort= --version-sort --check? --debug --key= --merge --stable --buffer-size= "
        "--field-separator= --unique --zero-terminated --parallel= --batch-size=",
        writes="-o: --output= -T: --temporary-directory=",
        starts="--compress-program= --files0-from= --random-source=",
    ),
    # The second operand is the output.
    Program(
        names="uniq",
        safe=f"-cdDiuz -f: -s: -w: {_ANSWERS} --count --repeated --all-repeated? --skip-fields= --group? --ignore-case "
        "--skip-chars= --unique --zero-terminated --check-chars=",
        most=1,
    ),
    Program(
        names="grep egrep fgrep zgrep",
        safe=f"-EFGPivwxcLlqshHnoabTUzuIrRyVZ -e: -f: -m: -A: -B: -C: -0123456789 -D: -d: {_ANSWERS} --extended-regexp "
        "--fixed-strings --basic-regexp --perl-regexp --regexp= --file= --ignore-case --no-ignore-case "
        "--invert-match --word-regexp --line-regexp --count --color? --colour? --files-without-match "
        "--files-with-matches --max-count= --only-matching --quiet --silent --no-messages --byte-offset "
        "--with-filename --no-filename --label= --line-number --initial-tab --null --after-context= "
        "--before-context= --context= --text --binary-files= --directories= --exclude= --exclude-from= "
        "--exclude-dir= --include= --recursive --dereference-recursive --line-buffered --null-data",
        starts="--devices=",
        walks="-r -R --recursive --dereference-recursive",
    ),
    # --pre is a program for each file, and -z starts decompressors.
    Program(
        names="rg",
        safe="-A: -B: -C: -E: -F -H -I -L -M: -N -P -S -T: -U -V -a -c -e: -f: -g: -h -i -j: -l -m: -n -o -p -q -r: "
        f"-s -t: -u -v -w -x -. -0 {_ANSWERS} --after-context= --before-context= --context= --fixed-strings "
        "--with-filename --no-filename --follow --max-columns= --no-line-number --line-number --pcre2 "
        "--smart-case --type-not= --multiline --multiline-dotall --text --count --count-matches --regexp= "
        "--file= --glob= --iglob= --ignore-case --threads= --files-with-matches --files-without-match --files "
        "--max-count= --only-matching --pretty --quiet --replace= --case-sensitive --type= --unrestricted "
        "--invert-match --word-regexp --line-regexp --hidden --no-hidden --no-ignore --no-ignore-vcs --null "
        "--json --stats --sort= --sortr= --max-depth= --max-filesize= --color= --colors= --heading --no-heading "
        "--column --vimgrep --trim --type-list --type-add= --encoding= --passthru --no-config --no-messages "
        "--debug --trace --block-buffered",
        starts="--pre= --pre-glob= --hostname-bin= -z --search-zip --hyperlink-format= --engine= --ignore-file=",
        walks="always",
    ),
    Program(
        names="ag ack",
        safe="-i -l -n -c -v -w -A: -B: -C: -G: --ignore= --hidden --nocolor --nogroup --count --files-with-matches",
        starts="--pager= --search-zip -z",
        walks="always",
    ),
    Program(
        names="diff cmp diff3 sdiff colordiff",
        safe=f"-abBcdeEiNnpqrsStTuwy -U: -C: -x: -I: -F: -W: -l {_ANSWERS} --brief --unified? --context? --recursive "
        "--new-file --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --side-by-side "
        "--color? --minimal --exclude= --text --report-identical-files --suppress-common-lines --width= "
        "--strip-trailing-cr --label= --silent --quiet --bytes= --verbose --print-bytes",
        writes="-o: --output=",
        starts="--diff-program=",
        walks="-r --recursive",
    ),
    # A script can write (`w`), start a program (`e`) and edit its input (-i): only simple scripts are known.
    Program(
        names="sed gsed",
        safe=f"-nErsuz {_ANSWERS} --quiet --silent --regexp-extended --separate --null-data --posix --unbuffered "
        "--debug --sandbox -l: --line-length= --follow-symlinks",
        code="-e: --expression=",
        starts="-f: --file=",
        writes="-i? -I? --in-place?",
        operands=Operands.CODE,
        check="sed_script",
        same="-i/-I/--in-place",
    ),
    Program(
        names="awk gawk mawk nawk",
        safe=f"-F: -v: {_ANSWERS} --field-separator= --assign= --posix --traditional --lint? -O -S --sandbox",
        code="-e: --source=",
        starts="-f: --file= -E: --exec= -i: --include= -l: --load= -D? --debug?",
        writes="-d? --dump-variables? -o? --pretty-print? -p? --profile?",
        operands=Operands.CODE,
        check="awk_program",
    ),
    # jq has no way to start a program or to write.
    Program(
        names="jq gojq",
        safe=f"-acCeijMnrRsSh -L: -f: --from-file= {_ANSWERS} --arg= --argjson= --args --ascii-output --color-output "
        "--compact-output --exit-status --join-output --jsonargs --monochrome-output --null-input --raw-input "
        "--raw-output --raw-output0 --slurp --sort-keys --tab --indent= --stream --seq --slurpfile= --rawfile=",
    ),
    Program(
        names="yq",
        safe=f"-ePMCnrNj -o: -p: -I: {_ANSWERS} --output-format= --input-format= --no-doc --prettyPrint --unwrapScalar",
        writes="-i -s: --inplace --in-place --split-exp=",
    ),
    Program(
        names="echo printf yes seq basename dirname expr factor numfmt",
        safe="-neEszamw -d: -f: --multiple --suffix= --zero --to= --from= --version --help",
    ),
    Program(
        names="od hexdump xxd strings md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum base32",
        safe=f"-abcdefghlnoprstuvwxACNqzitB -n: -N: -j: -w? -t: -l: -c: {_ANSWERS} --check --quiet --status --strict "
        "--tag --text --binary --zero --ignore-missing --warn",
        most=1_000,
    ),
    Program(names="base64", safe=f"-dDi -w: {_ANSWERS} --decode --ignore-garbage --wrap=", writes="-o: --output="),
    # Pagers start editors, shells (`!`) and filters (LESSOPEN); without a terminal they are `cat`.
    Program(
        names="less more most",
        safe="-EFNRSXeimnrsq --version --help",
        writes="-o: -O: --log-file= --LOG-FILE=",
        starts="-k: --lesskey-file= --lesskey-src= -t: --tag= -T: --tag-file= -p: --pattern=",
        check="no_plus",
    ),
    Program(
        names="man info",
        safe="-k -f -w -a --where --apropos --whatis --all -s: --sections=",
        starts="-P: --pager= -H? --html? -B: -r: --preprocessor= -p: -C: --config-file= -X? --gxditview? -T? "
        "--troff-device? --use-pager=",
    ),
    Program(names="dos2unix unix2dos", safe="-q -k", operands=Operands.PURPOSE),
    Program(
        names="iconv", safe="-f: -t: -l -c -s --from-code= --to-code= --list", writes="-o: --output=", operands=Operands.PURPOSE
    ),
    Program(
        names="split csplit",
        safe="-b: -l: -n: -d -a: -k -s -z -f: --bytes= --lines= --number=",
        operands=Operands.PURPOSE,
        starts="--filter=",
        most=1,
    ),
    Program(
        names="envsubst tput clear reset tabs bc dc cal ncal figlet cowsay",
        safe="-v --variables -T: -l -q -m -y -3 --help --version",
        starts="-f: --file= -e:",
    ),
)
