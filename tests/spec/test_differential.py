"""Two comparisons: the compat verdict with skills-ref 0.1.1, and the fast parser with the slow one.

`benchmarks/corpus_check.py` makes the same comparisons over a collection of public skills.
"""

from __future__ import annotations

from pathlib import Path

import skills_ref
from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref.parser import parse_frontmatter
from skills_ref.validator import validate_metadata

from metier.spec import MemoryFiles, Verdict, check, parse
from metier.spec.fast_yaml import fast_fields
from metier.spec.manifest import manifest_from

# The forms that public skills have, in small; also the seeds for mutation.
SAMPLE = (
    "---\nname: my-skill\ndescription: Fills forms. Use when asked.\n---\nDo it.\n",
    "---\nname: my-skill\ndescription: >-\n  Fills forms.\n  Use when asked.\nlicense: MIT\n---\nDo it.\n",
    "---\nname: my-skill\ndescription: |\n  Fills forms.\n\n  Use when asked.\nallowed-tools: Read Grep\n---\nDo it.\n",
    '---\nname: "my-skill"\ndescription: "Fills forms: all of them."\nallowed-tools:\n  - Read\n  - Bash(git:*)\n---\n',
    "---\nname: my-skill\ndescription: Fills forms\n  over several\n  lines\nmetadata:\n  author: ann\n---\nDo it.\n",
    "---\n# A comment\nname: my-skill # another\ndescription: 'It''s a form'\nmetadata:\n- one\n- two\n---\n",
    "---\nname: my-skill\ndescription: Fills forms.\nmetadata:\n  version: 1.10\n  nested:\n    deep: er\n---\n",
    "---\nname: my-skill\ndescription: Fills forms.\nallowed-tools: [Read, Grep]\n---\n",
    '---\nname: my-skill\ndescription: Fills forms.\nmetadata: {"claw": {"requires": {"bins": ["jq"]}}}\n---\n',
    "---\nname: my-skill\ndescription: Fills forms when: asked\n---\n",
    "---\nname: My Skill\ndescription: Fills forms.\n---\n",
    "---\nname: other\ndescription: Fills forms.\n---\n",
    "---\ndescription: Fills forms.\n---\n",
    "---\nname: my-skill\n---\n",
    "---\nname: my-skill\ndescription: Fills forms.\nversion: 1.0.0\ntags: [pdf, forms]\n---\n",
    "---\nname: my-skill\ndescription: Fills forms.\nuser-invocable: false\nargument-hint: <file>\n---\n",
    "---\nname: my-skill\ndescription: a --- b\n---\n",
    "---\nname: my-skill\ndescription: Fills forms.\nlicense:\ncompatibility:\n---\n",
    "---\nname: my-skill\ndescription: Füllt Formulare 😀 aus.\n---\n",
    "---\r\nname: my-skill\r\ndescription: Fills forms.\r\n---\r\nDo it.\r\n",
    "\ufeff---\nname: my-skill\ndescription: Fills forms.\n---\n",
    "# My skill\n\nNo frontmatter at all.\n",
    "---\nname: my-skill\ndescription: Fills forms.\n",
    "---\nname: my-skill\nname: my-skill\ndescription: Fills forms.\n---\n",
    "---\nname: my-skill\ndescription: *forms\nlicense: &l MIT\n---\n",
    "",
)


def test_compat_says_yes_exactly_where_skills_ref_does(tmp_path: Path) -> None:
    assert [
        text for text in SAMPLE if compat_is_ok(text.encode(), "my-skill") != reference_is_ok(text.encode(), tmp_path)
    ] == []


def test_both_parsers_read_the_same_manifest() -> None:
    answers = [parsers_agree(text.encode(), "my-skill") for text in SAMPLE]
    assert False not in answers
    assert True in answers


def compat_is_ok(data: bytes, folder: str) -> bool:
    return check(MemoryFiles({"SKILL.md": data}), folder=folder, verdict=Verdict.COMPAT).ok


def reference_is_ok(data: bytes, parent: Path, name: str = "my-skill") -> bool:
    folder = parent / name
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_bytes(data)
    try:
        return not skills_ref.validate(folder)
    except Exception:  # its crashes are many, and each is a no
        return False


def parsers_agree(data: bytes, folder: str) -> bool | None:
    """Returns whether the fast parser gives the answer of the slow one; None where it gives none."""
    parsed = parse(data, folder=folder)
    fast = fast_fields(parsed.document.frontmatter, folder) if parsed.document.has_frontmatter else None
    if fast is None:
        return None
    manifest = manifest_from(fast.fields, name=folder, description=fast.fields["description"].strip())
    return manifest == (parsed.manifest, ()) and fast.warned == (parsed.report.problems != parsed.document.problems)


MARKS = (
    ": ", ":", "\t", '"', "'", "-", "- ", "---", "\n", "\n  ", " ", "#", " #", "{", "}", "[", "]", "&", "*", "!", "|",
    ">", ">-", "|+", "|2", "?", "? ", "%", "@", "`", ",", "\\", "...", "<<: ", "~", "null", "é", "\xa0", "\u3000", "😀",
    "\ufeff", "\u2028", "\x85", "\x07", "\x7f", "\r", "a", "0", "name", "description", "metadata", "\ufffe",
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A file with typing mistakes: a few pieces inserted, deleted or overwritten."""
    text: str = draw(st.sampled_from(SAMPLE[:20]))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(("", *MARKS))) + text[at + draw(st.integers(0, 2)) :]
    return text


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(mutated())
def test_compat_follows_skills_ref_through_typing_mistakes(text: str) -> None:
    assert compat_is_ok(text.encode(), "my-skill") == reference_accepts(text)


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(mutated())
def test_both_parsers_agree_through_typing_mistakes(text: str) -> None:
    assert parsers_agree(text.encode(), "my-skill") is not False


def reference_accepts(text: str) -> bool:
    """skills-ref without its file: it opens it in text mode, so every line end reaches it as one newline."""
    try:
        metadata, _ = parse_frontmatter(text.replace("\r\n", "\n").replace("\r", "\n"))
        return not validate_metadata(metadata, Path("skills", "my-skill"))
    except Exception:  # its crashes are many, and each is a no
        return False
