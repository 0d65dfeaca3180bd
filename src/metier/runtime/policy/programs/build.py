"""Build tools, package managers and test runners. They run the code of the project: that is their purpose.

The table asks for what is not the project's: another folder or file of rules, another program (`-exec`, `-toolexec`, `dlx`), packages that
the command names, and settings on the command line.
"""

from __future__ import annotations

from .program import Operands, Program

__all__ = ["BUILD"]

_PURPOSE, _COMMAND, _READ, _ASK = Operands.PURPOSE, Operands.COMMAND, Operands.READ, Operands.ASK
_ANSWERS = "-h -v -V --help --version"
_GO = (
    "-a -n -p: -race -msan -asan -cover -covermode: -coverpkg: -v -work -x -buildvcs -mod: -tags: -trimpath "
    "-json -count: -run: -bench: -benchtime: -benchmem -short -timeout: -parallel: -failfast -list: "
    "-shuffle: -skip: -fullpath -cpu: -vet: -i"
)
_GO_STARTS = (
    "-exec: -toolexec: -vettool: -compiler: -gccgoflags: -gcflags: -ldflags: -asmflags: -overlay: -modfile: -pgo: -C: -args*"
)
_GO_WRITES = (
    "-o: -c -pkgdir: -installsuffix: -outputdir: -coverprofile: -cpuprofile: -memprofile: -blockprofile: "
    "-mutexprofile: -trace: -fuzzcachedir: -artifacts"
)
_CARGO = (
    "-qvrF -j: -p: --quiet --verbose --release --all-features --no-default-features --features= --package= "
    "--workspace --all --exclude= --lib --bin= --bins --example= --examples --test= --tests --bench= "
    "--benches --all-targets --jobs= --keep-going --profile= --target= --locked --offline --frozen "
    "--message-format= --color= --no-run --no-fail-fast --doc --open --no-deps --document-private-items "
    "--check --fix --allow-dirty --allow-staged --timings?"
)
_NPM = (
    "-sdg --silent --verbose --json --long --depth= --production --omit= --include= --workspace= -w: "
    "--workspaces --if-present --save-dev -D --save-exact -E --no-save --save --no-audit --no-fund "
    "--prefer-offline --offline --legacy-peer-deps --force -f --dry-run --frozen-lockfile --audit-level= "
    "--parseable --all -r --recursive --filter= -F: --immutable --no-progress --watch --coverage "
    "--ignore-scripts --package-lock-only --lockfile-only -P -O --loglevel= --loglevel"
)
_NPM_STARTS = (
    "--script-shell= --node-options= --shell= -c: --call= --userconfig= --globalconfig= --registry= --git= "
    "--editor= --viewer= --browser= --init-module= --package= -p: --config= --use-node-version= "
    "--shell-emulator"
)
_NPM_WRITES = (
    "--prefix= -C: --cwd= --cache= --dir= --modules-folder= --global-folder= --tmp= --global -g --logs-dir= "
    "--store-dir= --location="
)


def _scripts(names: str) -> Program:
    """The scripts of package.json, and installs of what it lists."""
    return Program(
        names=names,
        safe=f"{_ANSWERS} {_NPM}",
        starts=_NPM_STARTS,
        writes=_NPM_WRITES,
        inherits=True,
        commands=(
            Program(names="run run-script test t tst start stop restart ci build lint dev", operands=_PURPOSE),
            Program(
                names="install i add uninstall remove rm un update up upgrade dedupe prune rebuild link unlink audit fund "
                "import",
                operands=_PURPOSE,
            ),
            Program(
                names="ls list ll la view info show outdated search explain why bin root prefix help version ping whoami "
                "licenses doctor",
                operands=_READ,
            ),
            Program(names="exec x dlx create init explore node workspace workspaces", operands=_COMMAND),
            Program(names="pack publish", operands=_ASK),
        ),
    )


BUILD = (
    Program(
        names="go",
        long_dash=True,
        safe="-h -version",
        starts="-C:",
        commands=(
            Program(
                names="build install test vet list",
                long_dash=True,
                safe=f"{_GO} -f: -m -u -deps -e -export -find -versions",
                starts=_GO_STARTS,
                writes=_GO_WRITES,
                operands=_PURPOSE,
            ),
            # The program and its arguments.
            Program(names="run", long_dash=True, safe=_GO, starts=_GO_STARTS, writes=_GO_WRITES, operands=Operands.SCRIPT),
            Program(
                names="fmt doc version env help",
                long_dash=True,
                safe="-n -x -all -c -short -src -u -json -m",
                writes="-w -u",
                starts="-mod:",
            ),
            Program(names="get", long_dash=True, safe="-u -t -v -d", operands=_PURPOSE),
            Program(
                names="mod",
                long_dash=True,
                commands=(
                    Program(
                        names="tidy download verify graph why init vendor",
                        long_dash=True,
                        safe="-v -e -x -json -m -compat: -go:",
                        writes="-o: -modfile:",
                        operands=_PURPOSE,
                    ),
                ),
            ),
            # generate and tool start programs by definition.
            Program(names="generate tool", operands=_COMMAND),
        ),
    ),
    Program(
        names="gofmt goimports golangci-lint staticcheck",
        long_dash=True,
        safe="-l -d -s -e",
        writes="-w -cpuprofile:",
        starts="-r:",
        operands=_PURPOSE,
    ),
    Program(
        names="cargo",
        safe=f"{_ANSWERS} --list --explain= {_CARGO}",
        starts="--config= -Z: -C:",
        writes="--target-dir= --manifest-path= --out-dir= --artifact-dir= --lockfile-path=",
        inherits=True,
        commands=(
            Program(
                names="build b check c clippy test t bench doc d fmt clean tree metadata fetch update search info version add "
                "remove rm generate-lockfile verify-project",
                operands=_PURPOSE,
            ),
            Program(names="run r", operands=Operands.SCRIPT),
            Program(names="install uninstall publish login owner yank", operands=_ASK),
        ),
    ),
    # Compilers take programs, plugins and outputs by dozens of options.
    Program(names="rustc clang gcc cc g++ c++ clang++ tcc ld", operands=_ASK, safe="--version --help -v -V"),
    _scripts("npm"),
    _scripts("pnpm"),
    _scripts("yarn"),
    Program(
        names="npx bunx pnpx",
        safe="-yq --yes --no --no-install --quiet --version --help -h",
        starts="-c: --call= -p: --package= --shell= --node-options=",
        operands=_COMMAND,
    ),
    Program(names="corepack", operands=_COMMAND),
    Program(
        names="pip pip3",
        safe=f"{_ANSWERS} -q --quiet --verbose --isolated --disable-pip-version-check --no-input --no-color --timeout= "
        "--retries=",
        starts="--python= --proxy= --config-settings=",
        writes="--log= --cache-dir=",
        inherits=True,
        commands=(
            Program(
                names="list show freeze check search index debug help inspect",
                safe="-o -u -e -l -f --outdated --uptodate --editable --local --user --format= --not-required --files --all "
                "--exclude=",
            ),
            # Building a package runs its code, and an index or a target is another place.
            Program(
                names="install uninstall download wheel",
                safe="-U -y --upgrade --yes --no-deps --pre --user --dry-run --require-hashes --no-cache-dir --only-binary= "
                "--no-build-isolation -r: --requirement= -c: --constraint= -e: --editable= --force-reinstall "
                "--upgrade-strategy=",
                operands=_PURPOSE,
                starts="-i: --index-url= --extra-index-url= -f: --find-links= --trusted-host= -C: --config-settings= "
                "--global-option= --build-option= --no-index --use-pep517",
                writes="-t: --target= --prefix= --root= --src= -d: --dest= -w: --wheel-dir= --report= --break-system-packages",
            ),
            Program(names="config cache completion hash", operands=_ASK),
        ),
    ),
    Program(
        names="pipx",
        commands=(
            Program(names="list environment", safe="--json --short"),
            Program(names="run runpip", operands=_COMMAND),
            Program(names="install inject upgrade uninstall", operands=_ASK),
        ),
    ),
    Program(
        names="uvx",
        safe="-q -v --version --help",
        starts="--from= --with= -p: --python= --index= --default-index=",
        operands=_COMMAND,
    ),
    Program(
        names="uv",
        safe=f"{_ANSWERS} -q -n --quiet --verbose --offline --no-cache --no-progress --color= --frozen --locked",
        starts="--python= -p: --index= --default-index= --index-url= --extra-index-url= --find-links= --config-file= "
        "--config-setting= --with= --with-editable= --with-requirements= --env-file= --native-tls "
        "--allow-insecure-host=",
        writes="--project= --directory= --cache-dir= --target= --prefix= -o: --output-file= --out-dir=",
        inherits=True,
        commands=(
            Program(
                names="run",
                safe="--extra= --all-extras --group= --no-group= --dev --no-dev --isolated --no-sync --no-project --exact "
                "--active",
                starts="-m: --module= -s --script --gui-script",
                operands=_COMMAND,
            ),
            Program(
                names="tool",
                commands=(
                    Program(names="list dir"),
                    Program(names="run", operands=_COMMAND),
                    Program(names="install upgrade uninstall", operands=_ASK),
                ),
            ),
            Program(
                names="sync lock tree version help",
                operands=_READ,
                safe="--extra= --all-extras --group= --dev --no-dev --upgrade -U --check --depth= --inexact "
                "--no-install-project --all-groups",
            ),
            Program(
                names="add remove",
                operands=_PURPOSE,
                safe="--dev --group= --optional= --no-sync --raw",
                starts="--script= -r: --requirements= --bounds=",
            ),
            Program(
                names="pip",
                commands=(
                    Program(names="list show freeze check tree", safe="--outdated --format= --editable --strict -v"),
                    Program(
                        names="install uninstall sync compile",
                        operands=_PURPOSE,
                        safe="-r: -c: -U --upgrade --no-deps --dry-run -e: --strict",
                    ),
                ),
            ),
            Program(names="build", operands=_ASK),
            Program(names="python venv init cache self publish format", operands=_ASK),
        ),
    ),
    Program(
        names="poetry pipenv",
        safe=f"{_ANSWERS} -q -n --quiet --no-interaction --no-ansi",
        starts="-P: --project=",
        writes="-C: --directory=",
        commands=(
            Program(
                names="install lock check show update add remove",
                operands=_PURPOSE,
                safe="--no-root --sync --with= --without= --only= -E: --extras= --all-extras --dev -G: --group= --tree "
                "--latest --outdated --dry-run --no-dev -D",
                starts="--source=",
            ),
            Program(names="run shell self config", operands=_COMMAND),
            Program(names="version env", operands=_READ, safe="-s --short"),
        ),
    ),
    # -f, -C and --eval bring other rules; NAME=value overrides SHELL, CC or any variable.
    Program(
        names="make gmake",
        safe=f"{_ANSWERS} -bBdikKnqrRsStw -j? -l? --always-make --ignore-errors --jobs? --keep-going --dry-run "
        "--just-print --question --silent --quiet --trace --version --no-print-directory --print-directory "
        "--output-sync? --warn-undefined-variables",
        starts="-f: --file= --makefile= -E: --eval= -I: --include-dir= -e --environment-overrides --shell=",
        writes="-C: --directory= -o: --old-file= -W: --what-if=",
        operands=_PURPOSE,
        check="plain_target",
    ),
    Program(
        names="ninja just task",
        safe="-n -v -q --version --help --list --summary --dry-run --quiet --verbose",
        operands=_PURPOSE,
        check="plain_target",
    ),
    Program(
        names="cmake ctest cpack",
        safe=f"{_ANSWERS} -N -L --build= --target= -t: --parallel? -j? --config= --verbose --clean-first "
        "--list-presets? --preset= --output-on-failure -R: -E: --test-dir=",
        starts="-P: -C: -D: -E: -G: -T: --toolchain= --find-package --open= --trace-source= -S: --build-run-dir= "
        "--workflow --build-and-test --",
        writes="-B: --install= --install-prefix= --prefix= -U: --graphviz= --profiling-output=",
        operands=_ASK,
    ),
    Program(
        names="meson bazel buck pants scons rake ant sbt lein mix rebar3 dune stack cabal zig gem bundle composer",
        operands=_ASK,
        safe=f"{_ANSWERS}",
    ),
    Program(
        names="gradle gradlew mvn mvnw",
        long_dash=True,
        safe=f"{_ANSWERS} -q -U -o -B -e -X -T: -pl: --offline --quiet --info --stacktrace --console= --batch-mode "
        "--no-daemon --daemon --parallel --continue --rerun-tasks --dry-run",
        starts="-I: --init-script= -b: --build-file= -c: --settings-file= -f: --file= -s: --settings= -gs: "
        "--global-settings= --system-prop= --project-prop= -t: --toolchains= -m",
        writes="-p: --project-dir= -g: --gradle-user-home= --project-cache-dir= -l: --log-file=",
        operands=_PURPOSE,
    ),
    Program(
        names="prettier",
        safe=f"{_ANSWERS} -c -l -w -u --check --list-different --write --ignore-unknown --log-level= --loglevel= --no-color",
        operands=_PURPOSE,
        starts="--config= --plugin= --parser= --config-path= --ignore-path=",
    ),
    # Test runners and linters run the project's code and configuration; plugins and other configurations are asked.
    Program(
        names="pytest py.test",
        safe=f"-qvxsl -k: -m: -r? -n: -h {_ANSWERS} --quiet --verbose --exitfirst --maxfail= --tb= --lf --ff "
        "--last-failed --failed-first --collect-only --co --durations= --no-header --cov? --cov-report= --no-cov "
        "-W: --strict-markers --strict-config --sw --stepwise --color= --capture= --disable-warnings --markers "
        "--fixtures --timeout= --ignore= --deselect= --showlocals -l",
        starts="-p: -c: --config-file= --confcutdir= -o: --override-ini= --pyargs --pdb --pdbcls= --trace --import-mode=",
        writes="--basetemp= --junitxml= --junit-xml= --rootdir= --log-file= --debug? --resultlog= --pastebin= "
        "--cov-config= --html=",
        operands=_PURPOSE,
    ),
    Program(
        names="ruff black isort flake8 mypy pyright pylint eslint tsc jest vitest mocha biome stylelint shellcheck rubocop",
        operands=_PURPOSE,
        safe=f"{_ANSWERS} -q --check --fix --diff --quiet --verbose --watch --noEmit --list-different --write --strict "
        "--ignore= --select= --exclude= --line-length= --color? --ext= --coverage --ci --run --bail? --silent "
        "--format= --max-warnings= --skipLibCheck --pretty --statistics",
        starts="-c: -m: --config= --config-file= --plugin= --plugin-search-dir= --resolve-plugins-relative-to= -r: "
        "--require= --rulesdir= --formatter= --transform= --globalSetup= --setupFiles= --env= --runner= "
        "--reporter= --python-executable= --custom-typeshed-dir= -p: --project= --parser= --init-hook= "
        "--load-plugins= --shadow-file=",
        writes="-o: --output-file= --outDir= --outFile= --output= --cache-dir= --cache-location= --tsBuildInfoFile= "
        "--junit-xml= --html-report= --declarationDir= --rootDir= --coverageDirectory= --cacheDirectory=",
    ),
)
