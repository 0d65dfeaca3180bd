"""The general tools of a session. They are offered only if its options say so and it has a runner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metier.runtime.tools.tool import Tool

from .command_tools import command_tools
from .file_tools import file_tools

if TYPE_CHECKING:
    from metier.runtime.session import Session

__all__ = ["general_tools"]


def general_tools(session: Session, *, is_static: bool = False) -> tuple[Tool, ...]:
    if not session.options.general_tools or session.services.runner is None:
        return ()
    files = tuple(file_tools(session)) if session.workspace is not None else ()
    return (*files, *command_tools(session, is_static=is_static))
