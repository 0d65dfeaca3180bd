"""Every setting there is: its type, its default, and what it is for. `metier config show` prints this table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["KEYS", "Key", "Kind", "Plain"]

Plain = None | bool | int | float | str | tuple[str, ...]


class Kind(StrEnum):
    TEXT = "text"
    PATH = "path"
    """Expanded: `~` is the home folder, and a relative path starts at the file that names it."""
    NUMBER = "number"
    TRUTH = "true or false"
    WORDS = "list of texts"
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    name: str
    kind: Kind
    text: str
    default: Plain = None
    variables: tuple[str, ...] = ()
    """Environment variables beside the METIER_* one that every key has."""
    least: int | None = None

    @property
    def variable(self) -> str:
        return "METIER_" + self.name.upper().replace(".", "_")


KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key(name="skills.dir", kind=Kind.PATH, variables=("SKILLS_DIR",),
            text="a folder searched instead of the project's own; naming it trusts it"),
        Key(name="skills.user_dir", kind=Kind.PATH, text="your own skills"),
        Key(name="skills.plugins_dir", kind=Kind.PATH, text="skills that were installed"),
        Key(name="skills.disabled", kind=Kind.WORDS, default=(), text="skills that are switched off"),
        Key(name="skills.enabled", kind=Kind.WORDS, default=(), text="skills that are on although they ask to be off"),
        Key(name="skills.disabled_bundled", kind=Kind.WORDS, default=(), text="bundled skills that are switched off"),
        Key(name="skills.enabled_bundled", kind=Kind.WORDS, default=(), text="when not empty, the only bundled skills that are on"),
        Key(name="skills.allow", kind=Kind.WORDS, default=(), text="globs; when not empty, a skill's name must match one"),
        Key(name="skills.deny", kind=Kind.WORDS, default=(), text="globs of names that are never used"),
        Key(name="skills.max_depth", kind=Kind.NUMBER, default=6, least=1, text="how many levels below a place are searched"),
        Key(name="skills.max_directories", kind=Kind.NUMBER, default=2000, least=1,
            text="how many folders that are no skills are searched in one place"),
        Key(name="skills.max_active", kind=Kind.NUMBER, default=3, least=1, variables=("SKILLS_MAX_ACTIVE",),
            text="how many skills a session holds at once"),
        Key(name="skills.auto_select", kind=Kind.TRUTH, default=True, variables=("SKILLS_AUTO_SELECT",),
            text="pick skills for each request by themselves"),
        Key(name="skills.script_timeout", kind=Kind.NUMBER, default=60, least=1, text="seconds that a skill's script may run"),
        Key(name="skills.registry", kind=Kind.TEXT, text="address of the registry that bare names come from"),
        Key(name="skills.sources", kind=Kind.TABLE, text="named sources: [skills.sources.NAME] url, auth"),
        Key(name="skills.plugins", kind=Kind.TABLE, text="plugins: [[skills.plugins]] url, ref, name, enabled"),
        Key(name="cache.enabled", kind=Kind.TRUTH, default=True, text="remember what SKILL.md files say between runs"),
    )
}  # fmt: skip
