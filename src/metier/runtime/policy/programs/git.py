"""git: its subcommands, and the many options by which it starts programs or writes files.

Hooks, aliases, drivers and pagers of the repository's configuration run with every git command, so allowing git is trusting the
configuration of the repository. What a command line can add to that is asked: `-c`, `--exec`, `-O`, `--upload-pack`, other folders.
"""

from __future__ import annotations

from .program import Operands, Program

__all__ = ["GIT"]

_DIFF = (
    "-p -u -s -U: -z -w -b -R -a -M? -B? -C? -D -W -S: -G: -l: -q --patch --no-patch --unified= --raw "
    "--patch-with-raw --indent-heuristic --no-indent-heuristic --minimal --patience --histogram --anchored= "
    "--diff-algorithm= --stat? --compact-summary --numstat --shortstat --dirstat? --cumulative --summary "
    "--patch-with-stat --name-only --name-status --submodule? --color? --no-color --color-moved? "
    "--no-color-moved --word-diff? --word-diff-regex= --color-words? --no-renames --rename-empty --check "
    "--ws-error-highlight= --full-index --binary --abbrev? --break-rewrites? --find-renames? --find-copies? "
    "--find-copies-harder --irreversible-delete --diff-filter= --pickaxe-all --pickaxe-regex --relative? "
    "--no-relative --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space "
    "--ignore-blank-lines --ignore-matching-lines= --inter-hunk-context= --function-context --exit-code "
    "--quiet --no-ext-diff --no-textconv --ignore-submodules? --src-prefix= --dst-prefix= --no-prefix "
    "--default-prefix --line-prefix= --cached --staged --merge-base --no-index --ita-invisible-in-index"
)
_LOG = (
    "-n: -i -E -F -P -g -t -c -m -0123456789 -L: --follow --no-decorate --decorate? --decorate-refs= "
    "--source --mailmap --log-size --max-count= --skip= --since= --after= --until= --before= --author= "
    "--committer= --grep-reflog= --grep= --all-match --invert-grep --regexp-ignore-case --basic-regexp "
    "--extended-regexp --fixed-strings --perl-regexp --merges --no-merges --min-parents= --max-parents= "
    "--first-parent --not --all --branches? --tags? --remotes? --glob= --exclude= --reflog --boundary "
    "--cherry-pick --cherry-mark --cherry --left-only --right-only --left-right --walk-reflogs --merge "
    "--oneline --graph --no-graph --show-linear-break? --pretty? --format= --abbrev-commit "
    "--no-abbrev-commit --encoding= --date= --date-order --author-date-order --topo-order --reverse "
    "--no-walk? --simplify-by-decoration --full-history --dense --sparse --simplify-merges --ancestry-path? "
    "--parents --children --relative-date --show-signature --notes? --no-notes --cc -e --no-mailmap "
    "--expand-tabs? --no-expand-tabs --show-pulls --clear-decorations --numbered --summary"
)
_OUTPUT = "--output="
_PROGRAMS = "--ext-diff --textconv"
_COMMON = "-v -q -n --verbose --quiet --dry-run --progress --no-progress"


def _read(names: str, safe: str = "", **more: str) -> Program:
    return Program(names=names, safe=f"{_DIFF} {_LOG} {safe}", writes=_OUTPUT, starts=f"{_PROGRAMS} {more.get('starts', '')}")


def _change(names: str, safe: str = "", *, starts: str = "", writes: str = "", most: int = 1_000, same: str = "") -> Program:
    return Program(
        names=names,
        safe=f"{_COMMON} {safe}",
        starts=starts,
        writes=writes,
        operands=Operands.PURPOSE,
        most=most,
        check="git_operand",
        same=same,
    )


def _sub(names: str, safe: str = "") -> Program:
    return Program(names=names, safe=f"{_COMMON} {safe}", operands=Operands.PURPOSE, check="git_operand")


GIT = (
    Program(
        names="git",
        safe="-h -v -P --version --help --no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs "
        "--no-replace-objects",
        # Another folder has another configuration, and -c sets any part of it.
        writes="-C: --git-dir= --work-tree= --namespace=",
        starts="-c: -p --paginate --config-env= --exec-path?",
        commands=(
            _read("log show diff whatchanged shortlog reflog", "--summary --email"),
            _read("diff-tree diff-index diff-files", "-r --root --stdin"),
            _read("range-diff", "--creation-factor= --no-dual-color"),
            Program(
                names="status",
                safe="-s -b -v -u? -z --short --branch --show-stash --porcelain? --long --verbose --untracked-files? "
                "--ignored? --ignore-submodules? --column? --no-column --ahead-behind --no-ahead-behind --renames "
                "--no-renames",
            ),
            Program(
                names="rev-parse rev-list",
                safe=f"{_LOG} -q --verify --quiet --short? --abbrev-ref? --symbolic --symbolic-full-name --show-toplevel "
                "--show-prefix --show-cdup --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree "
                "--is-bare-repository --is-inside-git-dir --count --objects --show-current --default= --sq "
                "--local-env-vars",
            ),
            Program(
                names="cat-file ls-tree ls-files show-ref for-each-ref name-rev describe merge-base check-ignore var "
                "count-objects show-branch cherry blame annotate verify-commit verify-tag",
                safe="-a -b -c -d -e -f -i -k -l -m -n -o -p -r -s -t -u -w -z -L: -v -q -h --all --tags --heads --refs "
                "--count= --sort= --format= --cached --deleted --modified --others --ignored --stage --unmerged "
                "--full-name --exclude-standard --abbrev? --name-only --name-status --long --always --dirty? --contains "
                "--candidates= --match= --exact-match --first-parent --porcelain --line-porcelain --is-ancestor "
                "--octopus --fork-point --verify --quiet --points-at= --merged? --no-merged? --contains? --show-email "
                "--incremental --since= --date= --batch --batch-check --error-unmatch --eol --symref --non-matching "
                "--no-index --verbose --human-readable --get-url --exit-code",
                starts="--upload-pack= --exec= --textconv --filters --web -x: -O?",
            ),
            Program(
                names="ls-remote",
                safe="-q -t -h --heads --tags --refs --branches --symref --sort= --get-url --exit-code --quiet",
                starts="--upload-pack= --exec= -o: --server-option=",
                check="git_operand",
            ),
            # -w and -i start a browser.
            Program(names="help version", safe="-a -g --all --guides --build-options", starts="-w -i -m --web --info --man"),
            Program(
                names="grep",
                safe="-a -I -i -w -v -h -H -E -G -P -F -n -l -L -z -c -p -W -q -r -f: -e: -A: -B: -C: -m: --text "
                "--ignore-case --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp "
                "--fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null "
                "--only-matching --count --color? --no-color --break --heading --show-function --context= "
                "--after-context= --before-context= --function-context --threads= --and --or --not --all-match --quiet "
                "--max-depth= --recursive --cached --untracked --no-index --exclude-standard --max-count= -o",
                starts="-O? --open-files-in-pager? --textconv --ext-grep",
            ),
            _change(
                "add stage",
                "-f -i -p -e -u -A -N --all --update --force --intent-to-add --patch --interactive --refresh "
                "--ignore-errors --ignore-missing --renormalize --chmod= --no-all --sparse",
                same="-A/--all -f/--force",
            ),
            _change(
                "commit",
                "-a -p -s -e -i -o -z -C: -c: -F: -m: -t: -u? -S? --all --patch --reuse-message= --reedit-message= "
                "--fixup= --squash= --reset-author --short --branch --porcelain --long --null --file= --author= --date= "
                "--message= --template= --signoff --no-signoff --trailer= --no-verify --allow-empty "
                "--allow-empty-message --cleanup= --edit --no-edit --amend --no-post-rewrite --include --only "
                "--pathspec-from-file= --untracked-files? --status --no-status --gpg-sign? --no-gpg-sign",
                same="-n/--no-verify -a/--all -m/--message",
            ),
            _change(
                "push",
                "-f -u -d -4 -6 --all --branches --prune --mirror --delete --tags --follow-tags --atomic --force "
                "--force-with-lease? --force-if-includes --set-upstream --thin --no-thin --no-verify --porcelain "
                "--signed? -o: --push-option= --recurse-submodules= --ipv4 --ipv6",
                starts="--receive-pack= --exec= --repo=",
                same="-f/--force -d/--delete -u/--set-upstream -n/--dry-run",
            ),
            _change(
                "fetch pull",
                "-a -f -k -p -t -j: -4 -6 -r? -P --all --append --atomic --depth= --deepen= --shallow-since= "
                "--shallow-exclude= --unshallow --update-shallow --force --keep --prune --prune-tags --no-tags --tags "
                "--recurse-submodules? --no-recurse-submodules --jobs= --rebase? --no-rebase --ff --no-ff --ff-only "
                "--autostash --no-autostash --squash --no-squash --no-edit --edit --commit --no-commit --stat --no-stat "
                "--set-upstream --allow-unrelated-histories --no-verify --verify --refmap= -X: --strategy-option= --ipv4 "
                "--ipv6 -S? --filter=",
                starts="--upload-pack= -u -s: --strategy=",
                same="-f/--force",
            ),
            # The second operand is the folder that is created.
            _change(
                "clone",
                "-l -s -b: -o: -j: --local --no-hardlinks --shared --reference= --no-checkout --bare --mirror --origin= "
                "--branch= --depth= --shallow-since= --single-branch --no-single-branch --no-tags --recurse-submodules? "
                "--jobs= --filter= --sparse --shallow-submodules -4 -6",
                starts="-u: --upload-pack= -c: --config= --template=",
                writes="--separate-git-dir=",
                most=1,
            ),
            _change(
                "init",
                "-b: --bare --initial-branch= --shared? --object-format=",
                starts="--template=",
                writes="--separate-git-dir=",
                most=0,
            ),
            _change(
                "checkout switch restore",
                "-b: -B: -c: -C: -f -l -d -t -m -p -s: -S -W --ours --theirs --track? --no-track --detach --orphan= "
                "--create= --force-create= --discard-changes --force --merge --conflict= --patch --source= --staged "
                "--worktree --guess --no-guess --overlay --no-overlay --ignore-skip-worktree-bits --recurse-submodules "
                "--ignore-unmerged",
                same="-f/--force",
            ),
            _change(
                "branch",
                "-a -r -l -d -D -m -M -c -C -f -t -u: -vv --all --remotes --list --delete --move --copy --force --track? "
                "--no-track --set-upstream-to= --unset-upstream --show-current --contains --no-contains --merged? "
                "--no-merged? --sort= --points-at= --format= --column? --no-column --color? --no-color --abbrev? "
                "--no-abbrev --create-reflog --ignore-case -i",
                same="-d/-D/--delete -f/--force -m/-M/--move",
            ),
            _change(
                "tag",
                "-a -s -f -d -l -i -m: -F: -u: -n? -e --annotate --sign --no-sign --local-user= --force --delete --list "
                "--message= --file= --cleanup= --sort= --contains --no-contains --merged? --no-merged? --points-at= "
                "--format= --column? --create-reflog --verify --trailer=",
                same="-d/--delete -f/--force",
            ),
            _change(
                "merge cherry-pick revert",
                "-e -m: -X: -x -S? --no-edit --edit --commit --no-commit --ff --no-ff --ff-only --squash --no-squash "
                "--stat --no-stat --log? --signoff --strategy-option= --abort --continue --quit --skip --mainline= "
                "--allow-empty --allow-unrelated-histories --autostash --no-verify -F: -m: --message= --into-name= "
                "--verify-signatures",
                # A strategy is a program `git-merge-NAME`.
                starts="-s: --strategy=",
            ),
            _change(
                "rebase",
                "-i -m -k -C: -S? -f -X: --onto= --interactive --continue --skip --abort --quit --edit-todo "
                "--show-current-patch --autosquash --no-autosquash --autostash --no-autostash --keep-empty "
                "--no-keep-empty --empty= --root --signoff --stat --no-stat --rebase-merges? --update-refs --fork-point "
                "--no-fork-point --strategy-option= --force-rebase --no-ff --reset-author-date "
                "--committer-date-is-author-date --no-verify --apply --merge",
                starts="-x: --exec= -s: --strategy=",
                same="-x/--exec -i/--interactive",
            ),
            _change("reset", "-p -N --soft --mixed --hard --merge --keep --patch --pathspec-from-file= --no-refresh --refresh"),
            _change("rm mv", "-r -f -k --cached --force --ignore-unmatch --sparse", same="-f/--force"),
            _change("clean", "-d -f -i -x -X -e: --force --interactive --exclude=", same="-f/--force"),
            Program(
                names="stash",
                safe=f"{_DIFF} {_COMMON} -k -u --keep-index --no-keep-index --include-untracked --all --index -m: --message= "
                "-S --staged",
                operands=Operands.PURPOSE,
                writes=_OUTPUT,
                starts=_PROGRAMS,
            ),
            Program(
                names="remote",
                safe="-v --verbose",
                operands=Operands.PURPOSE,
                commands=(
                    _sub("show get-url prune update rename remove rm set-head set-branches", "--all --push -a -d --add --auto"),
                    _sub("add set-url", "-f -t: -m: --tags --no-tags --mirror= --push --add --delete"),
                ),
            ),
            Program(names="notes", commands=(_sub("list show"),)),
            Program(
                names="worktree", commands=(_sub("list", "--porcelain -z"), _sub("prune lock unlock", "--expire= --reason="))
            ),
            Program(names="bundle", commands=(_sub("verify list-heads"),)),
            # Most keys name a program, a folder or a remote.
            Program(
                names="config",
                safe="-l -z --local --list --get --get-all --get-regexp --show-origin --show-scope --name-only --all --regexp "
                "--default= --type= --null --bool --int --add --unset --unset-all --replace-all",
                starts="-e --edit",
                writes="-f: --file= --blob= --global --system --worktree",
                operands=Operands.PURPOSE,
                check="git_config",
            ),
            Program(
                names="submodule", commands=(Program(names="status summary", safe="-q --cached --files --recursive --quiet"),)
            ),
            Program(
                names="bisect",
                commands=(_sub("start bad good new old skip reset log visualize terms next", "--no-checkout --first-parent"),),
            ),
            _change(
                "apply am",
                "-3 -R -v -p: -C: --stat --numstat --summary --check --index --cached --3way --reverse --reject -z "
                "--recount --whitespace= --allow-empty --abort --continue --skip --quit --show-current-patch? -s "
                "--signoff --keep-cr --include= --exclude=",
            ),
            _change(
                "gc fsck prune pack-refs repack",
                "--auto --aggressive --all --prune? --no-prune --full --strict --lost-found --unreachable -a -d -f",
            ),
            _change(
                "format-patch",
                "-k -s -N -v: -0123456789 --stdout --cover-letter --signoff --numbered --start-number= --subject-prefix= "
                "--base= --thread? --zero-commit",
                writes="-o: --output-directory= --output=",
            ),
            Program(
                names="archive",
                safe="-l -v --list --format= --prefix= --verbose -0123456789 --worktree-attributes",
                writes="-o: --output= --add-file=",
                starts="--exec= --remote=",
            ),
        ),
    ),
    # Repository viewers start git, and git-lfs filters are git configuration.
    Program(names="gitk tig git-lfs", operands=Operands.ASK),
)
