"""Interpreters: a file with code is their purpose, code on the command line and modules are not."""

from __future__ import annotations

from .program import Operands, Program

__all__ = ["INTERPRETERS"]

_SCRIPT = Operands.SCRIPT

INTERPRETERS = (
    Program(
        names="sh bash zsh dash ksh ash fish mksh rbash tcsh csh nu elvish xonsh",
        is_shell=True,
        operands=_SCRIPT,
        safe="-euxvnfCbahmB --posix --norc --noprofile --help --version --no-config --restricted -r",
        starts="-c: -s -l -i -o: -O: --rcfile= --init-file= --login --command= --init-command= -C: -E -k -p -t",
    ),
    Program(
        names="python python3 python2 pypy pypy3 ipython",
        operands=_SCRIPT,
        safe="-BbdEhIOPqRsStuvVx3 -W: -X: --version --help --check-hash-based-pycs=",
        starts="-c: -m: -i -",
    ),
    Program(
        names="node nodejs",
        operands=_SCRIPT,
        safe="-v -h --version --help --no-warnings --trace-warnings --enable-source-maps --max-old-space-size= --test "
        "--watch --check -c --experimental-strip-types --stack-trace-limit=",
        starts="-e: --eval= -p: --print= -r: --require= --import= --loader= --experimental-loader= -i --interactive "
        "--inspect? --inspect-brk? --env-file= --env-file-if-exists= --run= -",
    ),
    Program(
        names="deno",
        safe="-h -V -q --version --help --quiet",
        starts="-L:",
        commands=(
            Program(
                names="run test bench",
                operands=_SCRIPT,
                safe="-q --check? --no-check --quiet --no-prompt --cached-only --frozen --watch",
                starts="-A --allow-all --allow-run? --allow-ffi? -r --reload? --import-map= -c: --config= --preload= --import= "
                "--location= --env-file? --inspect? --allow-import?",
                writes="--allow-write? -W? --coverage? --lock?",
            ),
            Program(
                names="fmt lint check info doc",
                operands=Operands.PURPOSE,
                safe="--check --fix --json --quiet -q --ignore= --watch",
            ),
            Program(names="task", operands=Operands.PURPOSE, safe="-q --quiet"),
        ),
    ),
    Program(
        names="bun",
        safe="-v --version --revision -h --help",
        starts="-e: --eval= -p: --print= -r: --preload= -c: --config= --cwd=",
        commands=(
            Program(
                names="run test install add remove update build outdated pm",
                operands=Operands.PURPOSE,
                safe="-d -D --dev --exact --frozen-lockfile --production --silent --watch --coverage --bail? -t: "
                "--test-name-pattern= --timeout= --save-text-lockfile",
                writes="--outfile= --outdir= --cwd=",
                starts="-r: --preload= -c: --config= --shell=",
            ),
        ),
    ),
    Program(
        names="ruby jruby irb",
        operands=_SCRIPT,
        safe="-cvwhy -W? --version --help --yjit --jit -s",
        starts="-e: -r: -I: -C: -x? -S -n -p -i? -E: -a -F: -l -0? --require= -",
    ),
    Program(
        names="perl",
        operands=_SCRIPT,
        safe="-vhctTuUwWX --version --help",
        starts="-e: -E: -M: -m: -I: -n -p -i? -a -F: -l? -0? -x? -s -S -d? -C? -D: -V? -f -",
    ),
    Program(
        names="php",
        operands=_SCRIPT,
        safe="-v -m -i -l -h -n -q --version --modules --info --syntax-check --help --ini",
        starts="-r: -B: -R: -F: -E: -a -c: -d: -S: -t: -z: -f: --run= --server= --define= --php-ini= -",
    ),
    Program(
        names="lua luajit lua5 tclsh Rscript R julia ghci runghc scala groovy kotlin elixir iex erl java jshell dotnet "
        "swift racket guile sbcl clojure",
        operands=_SCRIPT,
        safe="-v -version --version -h --help",
        starts="-e: -l: -i -E: --eval= -cp: -jar: -m: -p: -classpath: --args -c: -s: -x: -",
    ),
    # Editors run commands of their own language, also from files (modelines).
    Program(
        names="vim vi nvim view ex ed emacs emacsclient nano pico micro joe helix hx code subl",
        operands=Operands.ASK,
        safe="--version --help -h",
    ),
    Program(
        names="ts-node tsx npx-tsx babel-node coffee",
        operands=_SCRIPT,
        safe="-v -h --version --help --transpile-only -T",
        starts="-e: -p -r: --eval= --print= --require= --import=",
    ),
)
