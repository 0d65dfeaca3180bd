"""The names that agents give to the same tools: the reader of a file is `Read`, `read_file`, `view` or `copilot_readFile`.

An author writes `allowed-tools` for the agent at hand. One table says which of metier's tools a name means, so that the same
line works here. docs/policy.md shows it, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from metier.values import dataclass

__all__ = ["TOOL_NAMES", "ToolKind", "ToolNames", "covers_kind", "is_reader", "is_shell", "is_writer", "kind_of_tool"]


class ToolKind(StrEnum):
    """The kinds of tools. The value is the name that patterns, questions and approvals use."""

    LIST = "Glob"
    READ = "Read"
    SEARCH = "Grep"
    WRITE = "Write"
    EDIT = "Edit"
    COMMAND = "Bash"
    CODE = "Python"
    FETCH = "WebFetch"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNames:
    """One row: our tool, and its names in other agents. An empty name of ours means that metier does not offer it."""

    kind: ToolKind
    ours: str = ""
    claude: str = ""
    codex: str = ""
    copilot: str = ""
    gemini: str = ""
    cursor: str = ""
    opencode: str = ""
    others: str = ""

    @property
    def all(self) -> tuple[str, ...]:
        columns = (self.ours, self.claude, self.codex, self.copilot, self.gemini, self.cursor, self.opencode, self.others)
        return (self.kind.value, *" ".join(columns).split())


TOOL_NAMES: tuple[ToolNames, ...] = (
    ToolNames(
        kind=ToolKind.LIST, ours="list_files", claude="Glob LS",
        copilot="glob file_search list_dir copilot_findFiles copilot_listDirectory", gemini="glob list_directory",
        cursor="Glob LS list_dir file_search", opencode="glob list", others="list_directory find_files",
    ),
    ToolNames(
        kind=ToolKind.READ, ours="read_file", claude="Read NotebookRead", codex="view_image",
        copilot="read view read_file copilot_readFile", gemini="read_file read_many_files", cursor="Read read_file",
        opencode="read", others="cat open_file read_text_file readFile",
    ),
    ToolNames(
        kind=ToolKind.SEARCH, ours="search_files", claude="Grep",
        copilot="search grep grep_search copilot_findTextInFiles", gemini="search_file_content grep_search",
        cursor="Grep grep_search codebase_search", opencode="grep", others="ripgrep searchFiles grep_files",
    ),
    ToolNames(
        kind=ToolKind.WRITE, ours="write_file", claude="Write", copilot="create create_file copilot_createFile",
        gemini="write_file", cursor="Write", opencode="write", others="writeFile",
    ),
    ToolNames(
        kind=ToolKind.EDIT, ours="edit_file", claude="Edit MultiEdit NotebookEdit", codex="apply_patch",
        copilot="edit str_replace_editor replace_string_in_file insert_edit_into_file copilot_replaceString editFiles",
        gemini="replace", cursor="edit_file search_replace", opencode="edit patch multiedit",
        others="str_replace str_replace_based_edit_tool",
    ),
    ToolNames(
        kind=ToolKind.COMMAND, ours="run_command", claude="Bash", codex="shell shell_command local_shell exec_command",
        copilot="execute bash run_in_terminal runCommands", gemini="run_shell_command", cursor="Shell run_terminal_cmd",
        opencode="bash", others="sh terminal",
    ),
    ToolNames(kind=ToolKind.CODE, ours="run_code", others="python code_interpreter code_execution"),
    ToolNames(
        kind=ToolKind.FETCH, claude="WebFetch", copilot="web web_fetch fetch_webpage", gemini="web_fetch",
        cursor="WebFetch", opencode="webfetch", others="fetch",
    ),
)  # fmt: skip

_KINDS: Mapping[str, ToolKind] = {name.casefold(): row.kind for row in reversed(TOOL_NAMES) for name in row.all}
# A rule for reading holds for all tools that read, and one for editing for all that change files: so Claude Code, Copilot and
# opencode document it. A whole file written is as much as an edit.
_COVERED: Mapping[ToolKind, frozenset[ToolKind]] = {
    ToolKind.READ: frozenset({ToolKind.READ, ToolKind.SEARCH, ToolKind.LIST}),
    ToolKind.SEARCH: frozenset({ToolKind.SEARCH, ToolKind.LIST}),
    ToolKind.EDIT: frozenset({ToolKind.EDIT, ToolKind.WRITE}),
    ToolKind.WRITE: frozenset({ToolKind.EDIT, ToolKind.WRITE}),
}
_READERS = frozenset({ToolKind.LIST, ToolKind.READ, ToolKind.SEARCH})
_WRITERS = frozenset({ToolKind.WRITE, ToolKind.EDIT})


def kind_of_tool(name: str) -> ToolKind | None:
    """Returns the kind of a tool by any of its names; None for a tool that the table does not have."""
    return _KINDS.get(name.casefold())


def covers_kind(granted: ToolKind, used: ToolKind) -> bool:
    """Returns True if a rule for tools of one kind grants the use of another."""
    return used in _COVERED.get(granted, frozenset({granted}))


def is_shell(name: str) -> bool:
    return kind_of_tool(name) is ToolKind.COMMAND


def is_reader(name: str) -> bool:
    return kind_of_tool(name) in _READERS


def is_writer(name: str) -> bool:
    return kind_of_tool(name) in _WRITERS
