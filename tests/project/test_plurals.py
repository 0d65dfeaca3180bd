"""Messages say "1 skill", not "1 skills": a number before a plural goes through `metier.errors.plural`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.errors import plural

SOURCES = Path(__file__).parents[2] / "src/metier"
_NOUNS = (
    "agents|answers|approvals|archives|arguments|bytes|calls|cases|characters|checks|commits|conflicts|conversations|days|"
    "dependencies|downloads|entries|errors|files|findings|folders|generations|hits|items|keys|lines|links|matches|messages|minutes|"
    "names|packages|pages|pairs|people|problems|queries|refs|releases|reports|requests|results|rows|rules|runs|scripts|"
    "seconds|sessions|skills|sources|tags|tests|tokens|tools|tries|turns|users|versions|warnings|words"
)
_PLURAL = re.compile(rf" (?:\w+ )?(?:{_NOUNS})\b")
# "At most 1 skills" is rare enough to be read past.
_LIMIT = re.compile(
    r"[A-Z]{3}|limit|most|max|largest|longest|timeout|silence|least|per_|self\.(?:total|files|seconds)|wait\.read"
)
_COUNT = re.compile(r"len\(|sum\(|(?:.*\.)?(?:count|total|size|number|turns|skills|tokens|lines)$")
# Too large or too many by the rule that reports them, one of several, or a form that is fixed.
_NEVER_ONE = {
    "agents/turn.py": {"self.usage.tokens"},
    "app/model_judge.py": {"len(cases)"},
    "archive/contents.py": {"len(self._members)", "len(self._links)"},
    "archive/limits.py": {"size", "packed"},
    "cli/chat/preview.py": {"prompt['tokens']"},
    "cli/core/skill_argument.py": {"len(folders)"},
    "cli/registry/location.py": {"count"},
    "cli/skill/delete.py": {"len(versions)"},
    "cli/skill/install_prompts.py": {"len(names)"},
    "cli/skill/optimize.py": {"len(entries)"},
    "cli/skill/show.py": {"len(found)"},
    "cli/stats.py": {"usage.tokens", "usage.runs"},
    "disclosure/catalog_block.py": {"skills"},
    "evals/files.py": {"len(rows)", "count"},
    "evals/html_report.py": {"one.result.tokens"},
    "evals/plan.py": {"len(self.entries)"},
    "install/fetch/http.py": {"after"},
    "install/fetch/repository.py": {"len(fits)"},
    "install/git/objects.py": {"size"},
    "install/installation.py": {"len(offered)"},
    "install/trial.py": {"len(result.names)"},
    "mcp/published_skill.py": {"len(listing)"},
    "mcp/remote_skill.py": {"len(resources)", "len(data)"},
    "registry/domain/registry.py": {"seconds"},
    "registry/ed25519.py": {"size"},
    "registry/server/error_responses.py": {"size"},
    "registry/web/skill_pages.py": {"len(data)"},
    "runtime/tools/general/file_program.py": {"size"},
    "app/recent_requests.py": {"one.total"},
    "cli/agent_stats.py": {"one.tokens"},
    "cli/core/host_lists.py": {"tokens", "budget.characters"},
    "hosts/host_lists.py": {"len(one.shown)"},
    "runtime/activation.py": {"len(coming)"},
    "runtime/content.py": {"count(text)"},
    "runtime/scripts/runner.py": {"len(run.arguments)", "size"},
    "scan/rules/scope.py": {"len(words)"},
    "scan/subject.py": {"counts[folder]", "entry.size"},
    "selection/container.py": {"len(view)"},
    "sources/skill_folders.py": {"directories"},
    "spec/advice/body.py": {"page.document.lines", "tokens"},
    "spec/advice/description.py": {"tokens"},
    "spec/compat.py": {"len(name)", "len(description.text)", "len(compatibility.text)"},
    "spec/rules.py": {"len(name)", "len(node.text.strip())", "length"},
    "spec/templates.py": {"len(text)"},
}


def counted_nouns(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields each number before a plural in an f-string: one with a format for numbers, or that is called a count."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, text in zip(node.values, node.values[1:], strict=False):
            if not isinstance(value, ast.FormattedValue) or not isinstance(text, ast.Constant):
                continue
            expression = ast.unparse(value.value)
            is_number = value.format_spec is not None or _COUNT.match(expression)
            if is_number and _PLURAL.match(str(text.value)) and not _LIMIT.search(expression):
                yield node.lineno, expression


def test_no_message_counts_one_as_many() -> None:
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        where = str(path.relative_to(SOURCES))
        if where.startswith("sources/bundled/"):
            continue
        for line, expression in counted_nouns(ast.parse(path.read_text(encoding="utf-8"))):
            if expression not in _NEVER_ONE.get(where, ()):
                found.append(f"{where}:{line}: {expression}")
    assert found == []


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(1, "turn", "1 turn"), (0, "turn", "0 turns"), (2000, "byte", "2,000 bytes"), (2, "query", "2 queries"),
     (1, "query", "1 query"), (3, "match", "3 matches"), (2, "day", "2 days")],
)  # fmt: skip
def test_a_noun_follows_its_number(number: int, noun: str, text: str) -> None:
    assert plural(number, noun) == text
