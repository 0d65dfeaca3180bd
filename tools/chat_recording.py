"""Records docs/chat.svg: a real chat on a terminal with a scripted model.

    .venv/bin/python -m tools.chat_recording

Needs tmux. Only the answers of the model are scripted: skills are selected, activated and run in the sandbox.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, says, skill_folder

ROOT = Path(__file__).resolve().parent.parent
CSV = "month,sales\njan,120\nfeb,135\nmar,160\napr,158\n"
REQUEST = "Describe the data in sales.csv, in our report style: jan 120, feb 135, mar 160, apr 158"
ANSWER = """\
**Sales grew by a third since January.**

| month | sales | change |
|---|---|---|
| jan | 120 | |
| feb | 135 | +12.5 % |
| mar | 160 | +18.5 % |
| apr | 158 | -1.3 % |

The mean is **143.25** a month; March was the best.
"""
COLUMNS, ROWS = 92, 60


def script(request: ModelRequest) -> ModelAnswer:
    """The model loads the second skill by itself, runs its script, and answers."""
    results = sum(message["role"] == "tool" for message in request.body["messages"])
    if results == 0:
        return calls("load_skill", skill_name="data-analysis")
    if results == 1:
        arguments = {"skill_name": "data-analysis", "script_name": "scripts/analyze.py", "args": ["summary", "-"]}
        return calls("run_skill_script", **arguments, stdin=CSV)
    return says(ANSWER, pause=0.01)


def main() -> int:
    if shutil.which("tmux") is None:
        print("needs tmux", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, ModelServer(script) as model:
        home = Path(folder)
        skill_folder(
            home / ".metier/skills", "report-style", head="triggers:\n  keywords: [report style]",
            body="Lead with the finding, in bold. Then one table. Then one sentence. No adjectives.\n",
        )  # fmt: skip
        screen = _record(home, model.url)
    console = Console(record=True, width=COLUMNS, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(Text.from_ansi(screen), end="")
    (ROOT / "docs/chat.svg").write_text(console.export_svg(title="metier chat"), encoding="utf-8")
    return 0


def _record(home: Path, url: str) -> str:
    metier = Path(sys.executable).parent / "metier"
    variables = {
        "HOME": home, "METIER_HOME": home / ".metier", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "screen-256color",
        "COLORTERM": "truecolor", "METIER_MODEL_NAME": "gpt-4o", "METIER_MODEL_BASE_URL": url,
    }  # fmt: skip
    pairs = " ".join(f"'{name}={value}'" for name, value in variables.items())

    def tmux(*words: str) -> str:
        return subprocess.run(
            ["tmux", "-L", home.name, "-f", "/dev/null", *words], check=True, capture_output=True, text=True
        ).stdout

    def until(pattern: str) -> str:
        for _ in range(600):
            shown = tmux("capture-pane", "-p")
            if re.search(pattern, shown):
                return tmux("capture-pane", "-p", "-e")
            time.sleep(0.1)
        raise SystemExit(f"{pattern!r} did not appear:\n{tmux('capture-pane', '-p')}")

    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-c", str(home), f"exec env -i {pairs} {metier} chat")
    try:
        until(r"(?m)^> *$")
        tmux("send-keys", "-l", REQUEST)
        tmux("send-keys", "Enter")
        until(r"March was the best\.[\s\S]*\n> *\n")
        tmux("send-keys", "-l", "/why")
        tmux("send-keys", "Enter")
        shown = until(r"of \d+ skills, for the last message\n(?:●.*\n)*> *\n").rstrip()
        # The status line is at the bottom of the terminal; the recording shows it right below the prompt.
        return re.sub(r"\n(?:[^\S\n]*\n)+(?=[^\n]*\Z)", "\n\n", shown)
    finally:
        tmux("kill-server")


if __name__ == "__main__":
    sys.exit(main())
