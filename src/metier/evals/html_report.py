"""The report of evals as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metier.errors import plural

from .charts import Bar, as_text, bars, pairs
from .html_page import html_page, number_cell, table
from .intervals import wilson_interval
from .outputs import OutputReport
from .skill_tests import SkillTestResult, SkillTestStatus
from .summary import Spread, spread
from .triggers import Split, TriggerReport, TriggerResult

__all__ = ["render_html"]


def render_html(
    title: str,
    *,
    triggers: Sequence[TriggerReport] = (),
    tests: Sequence[SkillTestResult] = (),
    outputs: Sequence[OutputReport] = (),
) -> str:
    return html_page(title, [*_triggers(triggers), *_tests(tests), *_outputs(outputs)])


def _triggers(reports: Sequence[TriggerReport]) -> Iterator[str]:
    if not reports:
        return
    total, passed = sum(len(one.rows) for one in reports), sum(row.passed for one in reports for row in one.rows)
    yield f"<h2>Does it trigger?</h2><p>{passed} of {plural(total, 'request')}, judged by the {as_text(reports[0].judge)}.</p>"
    yield bars(
        [
            Bar(label=one.skill, share=one.pass_rate, text=f"{len(one.rows) - len(one.failures)} of {len(one.rows)}",
                style="good" if one.ok else "bad")
            for one in reports
        ],
        "Correct requests by skill",
    )  # fmt: skip
    head = ("skill", "correct", "precision", "recall", "train", "validation")
    yield table(head, (_rates(one) for one in reports))
    if any(one.is_sampled for one in reports):
        yield table(("skill", "kind", "triggered", "95 % interval", "tokens", "time"), _sampled(reports))
    for one in reports:
        yield from _requests(one)


def _sampled(reports: Sequence[TriggerReport]) -> Iterator[list[str]]:
    for one in reports:
        for kind, should in (("should trigger", True), ("should not trigger", False)):
            hits, total = one.triggered(should=should)
            if total:
                rows = [row for row in one.rows if row.should_trigger is should]
                tokens, seconds = sum(row.tokens for row in rows), sum(row.seconds for row in rows)
                measured = (
                    [number_cell(f"{tokens:,}"), number_cell(f"{seconds:,.1f} s")]
                    if seconds
                    else [number_cell("–"), number_cell("–")]
                )
                yield [
                    as_text(one.skill),
                    kind,
                    number_cell(f"{hits} of {total}"),
                    number_cell(_interval(*wilson_interval(hits, total))),
                    *measured,
                ]


def _interval(low: float, high: float) -> str:
    return f"{low:.0%} to {high:.0%}"


def _rates(one: TriggerReport) -> list[str]:
    splits = [one.only(split).pass_rate for split in Split]
    return [as_text(one.skill), *(_share(value) for value in (one.pass_rate, one.precision, one.recall, *splits))]


def _requests(report: TriggerReport) -> Iterator[str]:
    rows = sorted(report.rows, key=lambda row: row.passed)
    opened = " open" if report.failures else ""
    counts = f"{plural(len(report.rows), 'request')}, {len(report.failures)} failed"
    yield f"<details{opened}><summary>{as_text(report.skill)}: {counts}</summary>"
    yield table(("", "request", "should", "rate", "picked, and why"), (_request(row, report.skill) for row in rows))
    yield "</details>"


def _request(row: TriggerResult, skill: str) -> list[str]:
    why = f"{as_text(row.choice.winner or 'nothing')}<br><span class=dim>{as_text(row.choice.why)}</span>"
    if not row.passed and row.choice.winner != skill:
        why += f"<br><span class=dim>this skill: {as_text(row.choice.own)}</span>"
    should = "trigger" if row.should_trigger else "not trigger"
    rate = f"{row.triggers}/{row.runs}" + (f", {_interval(*row.interval)}" if row.interval else "")
    return [_sign(row.passed), as_text(row.query), should, number_cell(rate), why]


def _tests(tests: Sequence[SkillTestResult]) -> Iterator[str]:
    if not tests:
        return
    skills = dict.fromkeys(trial.skill for trial in tests)
    yield f"<h2>Do its scripts work?</h2><p>{_count(tests)}, each in the sandbox.</p>"
    rows = []
    for skill in skills:
        own = [trial for trial in tests if trial.skill == skill]
        run = [trial for trial in own if trial.status is not SkillTestStatus.SKIPPED]
        passed = sum(trial.ok for trial in run)
        style = "good" if passed == len(run) else "bad"
        rows.append(Bar(label=skill, share=passed / len(run) if run else 0.0, text=f"{passed} of {len(run)}", style=style))
    yield bars(rows, "Tests that passed, by skill")
    for skill in skills:
        own = [trial for trial in tests if trial.skill == skill]
        opened = "" if all(trial.ok for trial in own) else " open"
        yield f"<details{opened}><summary>{as_text(skill)}: {_count(own)}</summary>"
        yield table(("", "test", "where", "time"), map(_trial, own))
        yield "</details>"


def _trial(trial: SkillTestResult) -> list[str]:
    sign = _sign(trial.ok) if trial.status is not SkillTestStatus.SKIPPED else '<span class="skip" title="skipped">○</span>'
    text = f"<code>{as_text(trial.name or trial.file)}</code>"
    text += f"<pre>{as_text(trial.message)}</pre>" if trial.message and not trial.ok else ""
    return [sign, text, as_text(f"{trial.file}:{trial.line or 1}"), number_cell(f"{trial.seconds * 1000:,.0f} ms")]


def _count(tests: Sequence[SkillTestResult]) -> str:
    counts = {status: sum(trial.status is status for trial in tests) for status in SkillTestStatus}
    return ", ".join(f"{count} {status}" for status, count in counts.items() if count)


def _outputs(reports: Sequence[OutputReport]) -> Iterator[str]:
    if reports:
        yield "<h2>Does it help?</h2>"
    for report in reports:
        yield f"<h3>{as_text(report.skill)} <span class=dim>done by {as_text(report.model)}</span></h3>"
        yield _compare(report)
        yield _summary(report)
        if report.flags:
            rows = ([as_text(flag.case), as_text(flag.what), as_text(flag.kind)] for flag in report.flags)
            yield table(("eval", "what", "means"), rows)
        for one in report.done:
            yield (
                f"<details><summary>{as_text(one.case)}, {as_text(_variant(one.variant))}, run {one.run}: "
                f"{f'{one.pass_rate:.0%}' if one.grades else 'not checked'}, "
                f"{one.result.seconds:.1f} s, {one.result.tokens:,} tokens</summary>"
            )
            yield table(
                ("", "assertion", "evidence"), ([_sign(g.passed), as_text(g.text), as_text(g.evidence)] for g in one.grades)
            )
            yield f"<pre>{as_text(one.result.answer)}</pre></details>"


def _compare(report: OutputReport) -> str:
    rows = []
    for case in dict.fromkeys(one.case for one in report.done if one.grades):
        both = [
            _rate_bar(report, case, variant, style) for variant, style in zip(report.variants, ("good", "other"), strict=True)
        ]
        rows.append((case, both[0], both[1]))
    return pairs(rows, "Assertions that passed, by eval and variant")


def _rate_bar(report: OutputReport, case: str, variant: str, style: str) -> Bar:
    found = spread([one.pass_rate for one in report.done if one.case == case and one.variant == variant])
    return Bar(label=variant, share=found.mean, text=f"{found.mean:.0%} {_variant(variant)}", style=style, spread=found.stddev)


def _summary(report: OutputReport) -> str:
    units = {"pass_rate": "passed", "time_seconds": "seconds", "tokens": "tokens"}
    rows = []
    for name, label in units.items():
        measured = [Spread(**report.summary[variant][name]) for variant in report.variants]
        shown = [number_cell(f"{_measure(name, one.mean)} ± {_measure(name, one.stddev)}") for one in measured]
        delta = report.summary["delta"][name]
        rows.append([label, *shown, number_cell(f"{'+' if delta >= 0 else '−'}{_measure(name, abs(delta))}")])
    return table(("", *map(_variant, report.variants), "difference"), rows)


def _measure(name: str, value: float) -> str:
    return f"{value:.0%}" if name == "pass_rate" else f"{value:.1f}" if name == "time_seconds" else f"{value:,.0f}"


def _variant(name: str) -> str:
    return name.replace("_", " ")


def _share(value: float | None) -> str:
    return number_cell("–" if value is None else f"{value:.0%}")


def _sign(passed: bool) -> str:
    return '<span class="pass" title="passed">✓</span>' if passed else '<span class="fail" title="failed">✗</span>'
