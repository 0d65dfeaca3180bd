"""The text output of `metier skill eval`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metier.cli.core.terminal import Terminal, one_line, pad, plural, truncate
from metier.evals import OutputReport, Split, TriggerReport, TriggerResult, wilson_interval

__all__ = ["output_lines", "trigger_lines"]

_MEASURES = {"pass_rate": "passed", "time_seconds": "seconds", "tokens": "tokens"}


def trigger_lines(reports: Sequence[TriggerReport], terminal: Terminal, *, verbose: bool) -> Iterator[str]:
    for report in reports:
        passed = len(report.rows) - len(report.failures)
        name = terminal.paint(one_line(report.skill), "bold")
        held = " ".join(f"{split} {report.only(split).pass_rate:.0%}" for split in Split)
        counts = f"{passed} of {plural(len(report.rows), 'request')} ({held})"
        yield f"{_sign(report.ok, terminal)} {name}  {counts}, by the {one_line(report.judge)}"
        yield from _sampled_lines(report, terminal)
        for row in report.rows:
            if verbose or not row.passed:
                yield from _row_lines(report, row, terminal)


def _sampled_lines(report: TriggerReport, terminal: Terminal) -> Iterator[str]:
    if not report.is_sampled:
        return
    for kind, should in (("should trigger", True), ("should not trigger", False)):
        hits, total = report.triggered(should=should)
        if total:
            low, high = wilson_interval(hits, total)
            yield f"  {kind}: {hits} of {total} did (95% interval {low:.0%} to {high:.0%})"
    if report.seconds:
        runs = sum(row.runs for row in report.rows)
        yield terminal.paint(f"  {plural(runs, 'run')}, {plural(report.tokens, 'token')}, {report.seconds:.1f} s", "dim")


def _row_lines(report: TriggerReport, row: TriggerResult, terminal: Terminal) -> Iterator[str]:
    kind = "should trigger" if row.should_trigger else "should not trigger"
    rate = "" if row.interval is None else f" {row.triggers} of {row.runs} ({row.interval[0]:.0%} to {row.interval[1]:.0%})"
    space = max(20, terminal.width - 26 - len(rate)) if terminal.width else None
    yield f"  {_sign(row.passed, terminal)} {kind}{rate}: {truncate(one_line(row.query), space)}"
    if not row.passed:
        if row.choice.winner != report.skill:
            yield f"      selected {one_line(row.choice.winner) or 'nothing'}: {one_line(row.choice.why)}"
        yield f"      {one_line(report.skill)}: {one_line(row.choice.own)}"


def output_lines(reports: Sequence[OutputReport], terminal: Terminal) -> Iterator[str]:
    for report in reports:
        name = terminal.paint(one_line(report.skill), "bold")
        yield f"{_sign(report.ok, terminal)} {name}  {plural(len(report.done), 'run')} with {one_line(report.model)}"
        heads = [variant.replace("_", " ") for variant in report.variants]
        yield "  " + pad("", 8) + "".join(f"{head:>22}" for head in heads) + f"{'difference':>14}"
        for measure, label in _MEASURES.items():
            cells = [_spread(report.summary[variant][measure], measure) for variant in report.variants]
            delta = report.summary["delta"][measure]
            yield f"  {pad(label, 8)}" + "".join(f"{cell:>22}" for cell in cells) + f"{_format_signed(delta, measure):>14}"
        for flag in report.flags:
            yield f"  {one_line(flag.case)}: {one_line(flag.what)}: {terminal.paint(flag.kind, 'dim')}"
        yield terminal.paint(f"  results in {one_line(report.folder)}", "dim")


def _spread(value: dict[str, float], measure: str) -> str:
    return f"{_number(value['mean'], measure)} ± {_number(value['stddev'], measure)}"


def _format_signed(value: float, measure: str) -> str:
    return f"{'+' if value >= 0 else '-'}{_number(abs(value), measure)}"


def _number(value: float, measure: str) -> str:
    return f"{value:.0%}" if measure == "pass_rate" else f"{value:.2f}" if measure == "time_seconds" else f"{value:,.0f}"


def _sign(ok: bool, terminal: Terminal) -> str:
    return terminal.paint("✓", "green") if ok else terminal.paint("✗", "red")
