# /// script
# requires-python = ">=3.9"
# dependencies = []
# ///
"""Summarise a table as JSON, or draw it as an SVG chart.

Every cell is kept as the text that stood in the file, and a column gets its type from all of its cells together: one
stray word must not turn a column of prices into text, and a column of postcodes must not turn into numbers. One file
and only the standard library, so that it also runs isolated (`python3 -I`) and alone.
"""

from __future__ import annotations

import argparse
import bisect
import csv
import io
import json
import math
import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, NoReturn
from xml.sax.saxutils import escape

OK, USAGE, UNREADABLE, EMPTY, UNWRITABLE = 0, 2, 3, 4, 5
MAX_BYTES = 100_000_000
MAX_COLUMNS = 1_000
SHOWN_COLUMNS = 40
MOST_SERIES = 8
MOST_DRAWN = 4_000
SHORT = 80
ENOUGH = 0.9
"""A column is numeric, or dates, when this share of its filled cells is. The rest is counted as invalid."""

EPILOG = """\
exit codes: 0 ok; 2 bad option or unknown column; 3 input cannot be read (missing, binary, malformed, too large);
            4 nothing to summarise or draw; 5 the chart cannot be written (exists without --force, no permission)

examples:
  python3 scripts/analyze.py summary sales.csv
  python3 scripts/analyze.py chart sales.csv --kind bar --x region --y revenue --output revenue.svg
  python3 scripts/analyze.py chart sales.csv --kind line --x date --y revenue --group region --output trend.svg
  python3 scripts/analyze.py chart people.json --kind histogram --x age --output ages.svg
"""


class AnalysisError(Exception):
    """A reason to stop: one sentence, and the exit code that goes with it."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


# --- reading --------------------------------------------------------------------------------------------------------


@dataclass
class Table:
    """Named columns of equal length; an empty string is a missing cell."""

    columns: dict[str, list[str]]
    format: str
    truncated: bool = False
    warnings: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def column(self, name: str) -> list[str]:
        if name not in self.columns:
            known = ", ".join(repr(column[:SHORT]) for column in list(self.columns)[:20])
            raise AnalysisError(f"there is no column {name!r}; the columns are {known}", USAGE)
        return self.columns[name]


def read_table(options: argparse.Namespace) -> Table:
    """Read the file that the options name, as the format they give or the one it looks like."""
    text, warnings = decode(read_bytes(options.file), options.file)
    if not text.strip():
        raise AnalysisError(f"{options.file!r} is empty", EMPTY)
    kind = options.format if options.format != "auto" else guess_format(options.file, text)
    if kind in ("json", "jsonl"):
        records = parse_json_lines(text, options.file) if kind == "jsonl" else parse_json(text, options)
        table = table_from_records(records, kind, options.max_rows)
    else:
        table = read_csv(text, kind, options)
    table.warnings[:0] = warnings
    if table.truncated:
        table.warnings.append(f"only the first {options.max_rows} rows were read; raise --max-rows to read more")
    if table.rows == 0:
        raise AnalysisError(f"{options.file!r} has no data rows", EMPTY)
    if len(table.columns) > MAX_COLUMNS:
        raise AnalysisError(
            f"{options.file!r} has {len(table.columns)} columns; at most {MAX_COLUMNS} work", UNREADABLE
        )
    return table


def read_bytes(path: str) -> bytes:
    try:
        if path == "-":
            if sys.stdin is None or sys.stdin.isatty():
                raise AnalysisError("- needs data on standard input", UNREADABLE)
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise AnalysisError(f"cannot read {path!r}: {reason}", UNREADABLE) from error
    if len(data) > MAX_BYTES:
        raise AnalysisError(f"{path!r} is larger than {MAX_BYTES // 10**6} MB; take a sample of it first", UNREADABLE)
    return data


def decode(data: bytes, path: str) -> tuple[str, list[str]]:
    """UTF-8 or UTF-16 with a mark, else Windows-1252 with a warning. Binary files are named as what they are."""
    signs = ((b"PK\x03\x04", "a zip archive or an Excel file"), (b"\x1f\x8b", "gzip data"), (b"%PDF", "a PDF"))
    kind = next((name for sign, name in signs if data.startswith(sign)), None)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16"), []
        except UnicodeDecodeError as error:
            raise AnalysisError(f"{path!r} is not valid UTF-16: {error.reason}", UNREADABLE) from error
    if kind or b"\0" in data:
        raise AnalysisError(f"{path!r} is {kind or 'binary data'}; convert it to CSV or JSON first", UNREADABLE)
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), ["the file is not UTF-8; it was read as Windows-1252"]


def guess_format(path: str, text: str) -> str:
    ending = "." + path.rpartition(".")[2].lower()
    known = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
    if ending in known:
        return known[ending]
    start = text.lstrip()[:1]
    if start == "{" and re.match(r"\s*\{.*\}\s*\n\s*\{", text[:100_000]):
        return "jsonl"
    return "json" if start in ("[", "{") else "csv"


def read_csv(text: str, kind: str, options: argparse.Namespace) -> Table:
    """Rows of any length: short ones are filled up, long ones cut, and both are counted."""
    delimiter = options.delimiter or ("\t" if kind == "tsv" else guess_delimiter(text))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    lines: list[list[str]] = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                lines.append(row)
            if len(lines) > options.max_rows + 1:
                break
    except csv.Error as error:
        raise AnalysisError(
            f"{options.file!r} is not valid CSV near line {reader.line_num}: {error}", UNREADABLE
        ) from error
    header = [f"column{at + 1}" for at in range(len(lines[0]))] if options.no_header else lines.pop(0)
    table = Table({}, "tsv" if delimiter == "\t" else "csv", truncated=len(lines) > options.max_rows)
    lines = lines[: options.max_rows]
    if text.count('"') % 2:
        table.warnings.append("a quotation mark is never closed; one cell may hold many rows")
    names = unique_names(header, table.warnings)
    if not options.no_header and header and all(parse_number(cell) is not None for cell in header):
        table.warnings.append("the first row holds only numbers; pass --no-header if it is data")
    ragged = sum(len(row) != len(names) for row in lines)
    if ragged:
        table.warnings.append(f"{ragged} rows do not have {len(names)} cells; they were filled up or cut")
    for at, name in enumerate(names):
        table.columns[name] = [clean(row[at]) if at < len(row) else "" for row in lines]
    return table


def guess_delimiter(text: str) -> str:
    """The one that splits the first lines into the most columns, equally often in most lines."""
    sample = text[:50_000].splitlines(keepends=True)[:30]

    def score(delimiter: str) -> tuple[float, int]:
        try:
            widths = Counter(len(row) for row in csv.reader(sample, delimiter=delimiter) if row)
        except csv.Error:
            return (0.0, 0)
        width, times = max(widths.items(), key=lambda item: item[1], default=(1, 0))
        return (times / max(sum(widths.values()), 1) if width > 1 else 0.0, width)

    return max((",", ";", "\t", "|"), key=score)


def unique_names(header: Sequence[str], warnings: list[str]) -> list[str]:
    names: list[str] = []
    for at, raw in enumerate(header):
        wanted = raw.strip() or f"column{at + 1}"
        name, number = wanted, 2
        while name in names:
            name, number = f"{wanted}_{number}", number + 1
        if name != wanted:
            warnings.append(f"the column name {wanted[:SHORT]!r} is used twice; the later one is now {name[:SHORT]!r}")
        names.append(name)
    return names


MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "--", "#n/a", "inf", "-inf"})


def clean(text: str) -> str:
    stripped = text.strip()
    return "" if stripped.lower() in MISSING else stripped


def parse_json(text: str, options: argparse.Namespace) -> list[Any]:
    """The list of records: the document itself, the list at --path, or the only list in an object."""
    try:
        found = json.loads(text)
    except RecursionError as error:
        raise AnalysisError(f"{options.file!r} nests too deeply", UNREADABLE) from error
    except ValueError as error:
        raise AnalysisError(f"{options.file!r} is not valid JSON: {error}", UNREADABLE) from error
    for step in filter(None, (options.path or "").split(".")):
        if not isinstance(found, dict) or step not in found:
            raise AnalysisError(f"--path {options.path!r}: there is no {step!r}", USAGE)
        found = found[step]
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        if len(lists) == 1 and all(isinstance(item, dict) for item in lists[0]):
            return lists[0]
        if lists and len(lists) == len(found) and len({len(value) for value in lists}) == 1:
            return [dict(zip(found, row)) for row in zip(*lists)]
        return [found]
    return found if isinstance(found, list) else [found]


def parse_json_lines(text: str, path: str) -> list[Any]:
    records = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise AnalysisError(f"{path!r} is not valid JSON on line {number}: {error}", UNREADABLE) from error
    return records


def table_from_records(records: Sequence[Any], kind: str, max_rows: int) -> Table:
    """Objects become rows, nested objects dotted columns; lists become numbered columns, anything else `value`."""
    rows = [flatten(record) for record in records[:max_rows]]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(names) > MAX_COLUMNS:
        raise AnalysisError(f"the records have {len(names)} different keys; at most {MAX_COLUMNS} work", UNREADABLE)
    columns = {name: [row.get(name, "") for row in rows] for name in names}
    return Table(columns, kind, truncated=len(records) > max_rows)


def flatten(record: Any, prefix: str = "", depth: int = 0) -> dict[str, str]:
    if isinstance(record, list) and not prefix:
        record = {f"column{at + 1}": value for at, value in enumerate(record)}
    if not isinstance(record, dict):
        return {prefix or "value": scalar(record)}
    flat: dict[str, str] = {}
    for key, value in record.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, dict) and depth < 3:
            flat.update(flatten(value, name, depth + 1))
        else:
            flat[name] = scalar(value)
    return flat


def scalar(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)[:1_000]
    return clean(str(value))


# --- types ----------------------------------------------------------------------------------------------------------

NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d{1,300})?(\.\d{1,300})?([eE][+-]?\d{1,3})?")
DECORATION = re.compile(r"^([+-]?)[$€£¥]\s*")
DATE = re.compile(r"[1-8]\d{3}([-/])\d{1,2}(\1\d{1,2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?)?)?")


@lru_cache(maxsize=1 << 18)  # a cell is asked for its type, then for its value
def parse_number(text: str) -> float | None:
    """12, -1,234.5, 3e8, $9.99 and 45% are numbers. Beyond 1e100 sums overflow, so such a cell is not one."""
    bare = text
    if not NUMBER.fullmatch(bare):
        bare = DECORATION.sub(r"\1", text.strip().replace("\u2212", "-"))
        bare = bare[:-1].rstrip() if bare.endswith("%") else bare
        if not NUMBER.fullmatch(bare):
            return None
    try:
        value = float(bare.replace(",", ""))
    except ValueError:
        return None
    return value if abs(value) <= 1e100 else None


@lru_cache(maxsize=1 << 18)
def parse_date(text: str) -> datetime | None:
    """ISO forms only (2024-03-01, 2024/03/01, 2024-03, with or without a time): 03/04/2024 could be two days."""
    match = DATE.fullmatch(text)
    if not match:
        return None
    day, _, clock = text.replace("T", " ").partition(" ")
    parts = re.split("[-/]", day)
    iso = "-".join([parts[0], *(part.zfill(2) for part in parts[1:]), *(["01"] if len(parts) == 2 else [])])
    clock = re.sub(r"([+-]\d{2})(\d{2})$", r"\1:\2", clock.replace("Z", "+00:00"))
    clock = re.sub(r"\.(\d+)", lambda found: "." + found.group(1).ljust(6, "0"), clock)
    try:
        moment = datetime.fromisoformat(f"{iso} {clock}" if clock else iso)
    except ValueError:
        return None
    # One clock for all: zones are turned into UTC, and a time without a zone is taken as it stands.
    return moment.astimezone(timezone.utc).replace(tzinfo=None) if moment.tzinfo else moment


def type_of(cells: Sequence[str]) -> str:
    """number, date, boolean, text or empty. Leading zeros mark a code, not a number."""
    filled = [cell for cell in cells if cell]
    if not filled:
        return "empty"
    if all(cell.lower() in ("true", "false", "yes", "no") for cell in filled):
        return "boolean"
    if mostly(parse_date, filled):
        return "date"
    if any(re.fullmatch(r"0\d+", cell) for cell in filled):
        return "text"
    return "number" if mostly(parse_number, filled) else "text"


def mostly(parse: Callable[[str], object], cells: Sequence[str]) -> bool:
    """Does enough of the column parse? Stops as soon as too much of it did not."""
    spare = len(cells) - ENOUGH * len(cells)
    for cell in cells:
        spare -= parse(cell) is None
        if spare < 0:
            return False
    return True


# --- summary --------------------------------------------------------------------------------------------------------


def summarise(table: Table, chosen: Sequence[str], top: int) -> dict[str, Any]:
    """All that fits on a screen about a table: each column by its type, and what goes together."""
    names = list(chosen) or list(table.columns)
    shown = names[:SHOWN_COLUMNS]
    types = {name: type_of(table.column(name)) for name in shown}
    rows = list(zip(*table.columns.values()))
    result: dict[str, Any] = {
        "format": table.format,
        "rows": table.rows,
        "columns": len(table.columns),
        "duplicate_rows": len(rows) - len(set(rows)),
        "column_summaries": [summarise_column(name, table.columns[name], types[name], top) for name in shown],
        "correlations": correlations(table, [name for name in shown if types[name] == "number"]),
        "warnings": table.warnings,
    }
    if len(names) > len(shown):
        left = len(names) - len(shown)
        table.warnings.append(f"{left} more columns are not shown; name up to {SHOWN_COLUMNS} with --columns")
    return result


def summarise_column(name: str, cells: Sequence[str], kind: str, top: int) -> dict[str, Any]:
    filled = [cell for cell in cells if cell]
    about: dict[str, Any] = {
        "name": name[:SHORT],
        "type": kind,
        "filled": len(filled),
        "missing": len(cells) - len(filled),
        "distinct": len(set(filled)),
    }
    if kind == "number":
        about.update(number_facts(filled))
    elif kind == "date":
        about.update(date_facts(filled))
    elif kind != "empty":
        common = Counter(filled).most_common(top)
        about["top"] = [{"value": value[:SHORT], "count": count} for value, count in common]
    return about


def number_facts(filled: Sequence[str]) -> dict[str, Any]:
    parsed = [(cell, parse_number(cell)) for cell in filled]
    values = sorted(value for _, value in parsed if value is not None)
    invalid = [cell for cell, value in parsed if value is None]
    low, mid, high = (quantile(values, share) for share in (0.25, 0.5, 0.75))
    reach = 1.5 * (high - low)
    facts: dict[str, Any] = {
        "min": values[0],
        "q1": low,
        "median": mid,
        "q3": high,
        "max": values[-1],
        "mean": mean(values),
        "std": deviation(values),
        "sum": math.fsum(values),
        "outliers": sum(not low - reach <= value <= high + reach for value in values),
    }
    facts = {key: tidy(value) for key, value in facts.items()}
    return {**facts, **invalid_facts(invalid)}


def date_facts(filled: Sequence[str]) -> dict[str, Any]:
    parsed = [(cell, parse_date(cell)) for cell in filled]
    moments = sorted(moment for _, moment in parsed if moment is not None)
    first, last = moments[0], moments[-1]
    facts = {"first": first.isoformat(" "), "last": last.isoformat(" "), "days": (last - first).days}
    return {**facts, **invalid_facts([cell for cell, moment in parsed if moment is None])}


def invalid_facts(cells: Sequence[str]) -> dict[str, Any]:
    return {"invalid": len(cells), "invalid_examples": [cell[:SHORT] for cell in cells[:3]]} if cells else {}


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def median(values: Sequence[float]) -> float:
    return quantile(sorted(values), 0.5)


def deviation(values: Sequence[float]) -> float | None:
    """The sample standard deviation; one value has none."""
    if len(values) < 2:
        return None
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between the two nearest values, as spreadsheets do it."""
    at = share * (len(ordered) - 1)
    low, high = math.floor(at), math.ceil(at)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def tidy(value: float | None) -> float | int | None:
    """Ten significant digits, and no .0 on whole numbers: noise costs the reader more than it tells."""
    if value is None:
        return None
    short = float(f"{value:.10g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def correlations(table: Table, names: Sequence[str]) -> list[dict[str, Any]]:
    """The ten strongest Pearson correlations among the first 20 numeric columns."""
    numbers = {name: [parse_number(cell) for cell in table.columns[name]] for name in names[:20]}
    found = []
    for at, first in enumerate(numbers):
        for second in list(numbers)[at + 1 :]:
            pairs = [(a, b) for a, b in zip(numbers[first], numbers[second]) if a is not None and b is not None]
            r = pearson(pairs)
            if r is not None:
                found.append({"columns": [first[:SHORT], second[:SHORT]], "r": round(r, 4), "rows": len(pairs)})
    return sorted(found, key=lambda entry: -abs(float(str(entry["r"]))))[:10]


def pearson(pairs: Sequence[tuple[float, float]]) -> float | None:
    if len(pairs) < 3:
        return None
    mean_x, mean_y = mean([x for x, _ in pairs]), mean([y for _, y in pairs])
    across = math.fsum((x - mean_x) * (y - mean_y) for x, y in pairs)
    spread_x = math.fsum((x - mean_x) ** 2 for x, _ in pairs)
    spread_y = math.fsum((y - mean_y) ** 2 for _, y in pairs)
    scale = math.sqrt(spread_x) * math.sqrt(spread_y)
    return max(-1.0, min(1.0, across / scale)) if scale else None


# --- axes -----------------------------------------------------------------------------------------------------------

EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Axis:
    """From a range of values to a range of pixels, with the marks to draw on it."""

    low: float
    high: float
    ticks: tuple[Tick, ...]

    def place(self, value: float, start: float, end: float) -> float:
        return start + (value - self.low) / (self.high - self.low) * (end - start)


def number_axis(low: float, high: float, *, from_zero: bool = False, want: int = 6, least: float = 0) -> Axis:
    """Round ends and 1-2-5 steps. Bars start at zero, or their lengths would lie."""
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= max(abs(low), abs(high)) * 1e-12:
        margin = abs(high) * 0.1 or 1.0
        low, high = (min(low, 0.0), high or 1.0) if from_zero and high >= 0 else (low - margin, high + margin)
    step = max(nice_step((high - low) / want), least)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    values = [round(index * step, 12) if step > 1e-9 else index * step for index in range(first, last + 1)]
    return Axis(values[0], values[-1], tuple(Tick(value, short_number(value, step)) for value in values))


def nice_step(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if raw <= power * factor * (1 + 1e-9))


def short_number(value: float, step: float) -> str:
    """1,200 or 1.2M: no more digits than the step needs to tell two marks apart."""
    if value == 0:
        return "0"
    if abs(value) >= 1e15 or step < 1e-6:
        return f"{value:.4g}"
    scale, suffix = next(((s, t) for s, t in ((1e12, "T"), (1e9, "B"), (1e6, "M")) if abs(value) >= s), (1.0, ""))
    if suffix == "" and step >= 1_000 and abs(value) >= 10_000:
        scale, suffix = 1e3, "k"
    exact = step / scale
    digits = 0
    while digits < 6 and abs(round(exact, digits) - exact) > exact * 1e-6:
        digits += 1
    return f"{value / scale:,.{digits}f}{suffix}".replace("-", "\u2212")


def value_label(value: float) -> str:
    """Three or four digits, which is what a reader compares: 8.25, 1,234 and 162k."""
    units = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "k"), (1.0, ""))
    size, suffix = next(((size, suffix) for size, suffix in units if abs(value) >= size), (1.0, ""))
    scaled = value / (1e3 if suffix == "k" else size)
    text = f"{scaled:,.0f}" if 100 <= abs(scaled) < 1e15 else f"{scaled:.3g}"
    return text.replace("-", "\u2212") + suffix


def date_axis(low: float, high: float, *, want: int = 7) -> Axis:
    """Values are seconds since 1970; marks fall on whole hours, days, months or years."""
    if high - low < 1:
        low, high = low - 43_200, high + 43_200
    start, end = EPOCH + timedelta(seconds=low), EPOCH + timedelta(seconds=high)
    span = high - low
    for seconds in (60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600):
        if span / seconds <= want:
            first = math.ceil(low / seconds) * seconds
            moments = [first + index * seconds for index in range(int((high - first) // seconds) + 1)]
            shape = "%H:%M" if seconds < 86_400 and span <= 86_400 else "%d %b %H:%M" if seconds < 86_400 else "%d %b"
            shape = shape + " %Y" if start.year != end.year and seconds >= 86_400 else shape
            return Axis(low, high, tuple(Tick(at, date_label(at, shape)) for at in moments))
    return month_axis(low, high, want)


def month_axis(low: float, high: float, want: int) -> Axis:
    start, end = EPOCH + timedelta(seconds=low), EPOCH + timedelta(seconds=high)
    first, last = start.year * 12 + start.month - 1, end.year * 12 + end.month - 1
    steps = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 2_400, 6_000, 12_000)
    step = next((size for size in steps if (last - first) / size <= want), 24_000)
    months = range(math.ceil(first / step) * step, last + 1, step)
    shape = "%Y" if step >= 12 else "%b %Y"
    marks = [(datetime(month // 12, month % 12 + 1, 1) - EPOCH).total_seconds() for month in months if month >= 12]
    return Axis(low, high, tuple(Tick(at, date_label(at, shape)) for at in marks if low <= at <= high))


def date_label(seconds: float, shape: str) -> str:
    moment = EPOCH + timedelta(seconds=seconds)
    # %Y does not pad years before 1000 alike on every platform, and %d pads where people do not.
    text = moment.strftime(shape.replace("%Y", f"{moment.year}"))
    return text[1:] if text.startswith("0") and "%d" in shape else text


# --- chart data -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Series:
    name: str
    points: tuple[tuple[float, float], ...]
    """In data units. For bars, x is the index of the category. A NaN y is a gap."""


@dataclass(frozen=True)
class Words:
    """The text around a chart."""

    title: str
    subtitle: str
    x: str
    y: str


@dataclass(frozen=True)
class Chart:
    """All that the drawing needs to know; nothing here is in pixels."""

    kind: str
    words: Words
    series: tuple[Series, ...]
    x_axis: Axis
    y_axis: Axis
    categories: tuple[str, ...] = ()
    trend: str = ""


AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "mean": mean,
    "median": median,
    "min": min,
    "max": max,
    "count": lambda values: float(len(values)),
}

Reading = tuple[str, str, float]
"""One drawn cell: series name, x as text, y as number."""


def readings(table: Table, options: argparse.Namespace) -> tuple[list[Reading], int]:
    """What to draw, and how many rows had no usable number."""
    xs = table.column(options.x)
    groups = table.column(options.group) if options.group else None
    found: list[Reading] = []
    dropped = 0
    for y in options.y or [""]:
        cells = table.column(y) if y else ["1"] * len(xs)
        if y and type_of(cells) != "number":
            raise AnalysisError(f"the column {y!r} does not hold numbers", EMPTY)
        for at, (x, cell) in enumerate(zip(xs, cells)):
            value = parse_number(cell) if cell else None
            if value is None or not x:
                dropped += 1
            else:
                found.append(((groups[at] or "(missing)") if groups else y, x, value))
    if not found:
        raise AnalysisError("no row has a value in both columns", EMPTY)
    return found, dropped


def series_names(found: Iterable[Reading]) -> list[str]:
    names = list(dict.fromkeys(name for name, _, _ in found))
    if len(names) > MOST_SERIES:
        raise AnalysisError(f"{len(names)} series cannot be told apart; at most {MOST_SERIES}, so filter first", USAGE)
    return names


def build_chart(table: Table, options: argparse.Namespace) -> tuple[Chart, dict[str, Any]]:
    builders = {"bar": bar_chart, "line": line_chart, "scatter": scatter_chart, "histogram": histogram}
    return builders[options.kind](table, options)


def bar_chart(table: Table, options: argparse.Namespace) -> tuple[Chart, dict[str, Any]]:
    found, dropped = readings(table, options)
    names = series_names(found)
    how = options.aggregate or ("sum" if options.y else "count")
    cells: dict[tuple[str, str], list[float]] = {}
    for name, x, value in found:
        cells.setdefault((name, x), []).append(value)
    totals = {key: AGGREGATES[how](values) for key, values in cells.items()}
    categories = order_categories([x for _, x, _ in found], totals, options.sort)
    kept = categories[: options.limit]
    series = tuple(
        Series(name, tuple((float(at), totals.get((name, x), math.nan)) for at, x in enumerate(kept))) for name in names
    )
    ys = [y for entry in series for _, y in entry.points if not math.isnan(y)]
    left_off = len(categories) - len(kept)
    note = f"; first {len(kept)} of {len(categories):,} shown" if left_off else ""
    chart = Chart(
        kind="bar",
        series=series,
        categories=tuple(kept),
        x_axis=Axis(-0.5, len(kept) - 0.5, ()),
        y_axis=number_axis(min(ys), max(ys), from_zero=True, least=float(how == "count")),
        words=words_for(options, how if len(found) > len(totals) else "", len(found), note),
    )
    return chart, {"aggregate": how, "categories": len(kept), "categories_left_off": left_off, "dropped": dropped}


def order_categories(xs: Sequence[str], totals: dict[tuple[str, str], float], sort: str) -> list[str]:
    names = list(dict.fromkeys(xs))
    kind = type_of(names)
    if sort == "value" or (sort == "auto" and kind == "text"):
        weight: Counter[str] = Counter()
        for (_, x), value in totals.items():
            weight[x] += value  # type: ignore[assignment]
        return sorted(names, key=lambda name: -weight[name])
    if sort in ("label", "auto"):
        return sorted(names, key=lambda name: position(name, kind) if kind in ("number", "date") else 0.0)
    return names


def position(text: str, kind: str) -> float:
    """A cell as a place on an axis; what cannot be placed is NaN."""
    if kind == "date":
        moment = parse_date(text)
        return (moment - EPOCH).total_seconds() if moment else math.nan
    value = parse_number(text)
    return math.nan if value is None else value


def line_chart(table: Table, options: argparse.Namespace) -> tuple[Chart, dict[str, Any]]:
    found, dropped = readings(table, options)
    kind = type_of(table.column(options.x))
    how = options.aggregate or ("mean" if options.y else "count")
    order = list(dict.fromkeys(x for _, x, _ in found))
    place: dict[str, float] = {}
    for at, x in enumerate(order):
        place[x] = position(x, kind) if kind in ("number", "date") else float(at)
    series, is_merged = [], False
    for name in series_names(found):
        at_x: dict[float, list[float]] = {}
        for other, x, value in found:
            if other == name and not math.isnan(place[x]):
                at_x.setdefault(place[x], []).append(value)
        points = [(x, AGGREGATES[how](values)) for x, values in sorted(at_x.items())]
        series.append(Series(name, tuple(thin_line(points))))
        is_merged = is_merged or any(len(values) > 1 for values in at_x.values())
    points = [point for entry in series for point in entry.points]
    axis = x_axis_for(kind, [x for x, _ in points], order)
    y_axis = number_axis(min(y for _, y in points), max(y for _, y in points), from_zero=options.from_zero)
    about = {"aggregate": how, "dropped": dropped, "points": len(points)}
    words = words_for(options, how if is_merged else "", len(found))
    return Chart(kind="line", words=words, series=tuple(series), x_axis=axis, y_axis=y_axis), about


def x_axis_for(kind: str, xs: Sequence[float], order: Sequence[str]) -> Axis:
    if kind == "date":
        return date_axis(min(xs), max(xs))
    if kind == "number":
        return number_axis(min(xs), max(xs), want=8)
    stride = math.ceil(len(order) / 12)
    ticks = tuple(Tick(float(at), order[at]) for at in range(0, len(order), stride))
    return Axis(-0.5, len(order) - 0.5, ticks) if len(order) == 1 else Axis(0.0, len(order) - 1.0, ticks)


def thin_line(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep the lowest and highest of each bucket, so that a thinned line still shows every spike."""
    if len(points) <= MOST_DRAWN:
        return points
    size = math.ceil(len(points) / (MOST_DRAWN // 2))
    buckets = [points[at : at + size] for at in range(0, len(points), size)]
    ends = [(min(b, key=lambda p: p[1]), max(b, key=lambda p: p[1])) for b in buckets]
    return [point for pair in ends for point in sorted(set(pair))]


def scatter_chart(table: Table, options: argparse.Namespace) -> tuple[Chart, dict[str, Any]]:
    found, dropped = readings(table, options)
    kind = type_of(table.column(options.x))
    if kind not in ("number", "date"):
        raise AnalysisError(f"the column {options.x!r} does not hold numbers or dates", EMPTY)
    placed = [(name, position(x, kind), y) for name, x, y in found]
    usable = [(name, x, y) for name, x, y in placed if not math.isnan(x)]
    stride = math.ceil(len(usable) / MOST_DRAWN)
    series = tuple(
        Series(name, tuple((x, y) for other, x, y in usable[::stride] if other == name)) for name in series_names(found)
    )
    xs, ys = [x for _, x, _ in usable], [y for _, _, y in usable]
    r = pearson([(x, y) for _, x, y in usable])
    chart = Chart(
        kind="scatter",
        series=series,
        x_axis=x_axis_for(kind, xs, ()),
        y_axis=number_axis(min(ys), max(ys), from_zero=options.from_zero),
        trend=f"linear trend (r = {r:.2f})".replace("-", "\u2212") if options.trend and r is not None else "",
        words=words_for(options, "", len(usable)),
    )
    about = {"points": len(usable), "drawn": len(usable[::stride]), "dropped": dropped + len(found) - len(usable)}
    return chart, {**about, "r": None if r is None else round(r, 4)}


def histogram(table: Table, options: argparse.Namespace) -> tuple[Chart, dict[str, Any]]:
    cells = table.column(options.x)
    if type_of(cells) != "number":
        raise AnalysisError(f"the column {options.x!r} does not hold numbers", EMPTY)
    values = sorted(value for value in map(parse_number, cells) if value is not None)
    edges = bin_edges(values, options.bins)
    cuts = [0, *(bisect.bisect_left(values, edge) for edge in edges[1:-1]), len(values)]
    counts = [after - before for before, after in zip(cuts, cuts[1:])]
    points = tuple((edge, float(count)) for edge, count in zip(edges, counts))
    inner = number_axis(edges[0], edges[-1], want=8)
    ticks = tuple(tick for tick in inner.ticks if edges[0] - 1e-9 <= tick.at <= edges[-1] + 1e-9)
    chart = Chart(
        kind="histogram",
        series=(Series(options.x, points),),
        x_axis=Axis(edges[0], edges[-1], ticks),
        y_axis=number_axis(0, max(counts), from_zero=True, least=1),
        words=words_for(options, "rows", len(values)),
    )
    return chart, {"bins": len(counts), "bin_width": tidy(edges[1] - edges[0]), "dropped": len(cells) - len(values)}


def bin_edges(ordered: Sequence[float], wanted: int | None) -> list[float]:
    """Round edges. The width follows Freedman and Diaconis, and falls back to Sturges when the middle is flat."""
    low, high = ordered[0], ordered[-1]
    if high - low <= max(abs(low), abs(high)) * 1e-12:
        width = abs(low) * 0.1 or 1.0
        return [low + width * (at - 1.5) for at in range(4)]
    spread = quantile(ordered, 0.75) - quantile(ordered, 0.25)
    width = 2 * spread / len(ordered) ** (1 / 3) or (high - low) / (math.log2(len(ordered)) + 1)
    bins = wanted or max(5, min(40, math.ceil((high - low) / width)))
    if wanted:
        return [low + (high - low) * at / bins for at in range(bins + 1)]
    step = nice_step((high - low) / bins)
    if all(value.is_integer() for value in ordered[:1_000]):
        step = max(1.0, math.ceil(step))
    first = math.floor(low / step + 1e-9)
    count = max(1, math.floor(high / step + 1e-9) - first + 1)
    return [(first + at) * step for at in range(count + 1)]


def words_for(options: argparse.Namespace, how: str, count: int, note: str = "") -> Words:
    """Title, subtitle and axis labels: what the user said, else what the data says."""
    ys = ", ".join(options.y or [])
    is_count = options.kind == "histogram" or not options.y
    y_label = "number of rows" if is_count else f"{how} of {ys}" if how and how != "sum" else ys
    title = f"Distribution of {options.x}" if options.kind == "histogram" else f"{ys or 'Rows'} by {options.x}"
    title += f", by {options.group}" if options.group else ""
    unit = ("value" if options.y else "row") + ("" if count == 1 else "s")
    subtitle = f"{how} of {count:,} {unit}" if options.y and how else f"{count:,} {unit}"
    return Words(
        title=clip(options.title or title[:1].upper() + title[1:], 90),
        subtitle=clip(options.subtitle if options.subtitle is not None else subtitle.capitalize() + note, 120),
        x=clip(options.x_label if options.x_label is not None else options.x, 80),
        y=clip(options.y_label if options.y_label is not None else y_label, 60),
    )


# --- drawing --------------------------------------------------------------------------------------------------------

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
COLOURS = ("#2f6db5", "#d9701a", "#2a8f6d", "#b8447a", "#7257b5", "#8c6d1f", "#3a9bbd", "#5b6470")
INK, SOFT, GRID, PAPER = "#1f2933", "#5b6672", "#e4e8ec", "#ffffff"


def clip(text: str, most: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


def width_of(text: str, size: float) -> float:
    """A guess at the width in pixels: wide for East Asian letters, narrow for thin ones."""
    units = sum(
        1.0 if unicodedata.east_asian_width(c) in "WF" else 0.3 if c in "il.,:;|'!Ijtf " else 0.58 for c in text
    )
    return units * size


def fit(text: str, size: float, room: float) -> str:
    """As much of the text as the room takes."""
    most = len(text)
    while most > 4 and width_of(clip(text, most), size) > room:
        most -= 1
    return clip(text, most)


def shown(text: str) -> str:
    """Safe inside SVG: markup escaped, characters that XML forbids replaced."""
    return escape(re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text), {'"': "&quot;"})


Spot = tuple[float, float]


@dataclass
class Canvas:
    """Collects SVG elements. Pixels are rounded: more digits only make the file larger."""

    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def line(self, start: Spot, end: Spot, colour: str, width: float = 1) -> None:
        (x1, y1), (x2, y2) = start, end
        ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        self.parts.append(f'<line {ends} stroke="{colour}" stroke-width="{width:g}"/>')

    def text(self, x: float, y: float, text: str, *, size: float = 12, colour: str = SOFT, extra: str = "") -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}"{extra}>{shown(text)}</text>'
        )

    def rect(self, corner: Spot, size: Spot, colour: str, tip: str) -> None:
        (x, y), (width, height) = corner, size
        title = f"<title>{shown(tip)}</title>"
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}">{title}</rect>'
        )

    def document(self, title: str, description: str) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img" aria-labelledby="chart-title chart-about" font-family="{FONT}">'
        )
        about = f'<title id="chart-title">{shown(title)}</title><desc id="chart-about">{shown(description)}</desc>'
        paper = f'<rect width="{self.width}" height="{self.height}" fill="{PAPER}"/>'
        return "\n".join([head, about, paper, *self.parts, "</svg>\n"])


@dataclass(frozen=True)
class Frame:
    """The plot area in pixels."""

    left: float
    top: float
    right: float
    bottom: float


MIDDLE, END = ' text-anchor="middle"', ' text-anchor="end"'


def draw(chart: Chart, width: int, height: int) -> str:
    canvas = Canvas(width, height)
    margin = 24.0
    room = width - 2 * margin
    size = 20 if width_of(chart.words.title, 21.5) <= room else 16
    canvas.text(
        margin, 38, fit(chart.words.title, size * 1.08, room), size=size, colour=INK, extra=' font-weight="600"'
    )
    if chart.words.subtitle:
        canvas.text(margin, 60, fit(chart.words.subtitle, 13, room), size=13)
    top = draw_legend(canvas, chart, margin, 72.0 if chart.words.subtitle else 52.0)
    tilted, foot = label_room(chart, width)
    widest = max(width_of(tick.label, 12) for tick in chart.y_axis.ticks)
    frame = Frame(margin + widest + (34 if chart.words.y else 10), top + 14, width - margin - 8, height - foot)
    draw_y_axis(canvas, chart, frame)
    draw_x_axis(canvas, chart, frame, tilted=tilted)
    {"bar": draw_bars, "line": draw_lines, "scatter": draw_dots, "histogram": draw_bins}[chart.kind](
        canvas, chart, frame
    )
    zero = chart.y_axis.place(max(chart.y_axis.low, min(0.0, chart.y_axis.high)), frame.bottom, frame.top)
    canvas.line((frame.left, zero), (frame.right, zero), SOFT, 1.2)
    about = f"A {chart.kind} chart. Horizontal: {chart.words.x}. Vertical: {chart.words.y}. {chart.words.subtitle}"
    return canvas.document(chart.words.title, about)


def draw_legend(canvas: Canvas, chart: Chart, left: float, top: float) -> float:
    """One line, or more if the names are long; returns where it ends. One nameless series needs none."""
    names = [entry.name for entry in chart.series] if len(chart.series) > 1 else []
    entries = [(clip(name, 28), COLOURS[at]) for at, name in enumerate(names)]
    if chart.trend:
        entries.append((chart.trend, INK))
    if not entries:
        return top - 4
    x, y = left, top + 12
    for name, colour in entries:
        room = 18 + width_of(name, 12.5) + 20
        if x + room > canvas.width - left and x > left:
            x, y = left, y + 20
        if colour == INK:
            canvas.line((x, y - 4), (x + 12, y - 4), INK, 2)
        else:
            canvas.parts.append(f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="12" height="12" rx="2.5" fill="{colour}"/>')
        canvas.text(x + 18, y, name, size=12.5, colour=INK)
        x += room
    return y + 4


def label_room(chart: Chart, width: int) -> tuple[bool, float]:
    """Do the labels below the axis have to be tilted, and how many pixels do they and the axis name need?"""
    names = list(chart.categories) or [tick.label for tick in chart.x_axis.ticks]
    named = 26.0 if chart.words.x else 4.0
    longest = max((width_of(clip(name, 24), 12) for name in names), default=0.0)
    slot = (width - 120) / max(len(names), 1)
    if longest + 8 <= slot:
        return False, 34 + named
    return True, 30 + named + longest * 0.62


def draw_y_axis(canvas: Canvas, chart: Chart, frame: Frame) -> None:
    for tick in chart.y_axis.ticks:
        y = chart.y_axis.place(tick.at, frame.bottom, frame.top)
        canvas.line((frame.left, y), (frame.right, y), GRID)
        canvas.text(frame.left - 8, y + 4, tick.label, extra=END)
    if chart.words.y:
        middle = (frame.top + frame.bottom) / 2
        turned = f' text-anchor="middle" transform="rotate(-90 {24 + 6:.1f} {middle:.1f})"'
        canvas.text(24 + 6, middle, chart.words.y, size=13, colour=INK, extra=turned)


def draw_x_axis(canvas: Canvas, chart: Chart, frame: Frame, *, tilted: bool) -> None:
    marks = [Tick(float(at), name) for at, name in enumerate(chart.categories)] or list(chart.x_axis.ticks)
    room = 17 if tilted else 0  # tilted labels closer than a line of text would overlap
    marks = marks[:: max(1, math.ceil(room * len(marks) / (frame.right - frame.left)))]
    for tick in marks:
        x = chart.x_axis.place(tick.at, frame.left, frame.right)
        name = clip(tick.label, 24)
        if not chart.categories:
            canvas.line((x, frame.bottom), (x, frame.bottom + 5), SOFT)
        if tilted:
            turned = f' text-anchor="end" transform="rotate(-35 {x + 4:.1f} {frame.bottom + 18:.1f})"'
            canvas.text(x + 4, frame.bottom + 18, fit(name, 12, x / 0.82), extra=turned)
        else:
            half = width_of(name, 12) / 2
            canvas.text(min(max(x, half + 4), canvas.width - half - 4), frame.bottom + 20, name, extra=MIDDLE)
    if chart.words.x:
        middle = (frame.left + frame.right) / 2
        canvas.text(middle, canvas.height - 16, chart.words.x, size=13, colour=INK, extra=MIDDLE)


def draw_bars(canvas: Canvas, chart: Chart, frame: Frame) -> None:
    slot = (frame.right - frame.left) / len(chart.categories)
    group = min(slot * 0.72, 110.0 * len(chart.series))
    each = group / len(chart.series)
    gap = 2.0 if len(chart.series) > 1 and each > 8 else 0.0
    zero = chart.y_axis.place(0.0, frame.bottom, frame.top)
    with_values = len(chart.categories) * len(chart.series) <= 14 and each >= 26
    for nth, entry in enumerate(chart.series):
        for at, value in entry.points:
            if math.isnan(value):
                continue
            x = chart.x_axis.place(at, frame.left, frame.right) - group / 2 + nth * each + gap / 2
            y = chart.y_axis.place(value, frame.bottom, frame.top)
            figure = f"{tidy(float(f'{value:.6g}')):,}".replace("-", "\u2212")
            tip = f"{chart.categories[int(at)]}{', ' + entry.name if len(chart.series) > 1 else ''}: {figure}"
            canvas.rect((x, min(y, zero)), (each - gap, max(abs(zero - y), 0.5)), COLOURS[nth], tip)
            if with_values:
                short = value_label(value)
                below = y + 15 if value < 0 else y - 6
                canvas.text(x + (each - gap) / 2, below, short, size=11.5, colour=INK, extra=MIDDLE)


def draw_lines(canvas: Canvas, chart: Chart, frame: Frame) -> None:
    for nth, entry in enumerate(chart.series):
        spots = [
            (chart.x_axis.place(x, frame.left, frame.right), chart.y_axis.place(y, frame.bottom, frame.top))
            for x, y in entry.points
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        canvas.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{COLOURS[nth]}" stroke-width="2.2" '
            'stroke-linejoin="round" stroke-linecap="round"/>'
        )
        if len(spots) <= 40:
            canvas.parts.extend(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{COLOURS[nth]}" stroke="{PAPER}" stroke-width="1.2"/>'
                for x, y in spots
            )


def draw_dots(canvas: Canvas, chart: Chart, frame: Frame) -> None:
    count = sum(len(entry.points) for entry in chart.series)
    radius, opacity = (4.2, 0.75) if count <= 300 else (3.2, 0.5) if count <= 1_500 else (2.2, 0.35)
    for nth, entry in enumerate(chart.series):
        canvas.parts.append(f'<g fill="{COLOURS[nth]}" fill-opacity="{opacity:g}">')
        for x, y in entry.points:
            place_x = chart.x_axis.place(x, frame.left, frame.right)
            place_y = chart.y_axis.place(y, frame.bottom, frame.top)
            canvas.parts.append(f'<circle cx="{place_x:.1f}" cy="{place_y:.1f}" r="{radius:g}"/>')
        canvas.parts.append("</g>")
    if chart.trend:
        draw_trend(canvas, chart, frame)


def draw_trend(canvas: Canvas, chart: Chart, frame: Frame) -> None:
    """The least-squares line over all points, drawn only as far as the points reach and inside the frame."""
    points = [point for entry in chart.series for point in entry.points]
    mean_x, mean_y = mean([x for x, _ in points]), mean([y for _, y in points])
    spread = math.fsum((x - mean_x) ** 2 for x, _ in points)
    if not spread:
        return
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    ends = []
    for x in (min(x for x, _ in points), max(x for x, _ in points)):
        y = min(max(mean_y + slope * (x - mean_x), chart.y_axis.low), chart.y_axis.high)
        reached = mean_x + (y - mean_y) / slope if slope else x
        ends.append(
            (chart.x_axis.place(reached, frame.left, frame.right), chart.y_axis.place(y, frame.bottom, frame.top))
        )
    canvas.line(ends[0], ends[1], INK, 2)


def draw_bins(canvas: Canvas, chart: Chart, frame: Frame) -> None:
    points = chart.series[0].points
    edges = [x for x, _ in points] + [chart.x_axis.high]
    for (low, count), high in zip(points, edges[1:]):
        left = chart.x_axis.place(low, frame.left, frame.right)
        right = chart.x_axis.place(high, frame.left, frame.right)
        y = chart.y_axis.place(count, frame.bottom, frame.top)
        tip = f"{low:,.6g} to {high:,.6g}: {count:,.0f}"
        if count:
            canvas.rect((left + 0.75, y), (max(right - left - 1.5, 0.5), frame.bottom - y), COLOURS[0], tip)


# --- command line ---------------------------------------------------------------------------------------------------


def whole(low: int, high: int) -> Callable[[str], int]:
    """An argparse type: a whole number between two bounds."""

    def convert(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text) or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return convert


def one_character(text: str) -> str:
    named = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}.get(text, text)
    if len(named) != 1 or named in '\r\n"':
        raise argparse.ArgumentTypeError(f"{text!r} is not one character, nor tab, comma, semicolon or pipe")
    return named


def build_parser() -> argparse.ArgumentParser:
    look = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="analyze.py",
        description="Summarise or draw a CSV, TSV, JSON or JSON Lines file.",
        epilog=EPILOG,
        formatter_class=look,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="summary|chart")
    summary = commands.add_parser(
        "summary", help="print facts about every column as JSON", epilog=EPILOG, formatter_class=look
    )
    add_input_options(summary)
    summary.add_argument("--columns", default="", metavar="A,B", help="only these columns")
    summary.add_argument("--top", type=whole(1, 50), default=5, help="most frequent values per text column (default 5)")
    add_chart_options(commands.add_parser("chart", help="draw one chart as SVG", epilog=EPILOG, formatter_class=look))
    return parser


def add_input_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="the data; - is standard input")
    add(
        "--format",
        choices=("auto", "csv", "tsv", "json", "jsonl"),
        default="auto",
        help="default: by name, then content",
    )
    add("--delimiter", type=one_character, help="of a CSV file: one character or tab, comma, semicolon, pipe")
    add("--no-header", action="store_true", help="the first CSV row is data; columns become column1, column2, ...")
    add("--path", help="where the list of records is in a JSON object, e.g. data.items")
    add("--max-rows", type=whole(1, 5_000_000), default=200_000, help="most rows to read (default 200000)")


def add_chart_options(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    add = parser.add_argument
    add("--kind", required=True, choices=("bar", "line", "scatter", "histogram"))
    add("--x", required=True, metavar="COLUMN", help="categories, dates or numbers; for a histogram the numbers")
    add(
        "--y", action="append", metavar="COLUMN", help="numbers; repeat for several series; without it rows are counted"
    )
    add("--group", metavar="COLUMN", help=f"one series per value of this column (at most {MOST_SERIES})")
    add("--aggregate", choices=tuple(AGGREGATES), help="for rows that share an x (default: bar sum, line mean)")
    add("--sort", choices=("auto", "value", "label", "none"), default="auto", help="order of the bars")
    add("--limit", type=whole(1, 60), default=20, help="most bars along the axis (default 20)")
    add("--bins", type=whole(1, 200), help="number of histogram bins (default: by the data)")
    add("--trend", action="store_true", help="add a linear trend to a scatter chart")
    add("--from-zero", action="store_true", help="start the vertical axis of a line or scatter chart at zero")
    add("--title"), add("--subtitle"), add("--x-label"), add("--y-label")
    add("--width", type=whole(300, 4_000), default=900)
    add("--height", type=whole(240, 4_000), default=540)
    add("--output", required=True, metavar="FILE.svg", help="where to write the chart")
    add("--force", action="store_true", help="replace --output if it exists")


def check_chart_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuse combinations that would be ignored: silence there looks like a wrong chart."""
    kind = options.kind
    if kind == "scatter" and not options.y:
        parser.error("a scatter chart needs --y")
    if kind == "histogram" and (options.y or options.group or options.aggregate):
        parser.error("a histogram takes only --x, without --y, --group or --aggregate")
    if kind == "scatter" and options.aggregate:
        parser.error("a scatter chart draws every row; --aggregate does not apply")
    if options.group and len(options.y or []) > 1:
        parser.error("use --group with one --y, or several --y without --group")
    if len(options.y or []) > MOST_SERIES:
        parser.error(f"at most {MOST_SERIES} --y columns can be told apart")
    if options.trend and kind != "scatter":
        parser.error("--trend applies to a scatter chart")
    if options.bins and kind != "histogram":
        parser.error("--bins applies to a histogram")
    if options.file != "-" and os.path.realpath(options.output) == os.path.realpath(options.file):
        parser.error("--output is the data file itself")


def write_chart(svg: str, path: str, *, force: bool) -> None:
    try:
        with open(path, "w" if force else "x", encoding="utf-8") as file:
            file.write(svg)
    except FileExistsError as error:
        raise AnalysisError(f"{path!r} already exists; pass --force to replace it", UNWRITABLE) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise AnalysisError(f"cannot write {path!r}: {reason}", UNWRITABLE) from error


def main() -> int:
    csv.field_size_limit(1_000_000)
    parser = build_parser()
    options = parser.parse_args()
    if options.command == "chart":
        check_chart_options(parser, options)
    try:
        table = read_table(options)
        if options.command == "summary":
            chosen = [name.strip() for name in options.columns.split(",") if name.strip()]
            result = summarise(table, chosen, options.top)
        else:
            chart, about = build_chart(table, options)
            write_chart(draw(chart, options.width, options.height), options.output, force=options.force)
            result = {"written": options.output, "kind": options.kind, "rows": table.rows, **about}
            result["series"] = [entry.name[:SHORT] for entry in chart.series if entry.name]
            result["warnings"] = table.warnings
    except AnalysisError as error:
        print(f"analyze.py: {error}", file=sys.stderr)
        return error.code
    text = json.dumps(result, ensure_ascii=False, indent=1)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    return OK


def run() -> NoReturn:
    try:
        code = main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # the reader left early, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = OK
    sys.exit(code)


if __name__ == "__main__":
    run()
