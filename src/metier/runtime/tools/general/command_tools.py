"""Tools that run something: run_command, run_code, and read_output and stop_command for long ones.

They run in the sandbox, in the workspace, or without one in the scratch folder of the run, which is empty and removed with it.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from metier.disclosure import escape_xml
from metier.errors import plural
from metier.runtime import events
from metier.runtime.async_bridge import in_thread
from metier.runtime.network.connections import ConnectionDecision, hosts_of
from metier.runtime.policy.patterns import ToolRequest, command_request
from metier.runtime.policy.permissions import script_tool_request
from metier.runtime.policy.tool_names import ToolKind
from metier.runtime.script_run import Outcome, ScriptRun
from metier.runtime.session_options import ScriptChecker
from metier.runtime.tool_errors import BadArgumentsError
from metier.runtime.tools.schema import Schema, object_schema
from metier.runtime.tools.tool import Tool, ToolFunction, ToolReply
from metier.spec import Json, PackageEcosystem
from metier.values import dataclass, replace

from .command_output import CommandOutput, output_text
from .confined_call import (
    Permit,
    authorise,
    emit_taken,
    find_call_grants,
    find_call_packages,
    is_offered,
    plan_run,
    recent_skills,
    run_confined,
)
from .own_program import own_program, python_program

if TYPE_CHECKING:
    from metier.runtime.session import Session

__all__ = ["command_tools"]

_PAGE = 30_000
"""Characters of output in one reply."""
_HOSTS: Schema = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Hosts that it must reach, such as api.github.com; the user is asked. None by default.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """One command or program, and the permission that it needs."""

    tool: str
    text: str
    run: ScriptRun
    request: ToolRequest
    script: ToolRequest | None = None
    seconds: float | None = None
    hosts: tuple[str, ...] = ()
    """Hosts that the model asks for; the user decides about each."""
    kinds: tuple[PackageEcosystem, ...] = (PackageEcosystem.PYTHON, PackageEcosystem.NPM)
    """Packages of active skills that it can use, the preferred ones first."""


def command_tools(session: Session, *, is_static: bool) -> Iterator[Tool]:
    """The tools for output are offered once there is some, or always in a list that stands still."""
    runs = [tool(session) for kind, tool in ((ToolKind.COMMAND, _command_tool), (ToolKind.CODE, _code_tool))
            if is_offered(session, kind)]  # fmt: skip
    yield from runs
    if runs and (is_static or session.commands.has_outputs):
        yield _output_tool(session)
        yield _stop_tool(session)


def _command_tool(session: Session) -> Tool:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        line = str(arguments["command"])
        if not line.strip():
            raise BadArgumentsError("the command is empty", hint="give a shell line, such as git status")
        request = replace(command_request(ToolKind.COMMAND, line), is_confined=True)
        script = await in_thread(_script_request, session, request.argv)
        if script is not None:
            # A rule for the script holds for this command too.
            request = replace(request, also=(replace(script, also=()), *script.also))
        before, readable = own_program(line)
        code = f"{before}{line}\n".encode("utf-8", "surrogatepass")
        run = ScriptRun(script=_shell(session), code=code, stdin=_stdin(arguments), inputs=readable)
        command = CommandCall(
            tool="run_command", text=line, run=run, request=request, script=script, seconds=_seconds(arguments),
            hosts=_hosts(arguments),
        )  # fmt: skip
        return await _execute(session, command, background=arguments.get("background") is True)

    properties: dict[str, Schema] = {
        "command": _string("A shell line. It starts in the workspace; the sandbox forgets /tmp and reaches only `hosts`."),
        "stdin": _string("Its standard input; empty by default."),
        "timeout": _timeout(session),
        "hosts": _HOSTS,
        "background": {"type": "boolean", "description": "Return a handle at once; read_output shows what it prints."},
    }
    about = "Run a shell command in a sandbox and return its exit code and output."
    return _tool(session, "run_command", about, properties, ("command",), call)


def _code_tool(session: Session) -> Tool:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        code = str(arguments["code"])
        # Patterns for a shell see the same code as a command line: a denied `git push` is found in it.
        as_command = ToolRequest(
            tool=ToolKind.COMMAND, argument=f"python3 -c {_quoted(code)}", argv=("python3", "-c", code), is_command=True
        )
        request = ToolRequest(tool=ToolKind.CODE, argument=code, is_confined=True, also=(as_command,))
        run = ScriptRun(script="code.py", code=code.encode("utf-8", "surrogatepass"), stdin=_stdin(arguments))
        command = CommandCall(
            tool="run_code", text=code, run=run, request=request, seconds=_seconds(arguments), hosts=_hosts(arguments),
            kinds=(PackageEcosystem.PYTHON,),
        )  # fmt: skip
        return await _execute(session, command, background=arguments.get("background") is True)

    properties: dict[str, Schema] = {
        "code": _string("A Python program. It starts in the workspace; what it prints is returned."),
        "stdin": _string("Its standard input; empty by default."),
        "timeout": _timeout(session),
        "hosts": _HOSTS,
        "background": {"type": "boolean", "description": "Return a handle at once; read_output shows what it prints."},
    }
    return _tool(session, "run_code", "Run Python code in a sandbox and return what it printed.", properties, ("code",), call)


def _output_tool(session: Session) -> Tool:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        output = session.commands.get(str(arguments["handle"]))
        wait, offset = arguments.get("wait"), arguments.get("offset")
        if output.task is not None and output.is_running and isinstance(wait, int | float) and wait > 0:
            await asyncio.wait([output.task], timeout=min(float(wait), session.options.limits.seconds))
        return _page("read_output", output, int(offset) if isinstance(offset, int | float) else 0)

    properties: dict[str, Schema] = {
        "handle": _string("The handle, such as c1."),
        "offset": {"type": "integer", "minimum": 0, "description": "Where to start, in characters, to read on."},
        "wait": {"type": "number", "minimum": 0, "description": "Seconds to wait for a running command to end."},
    }
    about = "Read the output of a command in the background, or more of a long output."
    return _tool(session, "read_output", about, properties, ("handle",), call)


def _stop_tool(session: Session) -> Tool:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        output = session.commands.get(str(arguments["handle"]))
        was_running = output.is_running
        output.stop()
        if was_running and output.task is not None:
            await asyncio.wait([output.task])
        return ToolReply(text=f"{output.handle} {'was stopped' if was_running else f'had ended: {output.state}'}.")

    properties = {"handle": _string("The handle, such as c1.")}
    return _tool(session, "stop_command", "Stop a command in the background.", properties, ("handle",), call)


async def _execute(session: Session, call: CommandCall, *, background: bool) -> ToolReply:
    permit = await authorise(session, call.request, script=call.script)
    most = session.options.background_seconds if background else session.options.limits.seconds
    seconds = min(most, call.seconds or most)
    grants = await in_thread(find_call_grants, session, call.hosts, call.text)
    # The log of a command in the background is read while it grows, before values in it could be hidden.
    secrets = {} if background else grants.secrets
    packages, remarks = await in_thread(find_call_packages, session, call.text, call.kinds)
    run = call.run
    if packages and packages.python and call.tool == "run_command":
        before, readable = python_program(call.text, packages.python)
        run = replace(run, code=before.encode() + (run.code or b""), inputs=(*run.inputs, *readable))
    granted = replace(
        run, hosts=tuple(grants.hosts), masked=tuple(grants.masked), secrets=secrets, packages=packages
    )  # fmt: skip
    if background:
        run = await in_thread(plan_run, session, granted, skill=permit.skill, seconds=seconds)
        return _start(session, call, run, permit)
    async with session.commands.turn:
        run = await in_thread(plan_run, session, granted, skill=permit.skill, seconds=seconds)
        outcome = await run_confined(session, run)
    outcome = replace(outcome, notes=(*outcome.notes, *grants.notes, *remarks))
    _emit(session, call, permit, outcome)
    text = output_text(outcome)
    output = session.commands.keep(call.text, outcome) if len(text) > _PAGE else CommandOutput("", call.text)
    output.outcome = outcome
    return _page(call.tool, output, 0)


def _start(session: Session, call: CommandCall, run: ScriptRun, permit: Permit) -> ToolReply:
    output = session.commands.start(
        call.text,
        lambda log: run_confined(session, replace(run, log=log)),
        lambda outcome: _emit(session, call, permit, outcome),
    )
    event = events.ActionTaken(
        timestamp=session.services.clock(), tool=call.tool, command=call.text, handle=output.handle
    )  # fmt: skip
    emit_taken(session, permit, event)
    text = (
        f"Started in the background as {output.handle}. read_output with this handle shows its output, stop_command ends it; "
        "it ends with the session."
    )
    return ToolReply(text=text, summary=f"in the background as {output.handle}")


def _page(tool: str, output: CommandOutput, offset: int) -> ToolReply:
    text = output.text()
    part = text[offset : offset + _PAGE]
    handle = f' handle="{output.handle}"' if output.handle else ""
    head = f'<tool_output tool="{tool}"{handle} ended="{escape_xml(output.state)}" untrusted="true">'
    if output.is_running:
        head = head.replace(' ended="running"', ' state="running"')
    rest = len(text) - offset - len(part)
    how = f"read_output with handle {output.handle} and offset {offset + len(part)} reads on"
    more = f"\n[{plural(rest, 'more character')}; {how}]"
    ok = output.is_running or (output.outcome is not None and output.outcome.ok) or tool == "read_output"
    size = _size(output.outcome) if output.outcome is not None else len(text)
    return ToolReply(
        text="\n".join(filter(None, (head, part + (more if rest > 0 else ""), "</tool_output>"))), ok=ok,
        code="" if ok else "command-failed", outcome=output.outcome, summary=f"{output.state}, {plural(size, 'byte')}",
    )  # fmt: skip


def _emit(session: Session, call: CommandCall, permit: Permit, outcome: Outcome) -> None:
    event = events.ActionTaken(
        timestamp=session.services.clock(), tool=call.tool, command=call.text, size=_size(outcome),
        exit_code=outcome.exit_code, duration=outcome.duration, level=outcome.isolation.level,
        contacted=hosts_of(outcome.connections, ConnectionDecision.ALLOWED),
        denied=hosts_of(outcome.connections, ConnectionDecision.REFUSED),
    )  # fmt: skip
    emit_taken(session, permit, event)


def _size(outcome: Outcome) -> int:
    return len(outcome.stdout.encode("utf-8", "replace")) + len(outcome.stderr.encode("utf-8", "replace"))


def _shell(session: Session) -> str:
    """bash if there is one: that is what skills are written for."""
    runner: object = session.services.runner
    problem = runner.problem("command.bash", b"") if isinstance(runner, ScriptChecker) else ""
    return "command.sh" if problem else "command.bash"


def _script_request(session: Session, argv: tuple[str, ...]) -> ToolRequest | None:
    """Returns the request for a script of an active skill, if the command does nothing but run it by its full path."""
    for skill in recent_skills(session) if argv else ():
        folder = session.skills.folder(skill.name)
        known = {f"{folder}/{script.path}": script.path for script in session.scripts(skill)}
        for place, word in enumerate(argv[:3]):
            script = known.get(posixpath.normpath(word))
            if script is None:
                continue
            request = script_tool_request(skill.name, script, argv[place + 1 :])
            starts = {each.argv[: -len(argv[place:])] for each in request.also if each.argv}
            if argv[:place] in starts:
                return request
    return None


def _stdin(arguments: Mapping[str, Json]) -> bytes | None:
    given = arguments.get("stdin")
    return given.encode("utf-8", "surrogatepass") if isinstance(given, str) and given else None


def _hosts(arguments: Mapping[str, Json]) -> tuple[str, ...]:
    given = arguments.get("hosts")
    return tuple(map(str, given)) if isinstance(given, list) else ()


def _seconds(arguments: Mapping[str, Json]) -> float | None:
    given = arguments.get("timeout")
    return float(given) if isinstance(given, int | float) else None


def _timeout(session: Session) -> Schema:
    most = f"{session.options.limits.seconds:g}"
    about = f"Seconds; at most {most}, or {session.options.background_seconds:g} in the background."
    return {"type": "number", "minimum": 1, "description": about}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _tool(
    session: Session, name: str, about: str, properties: Mapping[str, Schema], required: tuple[str, ...], function: ToolFunction
) -> Tool:
    schema = object_schema(properties, required)
    return Tool(name=name, description=about, schema=schema, function=function, follow=session.follow_call)


def _string(about: str) -> Schema:
    return {"type": "string", "description": about}
