"""The chat on a real terminal: what a person sees, types and stops."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator

import pytest

from cli.chat.chat_setup import counting
from cli.shell import METIER, Shell
from guards import eventually
from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, says

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
STORY = "# A story\n\nIt **begins** here.\n\n" + "and so on " * 400


def script(request: ModelRequest) -> ModelAnswer:
    if "count" in request.user and request.body["messages"][-1]["role"] == "user":
        return calls("word-count_count", args=["one two three"])
    if "story" in request.user:
        return says(STORY, pause=0.02)
    return says(f"You said:\n\n- *{request.user}*\n- and **that** is all")


class Screen:
    """A terminal of 100 by 30, in tmux: what it shows is what a person sees, not what was sent."""

    def __init__(self, shell: Shell, *words: str, **variables: str) -> None:
        self.name = f"metier-{uuid.uuid4().hex[:8]}"
        pairs = [f"{key}={value}" for key, value in {**shell.with_(variables), "TERM": "screen-256color"}.items()]
        line = " ".join(["exec env -i", *(f"'{pair}'" for pair in pairs), METIER, *words])
        self._tmux("new-session", "-d", "-x", "100", "-y", "30", "-c", str(shell.project), line)
        self._tmux("set-option", "-g", "remain-on-exit", "on")

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-L", self.name, "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "TERM": "xterm"}).stdout

    @property
    def text(self) -> str:
        return self._tmux("capture-pane", "-p", "-S", "-200")

    def type(self, text: str, *, enter: bool = True) -> None:
        self._tmux("send-keys", "-l", text)
        if enter:
            self.press("Enter")

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def until(self, pattern: str) -> str:
        shown = ""

        def matches() -> bool:
            nonlocal shown
            shown = self.text
            return re.search(pattern, shown) is not None

        try:
            eventually(matches, f"{pattern!r} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}:\n{shown}") from None
        return shown

    def has_ended(self) -> bool:
        return self._tmux("display-message", "-p", "#{pane_dead}").strip() == "1"

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self.name, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(script) as server:
        yield server


@pytest.fixture
def shell(shell: Shell, model: ModelServer) -> Shell:
    return counting(shell, model)


@pytest.fixture
def screens() -> Iterator[list[Screen]]:
    opened: list[Screen] = []
    yield opened
    for screen in opened:
        screen.close()


def started(screens: list[Screen], shell: Shell, *words: str, **variables: str) -> Screen:
    screen = Screen(shell, "chat", *words, **variables)
    screens.append(screen)
    screen.until(r"(?m)^> *$")
    return screen


def test_a_turn_shows_the_skill_the_tool_its_sandbox_and_markdown(shell: Shell, screens: list[Screen]) -> None:
    screen = started(screens, shell)
    screen.type("please count the words")
    shown = screen.until(r"and that is all[\s\S]*skills: word-count")
    assert re.search(r"● word-count +trigger matched, \d+ tokens", shown)
    assert re.search(r"✓ word-count_count one two three +[\d.]+ s, namespace sandbox", shown)
    assert "•" in shown  # a list, not its asterisks
    assert "**" not in shown
    status = shown.strip().splitlines()[-1]
    assert re.search(r"gpt-4o · skills: word-count · [\d,]+ tokens · \$0\.\d+", status)


def test_a_script_that_takes_its_time_spins_with_the_level_of_its_sandbox(shell: Shell, screens: list[Screen]) -> None:
    slow = '"""Counts slowly."""\nimport time\ntime.sleep(3)\nprint("6 words")\n'
    (shell.skills / "word-count/scripts/count.py").write_text(slow)
    screen = started(screens, shell)
    screen.type("please count the words")
    screen.until(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] word-count_count one two three +\(scripts/count\.py in the namespace sandbox\)")
    screen.until(r"✓ word-count_count one two three")


def test_the_answer_arrives_while_it_is_written_and_ctrl_c_stops_it_not_the_program(
    shell: Shell, model: ModelServer, screens: list[Screen]
) -> None:
    screen = started(screens, shell)
    screen.type("tell me a story")
    screen.until(r"It begins here\.[\s\S]*and so on and so on")
    assert model.hung_up == 0
    screen.press("C-c")
    shown = screen.until(r"stopped by the user[\s\S]*\n> *\n")
    assert shown.count("and so on") < 400
    assert shown.count("It begins here.") == 1
    # The paragraph that was cut off begins once: what follows an empty line starts a paragraph.
    assert len(re.findall(r"(?m)^ *\n *and so on", shown)) == 1
    screen.type("still there?")
    screen.until(r"still there\?[\s\S]*and that is all")
    assert not screen.has_ended()


def test_at_the_prompt_ctrl_c_only_clears_and_ctrl_d_quits(shell: Shell, screens: list[Screen]) -> None:
    screen = started(screens, shell)
    screen.type("half a thou", enter=False)
    screen.press("C-c")
    screen.until(r"Press Ctrl-D or type /quit to quit")
    assert not screen.has_ended()
    screen.press("C-d")
    eventually(screen.has_ended, "the program ends")
    assert "Traceback" not in screen.text


@pytest.mark.parametrize(("key", "ran"), [("y", True), ("yes", True), ("n", False)])
def test_an_approval_is_asked_in_between(shell: Shell, screens: list[Screen], key: str, ran: bool) -> None:
    screen = started(screens, shell, METIER_POLICY_SCRIPTS="ask")
    screen.type("please count the words")
    screen.until(r"\? word-count wants to use Script\(scripts/count\.py\)[\s\S]*\$ scripts/count\.py 'one two three'")
    screen.until(r"Allow\? \[y\]es once, \[a\]lways, \[n\]o, \[\?\] help:")
    screen.type("?")
    screen.until(r"a, always  allow it until the skill changes")
    screen.type(key)
    shown = screen.until(r"and that is all")
    assert bool(re.search(r"✓ word-count_count", shown)) is ran
    assert bool(re.search(r"not allowed", shown)) is not ran


def test_commands_are_completed_and_done(shell: Shell, screens: list[Screen]) -> None:
    screen = started(screens, shell)
    screen.type("/sk", enter=False)
    screen.until(r"/skills +list the skills")
    screen.type("ills")
    screen.until(r"word-count +Does it\.")
    screen.type("/skill word-count")
    screen.until(r"● word-count is active")
    screen.type("/unskill word-count")
    screen.until(r"○ word-count: no longer active")
    screen.type("/nonsense")
    screen.until(r"unknown command or skill 'nonsense'")
    screen.type("/quit")


def test_a_message_may_have_several_lines(shell: Shell, model: ModelServer, screens: list[Screen]) -> None:
    screen = started(screens, shell)
    screen.type("first line\\")
    screen.type("second line", enter=False)
    screen.press("M-Enter")
    screen.type("third line")
    screen.until(r"and that is all")
    assert model.requests[0].user == "first line\nsecond line\nthird line"


def test_a_conversation_is_gone_on_with(shell: Shell, screens: list[Screen]) -> None:
    first = started(screens, shell)
    first.type("please count the words")
    first.until(r"and that is all[\s\S]*\n> *\n")
    first.press("C-d")
    first.until(r"metier chat --continue`, or later with `metier chat --resume \w{8}`")
    second = Screen(shell, "chat", "--continue")
    screens.append(second)
    shown = second.until(r"1 turn so far; active skills: word-count[\s\S]*> please count the words[\s\S]*and that is all")
    assert "**" not in shown
    second.type("and more")
    second.until(r"You said:[\s\S]*and more[\s\S]*and that is all")


def test_without_a_model_it_shows_what_one_would_receive(shell: Shell, screens: list[Screen]) -> None:
    del shell.environment["METIER_MODEL_NAME"]
    screen = started(screens, shell)
    assert "No model is set" in screen.text
    screen.type("please count the words")
    shown = screen.until(r"A model would receive about [\d,]+ tokens before your message; /prompt shows them")
    assert "### word-count" not in shown
    screen.type("/prompt")
    screen.until(r"### word-count")


def test_a_conversation_is_picked_from_a_list(shell: Shell, screens: list[Screen]) -> None:
    shell("run", "the first one")
    shell("run", "the second one")
    screen = Screen(shell, "chat", "--resume")
    screens.append(screen)
    screen.until(r"Which conversation\?[\s\S]*the second one[\s\S]*the first one")
    screen.press("Down")
    screen.press("Enter")
    screen.until(r"1 turn so far[\s\S]*> the first one")
