"""Skills that the text of another skill names, and that its source offers too."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable

from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, Manifest, split_document
from metier.values import replace

from .fetch.job import Access
from .prepare import PreparedSkill
from .refs.parsing import parse_ref
from .refs.ref_types import GitRef, WellKnown

__all__ = ["install_command", "named_skills"]


def named_skills(
    skills: Iterable[PreparedSkill], *, offered: Collection[str], present: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Returns the names that each skill's text has, are offered, and are neither chosen nor present."""
    chosen = {skill.name: skill for skill in skills}
    wanted = frozenset(offered) - frozenset(chosen) - frozenset(present)
    if not wanted:
        return {}
    # Imported here: most sources offer nothing else.
    from metier.catalog import read_references

    found: dict[str, tuple[str, ...]] = {}
    for name, skill in chosen.items():
        body = split_document(skill.files.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)).body
        names = tuple(one for one in read_references(Manifest(name=name, description=""), body).skills if one in wanted)
        if names:
            found[name] = names
    return found


def install_command(asked: str, names: Iterable[str], access: Access) -> str:
    """Returns the command that installs these skills from the source that was asked for."""
    ref = parse_ref(asked, aliases=("r9s", *(source.name for source in access.sources)))
    text = replace(ref, skill=None).text if isinstance(ref, GitRef | WellKnown) else asked
    return f"metier skill install {shlex.quote(text)} " + " ".join(f"--skill {name}" for name in names)
