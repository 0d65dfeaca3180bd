"""The router: names the skill that fits a prompt of another agent, in a process that the agent starts for each prompt.

The process reads a snapshot: the skills that the agent can see in this project, and their index. A snapshot is brought up to
date behind the prompt, so a changed library never makes the user wait.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .prompt_answer import PromptRequest, RoutedSkill, answer_prompt, find_route, read_request
    from .records import HookRecords
    from .snapshot import RouteSkill, RouteSnapshot, open_snapshot, snapshot_file, write_snapshot
    from .visible_skills import LibraryState, file_signature, library_state, visible_folders

__all__ = [
    "HookRecords",
    "LibraryState",
    "PromptRequest",
    "RouteSkill",
    "RouteSnapshot",
    "RoutedSkill",
    "answer_prompt",
    "file_signature",
    "find_route",
    "library_state",
    "open_snapshot",
    "read_request",
    "snapshot_file",
    "visible_folders",
    "write_snapshot",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.router.prompt_answer": ("PromptRequest", "RoutedSkill", "answer_prompt", "find_route", "read_request"),
            "metier.router.records": ("HookRecords",),
            "metier.router.snapshot": ("RouteSkill", "RouteSnapshot", "open_snapshot", "snapshot_file", "write_snapshot"),
            "metier.router.visible_skills": (
                "LibraryState",
                "file_signature",
                "library_state",
                "visible_folders",
            ),
        },
    )
