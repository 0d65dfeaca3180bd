"""Templates for new skills. The words in capitals are for the author to replace."""

from __future__ import annotations

from metier.errors import UsageError
from metier.values import dataclass, field

from .fields import SkillName
from .files import SKILL_FILE
from .render import render_skill_file
from .rules import MAX_DESCRIPTION_LENGTH

__all__ = ["SKILL_TEMPLATES", "UNFINISHED_DOCSTRING", "SkillTemplate", "new_skill_files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTemplate:
    about: str
    body: str
    files: dict[str, str] = field(default_factory=dict)


_BASIC = """\
# {title}

{description}

## Steps

1. Find out WHAT YOU NEED TO KNOW before you change anything.
2. DO THE WORK, one step per line.
3. Check the result: HOW TO SEE THAT IT IS RIGHT. If it is not, go back to step 2.

## Example

Request: WHAT A USER WOULD WRITE
Answer: WHAT A GOOD ANSWER LOOKS LIKE

## Gotchas

- WHAT GOES WRONG OFTEN, and what to do instead.
"""

_SCRIPT = """\
# {title}

{description}

## Steps

1. Run `python3 scripts/run.py --help` once to see its options.
2. Run `python3 scripts/run.py INPUT`. It prints one JSON object on stdout; messages go to stderr.
3. Exit code 0 means done, 2 means that the input was wrong: read the message, correct the input and run it again.

## Gotchas

- The script never asks questions; everything it needs is an argument.
"""

_REFERENCE = """\
# {title}

{description}

## Steps

1. Work with the rules below; they cover most requests.
2. Read `references/details.md` only when THE RULES DO NOT COVER THE CASE.

## Rules

- THE RULE THAT MATTERS MOST.
- THE NEXT ONE.
"""

_WORKFLOW = """\
# {title}

{description}

## Checklist

Copy this list into your answer and tick each line as you go:

- [ ] Plan: write down what will change, and show it before changing anything
- [ ] Check the plan: HOW A MISTAKE IN IT WOULD SHOW
- [ ] Do it, one line of the plan at a time
- [ ] Check the result: WHAT MUST BE TRUE NOW
- [ ] Report in the form below

## Report

Fill in `assets/report.md` and nothing else.

## When something fails

Stop at the first failed check, say which one, and undo WHAT CAN BE UNDONE. Do not try a second way without asking.
"""

UNFINISHED_DOCSTRING = "Describe in one line what the script does."
_RUN = f'''\
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""{UNFINISHED_DOCSTRING}"""

import argparse
import json
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", help="what to work on")
    options = parser.parse_args()
    if not options.input:
        print("the input is empty", file=sys.stderr)
        return 2
    json.dump({{"input": options.input}}, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''

SKILL_TEMPLATES: dict[str, SkillTemplate] = {
    "basic": SkillTemplate(about="steps, an example, gotchas", body=_BASIC),
    "script": SkillTemplate(about="a script that does the mechanical part", body=_SCRIPT, files={"scripts/run.py": _RUN}),
    "reference": SkillTemplate(
        about="rules, and a reference for the rare cases", body=_REFERENCE,
        files={"references/details.md": "# Details\n\nTHE LONG PART, read only when SKILL.md says so.\n"},
    ),
    "workflow": SkillTemplate(
        about="plan, check, do, check, report", body=_WORKFLOW,
        files={"assets/report.md": "## Done\n\nWHAT CHANGED\n\n## Checked\n\nHOW\n\n## Open points\n\nWHAT\n"},
    ),
}  # fmt: skip


def new_skill_files(name: SkillName, description: str, *, template: str = "basic") -> dict[str, bytes]:
    """Returns the files of a new skill, by path. Raises UsageError if the description is empty or too long."""
    text = " ".join(description.split())
    if not text:
        raise UsageError("the description is empty", hint="say what the skill does and when to use it")
    if len(text) > MAX_DESCRIPTION_LENGTH:
        raise UsageError(f"the description has {len(text):,} characters", hint=f"use at most {MAX_DESCRIPTION_LENGTH:,}")
    chosen = SKILL_TEMPLATES[template]
    body = chosen.body.format(title=name.text.replace("-", " ").capitalize(), description=text)
    document = render_skill_file(name, text, body, metadata={"version": "0.1.0"})
    return {SKILL_FILE: document.encode(), **{path: content.encode() for path, content in chosen.files.items()}}
