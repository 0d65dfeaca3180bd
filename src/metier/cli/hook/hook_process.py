"""The program behind `metier hook run`, which other agents start for each prompt.

It is called before click and the settings are imported, because the user waits for it. It never fails a prompt: whatever goes
wrong, it prints nothing and exits with 0, and `metier hook status` shows the error. The snapshot is brought up to date in a
process of its own, after the answer is written.
"""

from __future__ import annotations

import os
import sys

from metier.hosts import PROMPT_HOOKS

__all__ = ["run_hook"]

_SECONDS = 2.0
"""Then it gives up: a prompt is worth more than a hint."""
_REFRESH_SECONDS = 120.0
_MAX_INPUT = 4 * 1024 * 1024


def run_hook(words: list[str]) -> int:
    """Answers the prompt on standard input for the agent that is named. Returns 0 always."""
    host = words[0] if words else ""
    if host not in PROMPT_HOOKS:
        return 0
    _give_up_later()
    user_home = os.environ.get("HOME") or os.path.expanduser("~")
    home = os.path.abspath(os.environ.get("METIER_HOME") or os.path.join(user_home, ".metier"))
    try:
        _answer(host, home)
    except Exception as error:  # an agent's prompt must not fail because of us
        _record_error(home, f"{type(error).__name__}: {error}")
    # The interpreter restores the default handler while it ends, and a late signal would then be an error for the agent.
    _set_timer(0)
    return 0


def _answer(host: str, home: str) -> None:
    from metier import __version__
    from metier.router import HookRecords, answer_prompt, file_signature, find_route, open_snapshot, read_request, snapshot_file

    request = read_request(host, sys.stdin.buffer.read(_MAX_INPUT), folder=os.getcwd())
    if request is None:
        return
    cache = os.path.join(home, "cache", "router")
    folder = os.path.realpath(request.folder)
    snapshot = open_snapshot(snapshot_file(cache, host, folder), __version__)
    # The first prompt in a new project is answered from the user's own skills.
    shown = snapshot or open_snapshot(snapshot_file(cache, host, ""), __version__)
    records = HookRecords(os.path.join(home, "router"))
    route = None
    if shown and not shown.is_silent and all(file_signature(file) == known for file, known in shown.watched.items()):
        route = find_route(host, request.prompt, shown, named=records.named_in(request.session))
    if route:
        sys.stdout.write(answer_prompt(host, route))
        sys.stdout.flush()
    if _is_child():
        _bring_up_to_date(host, folder, home, named=(request.session, route.skill.name if route else ""))


def _is_child() -> bool:
    """Forks. The agent waits until our process has ended and its output is closed; the child goes on without both."""
    if os.fork():
        return False
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.nice(10)
    return True


def _bring_up_to_date(host: str, folder: str, home: str, *, named: tuple[str, str]) -> None:
    """Records the skill that was named, and refreshes the snapshots. Runs in the child, which then ends."""
    import signal

    signal.setitimer(signal.ITIMER_REAL, _REFRESH_SECONDS)
    try:
        from metier.app import App
        from metier.sources import file_lock

        router = App(folder=folder).router
        if named[1]:
            router.records.record_named(*named)
        with file_lock(os.path.join(home, "router", "refresh")):
            router.refresh(host, folder)
            router.refresh(host, "")
            router.records.remove_old_sessions()
    except Exception as error:  # there is no one to raise it to
        _record_error(home, f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)


def _give_up_later() -> None:
    import signal

    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    _set_timer(_SECONDS)


def _set_timer(seconds: float) -> None:
    import signal

    signal.setitimer(signal.ITIMER_REAL, seconds)


def _record_error(home: str, text: str) -> None:
    from metier.router import HookRecords

    try:
        HookRecords(os.path.join(home, "router")).record_error(text)
    except OSError:
        pass
