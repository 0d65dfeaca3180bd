"""The codes of validate and lint, with their meaning and their severity under each verdict.

`metier skill explain CODE` prints these texts, so they are written for the author of a skill.
Codes are stable: a code is never reused or given another meaning.

    SK0xx  the file and its YAML        SK1xx  the standard's fields
    SK2xx  advice (lint)                SK3xx  extensions that metier and other clients read
"""

from __future__ import annotations

from enum import StrEnum

from metier.values import dataclass

from .report import Problem, Severity

__all__ = ["CODES", "Code", "Verdict", "apply_verdict", "problem"]


class Verdict(StrEnum):
    STRICT = "strict"
    """The text of the standard, and nothing beyond it."""
    LENIENT = "lenient"
    """The client guide: load whatever can be understood, and warn about the rest. Used by the loader."""
    COMPAT = "compat"
    """The same yes or no as the reference validator skills-ref 0.1.1."""


@dataclass(frozen=True, slots=True)
class Code:
    code: str
    name: str
    strict: Severity
    lenient: Severity | None
    """The severity for the loader; None if it does not report it."""
    text: str
    bad: str = ""
    good: str = ""


E, W, N = Severity.ERROR, Severity.WARNING, Severity.INFO

CODES: dict[str, Code] = {
    code.code: code
    for code in (
        Code("SK001", "no-skill-file", E, E, "A skill is a folder that holds a file named exactly SKILL.md."),
        Code("SK002", "not-a-file", E, E, "SKILL.md must be an ordinary file, not a folder, a pipe or a device."),
        Code("SK003", "not-utf-8", E, E,
             "SKILL.md must be UTF-8 text. Other encodings reach a model as garbage, and many clients crash on them."),
        Code("SK004", "nul-byte", E, E, "A NUL byte means that this is not a text file. YAML and most clients refuse it."),
        Code("SK005", "no-frontmatter", E, E,
             "The file must open with a line `---`, then YAML, then a line `---`, then the instructions.",
             bad="# My skill\nDo this ...", good="---\nname: my-skill\ndescription: Does this. Use when ...\n---\nDo this ..."),
        Code("SK006", "unclosed-frontmatter", E, E,
             "The frontmatter opened with `---` but no later line is exactly `---`, so its end is unknown."),
        Code("SK007", "frontmatter-too-large", E, E,
             "Frontmatter is read at every start for every skill, so metier reads at most 64 KiB of it."),
        Code("SK008", "invalid-yaml", E, E,
             "The frontmatter is not YAML, so no client can read the name or the description."),
        Code("SK009", "not-a-mapping", E, E, "Frontmatter is a list of `key: value` lines.", bad="- name\n- description",
             good="name: my-skill\ndescription: ..."),
        Code("SK010", "duplicate-key", E, E,
             "The same key twice: some parsers keep the first value, some the last, some stop. Keep one."),
        Code("SK011", "yaml-feature", E, E,
             "Anchors (&a), aliases (*a), tags (!x) and merge keys (<<) are refused: the standard does not need them, "
             "parsers disagree on them, and a few bytes of aliases can fill a memory.",
             bad="author: &me Ann\nowner: *me", good="author: Ann\nowner: Ann"),
        Code("SK012", "unquoted-colon", E, W,
             "A value with `: ` in it must be quoted, or YAML reads a second key. It is the most common mistake in "
             "public skills. metier understands it and says so; most clients drop the skill without a word. "
             "`metier skill fix` puts the quotes in.",
             bad="description: Use this when: the user asks", good='description: "Use this when: the user asks"'),
        Code("SK013", "file-name", E, E, "The file must be called SKILL.md, in capitals; most clients look for nothing else.",
             bad="skill.md", good="SKILL.md"),
        Code("SK014", "byte-order-mark", N, N,
             "The file starts with a byte order mark. metier skips it; the reference validator and many clients see no "
             "frontmatter at all behind one. `metier skill fix` removes it."),
        Code("SK015", "unreadable", E, E, "The file is there but could not be read: permissions, a broken link, a disk error."),
        Code("SK016", "file-too-large", W, E, "SKILL.md is loaded whole into a model's context; above 1 MiB it cannot be meant."),
        Code("SK017", "link-leaves-skill", E, E,
             "A link inside the skill points out of its folder. Nothing outside a skill may be read through it."),

        Code("SK101", "name-missing", E, W, "Every skill needs a `name`. The loader falls back to the folder's name."),
        Code("SK102", "name-characters", E, W,
             "A name is made of a-z, 0-9 and hyphens. The reference validator also takes other alphabets, but agents, "
             "shells and registries do not: write what every client can read.", bad="name: My_Skill", good="name: my-skill"),
        Code("SK103", "name-too-long", E, W, "A name has at most 64 characters."),
        Code("SK104", "name-hyphens", E, W, "No hyphen at either end of a name, and no two in a row.",
             bad="name: -my--skill", good="name: my-skill"),
        Code("SK105", "name-is-not-folder", E, W,
             "The name must equal the folder's name: clients find the folder by the name a model gives them."),
        Code("SK106", "name-not-text", E, W, "`name` must be one line of text, not a list or a map, and not empty."),
        Code("SK110", "description-missing", E, E,
             "Without a description no model can know when to use the skill, so no client loads it.",
             good="description: Fills PDF forms. Use when the user wants a form filled in or its fields listed."),
        Code("SK111", "description-too-long", E, W, "A description has at most 1,024 characters: every model reads it at every start."),
        Code("SK112", "description-not-text", E, E, "`description` must be text, not a list or a map."),
        Code("SK120", "compatibility-not-text", E, W, "`compatibility`, when given, is a text of 1 to 500 characters."),
        Code("SK121", "compatibility-too-long", E, W, "`compatibility` has at most 500 characters."),
        Code("SK130", "license-not-text", E, W, "`license` is the name of a licence or of a file in the skill."),
        Code("SK140", "metadata-not-a-map", E, W, "`metadata` is a map from text to text."),
        Code("SK141", "metadata-value-not-text", E, W,
             "Values under `metadata` are text. Nested maps make typed clients drop the whole skill.",
             bad="metadata:\n  owner:\n    team: forms", good="metadata:\n  owner: forms"),
        Code("SK142", "unquoted-value", N, None,
             "Unquoted, this value is a number, a boolean or a date to most YAML parsers. metier keeps the text; quote it "
             "so that everyone does.", bad="version: 1.10", good='version: "1.10"'),
        Code("SK143", "metadata-list", W, W,
             "Values under `metadata` are text. metier and the reference validator also read a list of words; a typed client "
             "may drop the skill. `metier skill fix` writes the words with spaces between them.",
             bad="metadata:\n  tags: [pdf, forms]", good="metadata:\n  tags: pdf forms"),
        Code("SK150", "allowed-tools-not-a-string", E, W,
             "The standard's `allowed-tools` is one string with spaces between the tools. metier also reads lists and "
             "commas, and `metier skill fix` writes the standard's form.",
             bad="allowed-tools: [Read, Bash(git add *)]", good="allowed-tools: Read Bash(git add *)"),
        Code("SK151", "allowed-tools-commas", W, W,
             "Commas between tools: a client that follows the standard's text reads `Read,` as a tool's name.",
             bad="allowed-tools: Read, Grep", good="allowed-tools: Read Grep"),
        Code("SK152", "allowed-tools-unbalanced", W, W, "A parenthesis in `allowed-tools` is opened and not closed, or the reverse."),
        Code("SK160", "unknown-key", E, None,
             "The standard knows name, description, license, compatibility, metadata and allowed-tools. Other keys work in "
             "the clients that invented them; the reference validator refuses the skill. Plain labels belong under `metadata`."),
        Code("SK161", "value-not-plain", E, E, "A key or value that cannot be written as JSON, such as a map used as a key."),
        Code("SK162", "control-character", W, W,
             "Control characters, bidirectional marks and invisible tags in a field reach the model's prompt, where a "
             "reader cannot see them."),

        Code("SK201", "description-says-no-when", W, None,
             "A model picks a skill by its description, so that must say *when* to use it, not only what it does.",
             bad="description: Helps with PDFs.", good="description: Fills PDF forms. Use when the user has a form to fill."),
        Code("SK202", "description-too-short", W, None, "A description of a few words gives a model nothing to match a request against."),
        Code("SK203", "description-voice", N, None,
             "Write the description to the model that reads it: what the skill does, then `Use when ...`. First person "
             "(`I can`) and second (`you can`) read as chatter in a catalog."),
        Code("SK204", "too-many-lines", W, None, "The standard recommends fewer than 500 lines in SKILL.md; move detail to references/."),
        Code("SK205", "too-many-tokens", W, None,
             "The standard recommends fewer than 5,000 tokens of instructions: all of them enter the context at activation."),
        Code("SK206", "broken-reference", E, None, "The text points to a file that is not in the skill; a model will look for it and fail."),
        Code("SK207", "reference-too-deep", W, None,
             "Files should be one step from SKILL.md. A model that must follow a chain of references often stops halfway."),
        Code("SK208", "unused-file", N, None, "Nothing in SKILL.md or its references names this file, so no model will ever open it."),
        Code("SK209", "absolute-path", W, None, "An absolute path is right on one machine only; write paths relative to the skill's folder.",
             bad="python /home/ann/skills/pdf/scripts/fill.py", good="python scripts/fill.py"),
        Code("SK210", "reference-without-when", N, None,
             "Say when to read a reference, not only that it exists; otherwise a model reads all of them or none.",
             bad="See references/api.md.", good="Read references/api.md when a call fails with an error code."),
        Code("SK211", "unpinned-command", W, None,
             "A one-off command without a version runs whatever is newest that day: other results, or another author's code.",
             bad="npx prettier .", good="npx prettier@3.6.2 ."),
        Code("SK212", "script-absent", E, None, "The text runs a script that is not in the skill."),
        Code("SK213", "value-cut-by-comment", W, W,
             "Everything after ` #` is a comment in YAML, so this value ends earlier than it looks.",
             bad="description: Posts to Slack channel #general", good='description: "Posts to Slack channel #general"'),
        Code("SK214", "vague-advice", N, None,
             "Advice that any model would follow anyway (`be careful`, `follow best practices`) costs tokens and changes nothing."),
        Code("SK215", "empty-body", W, None, "The skill has no instructions: once activated, it tells the model nothing new."),
        Code("SK216", "angle-brackets", N, None,
             "Angle brackets in a description look like tags in a prompt. Some validators refuse them; metier escapes them."),
        Code("SK217", "descriptions-overlap", W, None,
             "Two skills in this set describe nearly the same thing, so a model will pick either. Say in each what it is not for."),
        Code("SK218", "undeclared-prerequisite", N, None,
             "The instructions use a command that not every machine has. Name it in `compatibility` or `metadata.requires`."),
        Code("SK219", "catalog-cost", N, None,
             "The catalog entry is paid by every conversation, used or not. About 100 tokens is what the standard has in mind."),
        Code("SK220", "menu-without-default", N, None,
             "A list of equal options makes the model choose by chance. Name one as the default and say when to leave it."),
        Code("SK221", "template-placeholder", W, None,
             "The text still has words of the template that the skill was created from. A model takes them for instructions."),
        Code("SK222", "unfinished-note", W, None,
             "TODO, FIXME and TBD are notes to yourself. A model reads them as instructions that it cannot follow.",
             bad="## Errors\nTODO: describe the error codes", good="## Errors\nExit code 2 means that the input was wrong."),
        Code("SK223", "undeclared-capability", W, None,
             "The files reach, run or read something that the author's list (`metadata.capabilities`, or `permissions` of the OWASP"
             " format) does not have. A user who trusts the list is misled."),
        Code("SK224", "unused-capability", N, None,
             "The author's list has something that nothing in the files uses. A shorter list is easier to agree to."),

        Code("SK301", "extension-shape", W, None, "A key that metier understands has a value of another shape than it expects."),
        Code("SK302", "trigger-pattern", W, W, "A pattern under `triggers.patterns` is not a regular expression, or is never run because it needs backtracking."),
        Code("SK303", "toolset-reference", W, W, "A toolset is written `toolsets/module:Name`, inside the skill."),
        Code("SK304", "version", W, W, "A version is three numbers such as 1.4.0, so that tools can tell which is newer."),
        Code("SK305", "parameter", W, W, "A parameter has a type (string, integer, number, boolean) and a default of that type."),
        Code("SK306", "dependency", W, W,
             "`dependencies` names other skills, each with a valid skill name and, after `@`, the versions that will do.",
             bad="dependencies: [base-style>=2.0]", good='dependencies: ["base-style@>=2.0"]'),
        Code("SK307", "requires", W, W, "`metadata.requires` names commands, with spaces between them; paths and options are not commands."),
        Code("SK308", "declared-script-missing", W, W, "`scripts` names a file that is not in the skill's scripts/ folder."),
        Code("SK309", "toolset-missing", W, W,
             "The module of a toolset is not in the skill, or it is not Python: toolsets are loaded into a Python process."),
        Code("SK310", "network-hosts", W, W,
             "`metadata.network` lists the hosts that the skill's scripts need, without https:// and paths. The user is asked about each.",
             bad="network: https://api.example.com/v1", good='network: "api.example.com *.example.org:8443"'),
        Code("SK311", "env-names", W, W,
             "`metadata.env` names the environment variables that the skill's scripts need. It never holds their values.",
             bad="env: API_KEY=abc123", good="env: API_KEY"),
        Code("SK312", "capability-words", W, W,
             "`metadata.capabilities` is one text of words such as host:api.example.com, command:git, process:ffmpeg,"
             " variable:API_KEY, read:~/notes, write:~/notes and package:polars, or the word none.",
             bad="capabilities: api.example.com", good="capabilities: host:api.example.com command:git"),
    )
}  # fmt: skip


def problem(
    code: str,
    message: str,
    *,
    hint: str = "",
    file: str = "SKILL.md",
    line: int | None = None,
    column: int | None = None,
) -> Problem:
    """Returns a problem with its severity under `strict`; `apply_verdict` gives it that of another verdict."""
    return Problem(code=code, severity=CODES[code].strict, message=message, hint=hint, file=file, line=line, column=column)


def apply_verdict(found: Problem, verdict: Verdict) -> Problem | None:
    """Returns the problem with its severity under a verdict, or None if that verdict does not report it."""
    if verdict is not Verdict.LENIENT:
        return found
    severity = CODES[found.code].lenient
    if severity is None:
        return None
    return Problem(
        code=found.code, severity=severity, message=found.message, hint=found.hint,
        file=found.file, line=found.line, column=found.column,
    )  # fmt: skip
