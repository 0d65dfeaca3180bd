"""`metier stats`."""

from __future__ import annotations

from cli.shell import Shell
from metier.cli.core.charts import bar, sparkline


def test_stats_show_the_usage(shell: Shell) -> None:
    assert shell("stats").ok().out == "No usage in the last 14 days\n"
    shell.skill("big", body="word " * 2_000)
    shell.skill("small")
    for name in ("big", "small"):
        shell("skill", "activate", name, "--session", "work")
    out = shell("stats", "--days", "3").ok().out
    assert "··█  2 activations" in out
    assert out.index("big ") < out.index("small ")
    data = shell("stats", "--json").data
    assert data["skills"]["small"]["activations"] == 1
    assert data["total"]["activations"] == 2
    assert shell("stats", "--session", "other", "--json").data["total"]["activations"] == 0


def test_charts_are_to_scale() -> None:
    assert sparkline([0, 1, 4, 8]) == "·▁▄█"
    assert (bar(8, 8, 4), bar(4, 8, 4), bar(1, 800, 4), bar(0, 8, 4)) == ("████", "██", "▏", "")
