"""The program behind the file tools. It runs inside the sandbox, so that it sees exactly what a script sees.

One JSON request on standard input, one JSON reply on standard output. Only the standard library, and few modules of it: the
start of the interpreter is most of the cost of a call. Files are listed and searched by ripgrep if it is there, else by the
code below, with the same results: hidden files, ignored files (.gitignore, .ignore, .rgignore) and binary files are skipped.
"""

from __future__ import annotations

import json
import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Request = dict[str, Any]  # Any: JSON that metier has checked
    Rule = tuple[str, re.Pattern[str], bool, bool]
    """The folder of the rule, its pattern, and whether it is negated and only for folders."""

IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
"""In order of precedence, the last one first."""
LONGEST_LINE = 1000
BINARY_PREFIX = 65536
LARGEST_EDIT = 32 * 1024 * 1024


class FileProblemError(Exception):
    """A failure that the model can act on: a sentence and a hint."""


def main() -> None:
    request = json.loads(sys.stdin.buffer.read())
    try:
        reply = ACTIONS[request["do"]](request)
    except FileProblemError as problem:
        reply = {"problem": problem.args[0], "hint": problem.args[1]}
    except FileNotFoundError:
        reply = {"problem": f"{request.get('path', '')!r} does not exist", "hint": "list_files shows what is there"}
    except IsADirectoryError:
        reply = {"problem": f"{request.get('path', '')!r} is a folder", "hint": "list_files lists it"}
    except OSError as error:
        reply = {
            "problem": f"{request.get('path', '')!r}: {(error.strerror or str(error)).lower()}",
            "hint": "try another path",
        }
    sys.stdout.buffer.write(json.dumps(reply, ensure_ascii=True).encode())


def list_files(request: Request) -> Request:
    """Files below a folder, by path, with their sizes. One more than wanted is looked for, to know if there are more."""
    offset, limit = request["offset"], request["limit"]
    found: list[list[object]] = []
    for place, path in enumerate(each_file(request)):
        if place >= offset + limit:
            return {"files": found, "more": True}
        if place >= offset:
            try:
                size = os.stat(path, follow_symlinks=False).st_size
            except OSError:
                size = 0
            found.append([path, size])
    return {"files": found, "more": False}


def read_file(request: Request) -> Request:
    """Lines from `offset` on, numbered from 1, as many as fit into `characters`."""
    path, first, limit, left = request["path"], request["offset"], request["limit"], request["characters"]
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if b"\0" in file.read(BINARY_PREFIX):
            raise FileProblemError(
                f"{path!r} is not text ({size:,} bytes{picture_size(path)})", "use it in a command or in code"
            )
        file.seek(0)
        lines: list[str] = []
        number, is_cut = 0, False
        for data in file:
            number += 1
            if number < first:
                continue
            if len(lines) >= limit or left <= 0:
                is_cut = True
                break
            text = data.decode("utf-8", "replace").rstrip("\r\n")
            if number == 1:
                text = text.lstrip("\ufeff")
            if len(text) > left or len(text) > LONGEST_LINE * 20:
                kept = min(left, LONGEST_LINE * 20)
                text = f"{text[:kept]} [… {len(text) - kept:,} more characters in this line]"
            left -= len(text)
            lines.append(text)
    if not lines and number and first > number:
        raise FileProblemError(f"{path!r} has {number:,} lines", f"start at line {number} or before")
    return {"lines": lines, "size": size, "more": is_cut}


def picture_size(path: str) -> str:
    with open(path, "rb") as file:
        head = file.read(32)
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return f", PNG of {int.from_bytes(head[16:20], 'big')} x {int.from_bytes(head[20:24], 'big')} pixels"
    return ""


def write_file(request: Request) -> Request:
    path = request["path"]
    data = request["content"].encode("utf-8", "surrogatepass")
    if os.path.isdir(path):
        raise FileProblemError(f"{path!r} is a folder", "name a file")
    existed = os.path.lexists(path)
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    replace_file(path, data)
    return {"size": len(data), "created": not existed}


def edit_file(request: Request) -> Request:
    """Replaces a text that occurs exactly once, or everywhere with `all`."""
    path, old, new = request["path"], request["old"], request["new"]
    if os.path.getsize(path) > LARGEST_EDIT:
        raise FileProblemError(f"{path!r} is larger than {LARGEST_EDIT:,} bytes", "change it with a command")
    with open(path, "rb") as file:
        data = file.read()
    if b"\0" in data[:BINARY_PREFIX]:
        raise FileProblemError(f"{path!r} is not text", "change it with a command")
    text = data.decode("utf-8", "surrogateescape")
    before, after = next((each for each in spellings(text, old, new) if each[0] in text), ("", ""))
    count = text.count(before) if before else 0
    if not count:
        raise FileProblemError(f"the text to replace is not in {path!r}", near_miss(text, old))
    if count > 1 and not request["all"]:
        lines = [text.count("\n", 0, found.start()) + 1 for found in re.finditer(re.escape(before), text)]
        shown = ", ".join(map(str, lines[:10])) + (", …" if len(lines) > 10 else "")
        raise FileProblemError(
            f"the text to replace is {count} times in {path!r} (lines {shown})",
            "give more of the lines around it, or set replace_all",
        )
    line = text.count("\n", 0, text.index(before)) + 1
    changed = text.replace(before, after).encode("utf-8", "surrogateescape")
    replace_file(path, changed)
    return {"count": count, "line": line, "size": len(changed)}


def spellings(text: str, old: str, new: str) -> Iterator[tuple[str, str]]:
    """The replacement as given; with the line ends of the file; and with the marks that our replies escape put back."""
    yield old, new
    if "\r\n" in text and "\r\n" not in old:
        yield old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    plain = unescape(old)
    if plain != old:
        yield plain, unescape(new)


def unescape(text: str) -> str:
    return re.sub(r"&#(\d{1,7});", lambda found: chr(int(found[1])), text.replace("&lt;", "<"))


def near_miss(text: str, old: str) -> str:
    """A hint where the text stands if only its spaces differ."""
    words = old.split()
    if not words or len(words) > 2000:
        return "read the file again and copy the text exactly"
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    if found:
        return f"line {text.count(chr(10), 0, found.start()) + 1} has it with other spaces; copy it exactly"
    return "read the file again and copy the text exactly"


def replace_file(path: str, data: bytes) -> None:
    """Writes a new file beside it and renames: a stopped run leaves the old or the new content. Keeps mode and links."""
    target = os.path.realpath(path)
    mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else None
    beside = f"{target}.metier-{os.getpid()}"
    try:
        with open(beside, "xb") as file:
            file.write(data)
        if mode is not None:
            os.chmod(beside, mode)
        os.rename(beside, target)
    except BaseException:
        try:
            os.unlink(beside)
        except OSError:
            pass
        raise


def search(request: Request) -> Request:
    """Rows of path, line number, `:` for a match or `-` for context, and text; or only paths or counts."""
    offset, limit = request["offset"], request["limit"]
    rows: list[list[object]] = []
    for place, row in enumerate((search_with_ripgrep if ripgrep() else search_by_walk)(request)):
        if place >= offset + limit:
            return {"rows": rows, "more": True}
        if place >= offset:
            rows.append(row)
    return {"rows": rows, "more": False}


def search_with_ripgrep(request: Request) -> Iterator[list[object]]:
    words = ["--json", "--crlf", *common_options(request), *case_options(request)]
    words += ["--fixed-strings"] if request["literal"] else []
    words += ["--context", str(request["context"])] if request["output"] == "lines" else []
    words += ["--regexp", request["pattern"], "--", request["path"] or "./"]
    count = 0
    with RipgrepOutput(words) as lines:
        for line in lines:
            event = json.loads(line)
            kind, data = event["type"], event["data"]
            if kind == "begin":
                count = 0
            elif kind == "end":
                if data.get("binary_offset") is None and count:
                    if request["output"] == "files":
                        yield [text_of(data["path"])]
                    elif request["output"] == "counts":
                        yield [text_of(data["path"]), count]
            elif kind in ("match", "context"):
                count += kind == "match"
                if request["output"] == "lines":
                    text = text_of(data["lines"]).rstrip("\r\n")
                    yield [text_of(data["path"]), data["line_number"], ":" if kind == "match" else "-", shorten(text)]


def text_of(value: dict[str, str]) -> str:
    """ripgrep sends what is not UTF-8 as base64."""
    if "text" in value:
        return value["text"].removeprefix("./") if value["text"].startswith("./") else value["text"]
    from base64 import b64decode

    return b64decode(value["bytes"]).decode("utf-8", "replace").removeprefix("./")


def search_by_walk(request: Request) -> Iterator[list[object]]:
    pattern = request["pattern"]
    flags = re.IGNORECASE if case_options(request) == ["--ignore-case"] else 0
    try:
        found = re.compile(re.escape(pattern) if request["literal"] else pattern, flags)
    except re.error as error:
        raise FileProblemError(
            f"{pattern!r} is not a regular expression: {error}", "escape the special characters, or set literal"
        ) from None
    around = request["context"] if request["output"] == "lines" else 0
    for path in each_file(request):
        lines = text_lines(path)
        matches = [number for number, line in enumerate(lines) if found.search(line)]
        if not matches:
            continue
        if request["output"] == "files":
            yield [path]
        elif request["output"] == "counts":
            yield [path, len(matches)]
        else:
            hits = set(matches)
            shown = sorted({near for number in matches for near in range(number - around, number + around + 1)})
            for number in shown:
                if 0 <= number < len(lines):
                    yield [path, number + 1, ":" if number in hits else "-", shorten(lines[number])]


def text_lines(path: str) -> list[str]:
    """The lines of a text file; none of a binary, unreadable or special one."""
    try:
        if not os.path.isfile(path) or os.path.islink(path):
            return []
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return []
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode()
    if b"\0" in data:
        return []
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def shorten(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} [… {len(text) - LONGEST_LINE:,} more characters]"


def case_options(request: Request) -> list[str]:
    """Smart case, unless the request says: a pattern without capital letters matches any case."""
    if request["case"] == "smart":
        bare = re.sub(r"\\.", "", request["pattern"])
        return ["--ignore-case"] if bare == bare.lower() else ["--case-sensitive"]
    return ["--ignore-case" if request["case"] == "ignore" else "--case-sensitive"]


def each_file(request: Request) -> Iterator[str]:
    """Paths of the files below a folder, or the file itself, in the order of their names."""
    path = request["path"]
    if path and not os.path.lexists(path):
        raise FileNotFoundError(path)
    if ripgrep():
        with RipgrepOutput(["--files", *common_options(request), "--", path or "./"]) as lines:
            for line in lines:
                yield line.decode("utf-8", "replace").rstrip("\n").removeprefix("./")
    elif path and not os.path.isdir(path):
        yield path
    else:
        yield from walk(path, request)


def common_options(request: Request) -> list[str]:
    words = ["--no-config", "--no-messages", "--no-require-git", "--no-ignore-global", "--no-ignore-exclude", "--sort", "path"]
    words += ["--no-ignore-parent", "--hidden", "--glob", "!.git"] if request["hidden"] else ["--no-ignore-parent"]
    words += ["--no-ignore"] if request["ignored"] else []
    for glob in request["globs"]:
        words += ["--glob", glob]
    return words


def ripgrep() -> str:
    """The path of ripgrep on the PATH of the sandbox, or an empty text."""
    folders = os.environ.get("PATH", "").split(":")
    return next((f"{folder}/rg" for folder in folders if folder and os.access(f"{folder}/rg", os.X_OK)), "")


class RipgrepOutput:
    """Its output line by line. It is stopped when the caller has enough."""

    def __init__(self, words: list[str]) -> None:
        from subprocess import DEVNULL, PIPE, Popen

        self.process = Popen([ripgrep(), *words], stdout=PIPE, stderr=PIPE, stdin=DEVNULL)

    def __enter__(self) -> Iterable[bytes]:
        return self.process.stdout or ()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self.process.kill()
        said = self.process.communicate()[1].decode("utf-8", "replace")
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        if kind is None and self.process.returncode == 2 and lines:
            raise FileProblemError(" ".join(dict.fromkeys((lines[0], lines[-1]))), "correct the pattern or the glob")


def walk(top: str, request: Request) -> Iterator[str]:
    """Every file below a folder that is neither hidden nor ignored, in the order of names."""
    globs = [rule_of("", glob) for glob in request["globs"]]
    pending: list[tuple[str, list[Rule] | None]] = [(top.rstrip("/"), [])]
    while pending:
        path, above = pending.pop()
        if above is None:
            yield path
            continue
        try:
            entries = sorted(os.scandir(path or "."), key=lambda entry: os.fsencode(entry.name))
        except OSError:
            continue
        rules = above if request["ignored"] else [*above, *rules_of(path, {entry.name for entry in entries})]
        found: list[tuple[str, list[Rule] | None]] = []
        for entry in entries:
            below = f"{path}/{entry.name}" if path else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            is_hidden = entry.name.startswith(".") and not request["hidden"] and not is_picked(globs, below)
            if is_hidden or (entry.name == ".git" and request["hidden"]) or is_excluded(below, is_folder, globs, rules):
                continue
            if is_folder:
                found.append((below, rules))
            elif entry.is_file(follow_symlinks=False):
                found.append((below, None))
        pending.extend(reversed(found))


def is_excluded(path: str, is_folder: bool, globs: list[Rule], rules: list[Rule]) -> bool:
    """A glob of the request decides before the ignore files, as in ripgrep; the last one that fits wins."""
    for _, regex, is_negated, folders_only in reversed(globs):
        if (is_folder or not folders_only) and regex.fullmatch(path):
            return is_negated
    if not is_folder and any(not is_negated for _, _, is_negated, _ in globs):
        return True
    return is_ignored(path, is_folder, rules)


def is_picked(globs: Iterable[Rule], path: str) -> bool:
    """Returns True if a glob of the request names this path itself, which shows hidden files too."""
    return any(not is_negated and regex.fullmatch(path) for _, regex, is_negated, _ in globs)


def is_ignored(path: str, is_folder: bool, rules: list[Rule]) -> bool:
    for base, regex, is_negated, folders_only in reversed(rules):
        if folders_only and not is_folder:
            continue
        if regex.fullmatch(path[len(base) + 1 :] if base else path):
            return not is_negated
    return False


def rules_of(folder: str, names: set[str]) -> list[Rule]:
    """The rules of the ignore files in a folder, those of the weaker file first."""
    rules: list[Rule] = []
    for name in IGNORE_FILES:
        if name not in names:
            continue
        try:
            with open(f"{folder}/{name}" if folder else name, encoding="utf-8", errors="replace") as file:
                lines = file.read().removeprefix("\ufeff").splitlines()
        except OSError:
            continue
        kept = (re.sub(r"(?<!\\)\s+$", "", line) for line in lines if not line.startswith("#"))
        rules += [rule_of(folder, line) for line in kept if line]
    return rules


def rule_of(folder: str, line: str) -> Rule:
    """A line of a .gitignore: its pattern matches the path below the folder."""
    is_negated = line.startswith("!")
    glob = line[1:] if is_negated else line
    folders_only = glob.endswith("/")
    glob = glob.rstrip("/")
    regex = glob_regex(glob.removeprefix("/")) if "/" in glob else f"(?:.*/)?{glob_regex(glob)}"
    return folder, re.compile(regex, re.DOTALL), is_negated, folders_only


def glob_regex(glob: str) -> str:
    regex, place = "", 0
    while place < len(glob):
        rest = glob[place:]
        starts_part = place == 0 or glob[place - 1] == "/"
        if rest.startswith("**/") and starts_part:
            regex, place = f"{regex}(?:.*/)?", place + 3
        elif rest == "**" and starts_part:
            regex, place = f"{regex}.+", place + 2
        elif rest[0] == "*":
            regex, place = f"{regex}[^/]*", place + len(rest) - len(rest.lstrip("*"))
        elif rest[0] == "?":
            regex, place = f"{regex}[^/]", place + 1
        elif rest[0] == "{" and "}" in rest:
            end = rest.index("}")
            regex += "(?:" + "|".join(map(part_regex, rest[1:end].split(","))) + ")"
            place += end + 1
        elif rest[0] == "[" and "]" in rest[2:]:
            end = rest.index("]", 2)
            inside = rest[1:end].replace("\\", "\\\\")
            regex += "[" + (f"^/{inside[1:]}" if inside[0] in "!^" else inside) + "]"
            place += end + 1
        else:
            place += rest[0] == "\\" and len(rest) > 1
            regex, place = regex + re.escape(glob[place]), place + 1
    return regex


def part_regex(glob: str) -> str:
    return re.sub(r"\\\*+", "[^/]*", re.escape(glob)).replace(r"\?", "[^/]")


ACTIONS = {"list": list_files, "read": read_file, "search": search, "write": write_file, "edit": edit_file}

if __name__ == "__main__":
    main()
