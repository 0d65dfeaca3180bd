"""Files that shell commands write, by redirection, tee, cp and similar: start-up files, jobs, keys, the agent's own files."""

from __future__ import annotations

import re

from metier.scan.collector import FindingCollector
from metier.scan.expressions import text_pattern
from metier.scan.readers.shell import Pipeline, ShellCommand
from metier.scan.scale import Confidence
from metier.scan.text import SkillText

__all__ = ["SEVERE_JOB", "judge_writes"]

_STARTUP = text_pattern(
    r"(?:~|\$home|\$\{home\}|/root|/home/\w+|/etc)?/?\.?(?:bashrc|zshrc|bash_profile|zprofile|zshenv|profile|bash_login"
    r"|zlogin|config/fish/config\.fish|etc/profile(?:\.d/.*)?|etc/environment|etc/ld\.so\.preload)$"
)
_JOBS = text_pattern(
    r"/etc/cron|/var/spool/cron|/etc/systemd/system/|\.config/systemd/user/|library/launch(?:agents|daemons)/"
    r"|\.config/autostart/|/etc/rc\.local|/etc/init\.d/|start menu/programs/startup"
)
_AGENT_FILES = text_pattern(
    r"(?:^|/)(?:claude\.md|agents\.md|soul\.md|memory\.md|identity\.md|gemini\.md|copilot-instructions\.md|\.cursorrules"
    r"|\.windsurfrules|\.clinerules|\.claude/settings(?:\.local)?\.json|\.claude\.json|\.mcp\.json|\.cursor/mcp\.json"
    r"|\.claude/(?:skills|hooks|agents|commands)/.*)$"
)
_ORDINARY_LINE = text_pattern(
    r"^\s*(?:export\s+\w+=[^;|&`]*|alias\s[^|`]*|source\s[^|;]*|\. [^|;]*|eval \"?\$\((?:[\w/~$][\w./-]* )*(?:init|hook"
    r"|shellenv|env|completion|activate)[^|;]*|path=.*|set -gx? .*|autoload.*|fpath.*|#.*|\s*|compinit.*|\[\[?.*)$"
)
SEVERE_JOB = text_pattern(
    r"(?:curl|wget)[^\n]{0,300}\|\s{0,8}(?:ba|z)?sh|base64 -|/dev/tcp|@reboot[^\n]{0,200}(?:curl|/tmp/|nohup)"
)


def judge_writes(command: ShellCommand, pipeline: Pipeline, text: SkillText, collector: FindingCollector) -> None:
    """Judges the files that one command writes."""
    targets = [target for operator, target in command.redirects if operator in (">", ">>", "&>", "&>>", ">|")]
    if command.name == "tee":
        targets += [word for word in command.arguments if not word.startswith("-")]
    elif command.name in ("cp", "mv", "ln", "install", "ditto", "rsync") and len(command.words) > 2:
        targets.append(command.words[-1])
    for target in targets:
        low = target.lower()
        if low.startswith(("~", "/", "$home")) and not low.startswith(("/dev/", "/tmp")):  # noqa: S108 - a word, no file
            collector.add_capability("writes", target)
        if _STARTUP.search(low):
            _startup(command, pipeline, text, collector, target)
        elif _JOBS.search(low):
            # A third party's job has no reason to use Apple's name.
            written = f"{' '.join(command.words)} {command.body} {low}".lower()
            confidence = Confidence.HIGH if "com.apple." in written or SEVERE_JOB.search(written) else None
            collector.flag("SK512", f"writes a scheduled job to {target}", text=text, at=command.at, confidence=confidence)
        elif "authorized_keys" in low:
            # Copying an existing list of keys adds no new key.
            is_copy = any("authorized_keys" in word for word in command.arguments[:-1])
            confidence = Confidence.MEDIUM if is_copy else None
            collector.flag("SK513", "adds an SSH key that can log in", text=text, at=command.at, confidence=confidence)
        elif _AGENT_FILES.search(low):
            confidence = (
                Confidence.MEDIUM
                if low.endswith(("soul.md", "memory.md", "settings.json", "settings.local.json"))
                else Confidence.LOW
            )
            collector.flag("SK406", f"writes to {target}", text=text, at=command.at, confidence=confidence)
        elif "sudoers" in low:
            wide = re.search(r"nopasswd ?: ?all\b", text.low[max(0, command.at - 300) : command.at + 300])
            collector.flag(
                "SK522",
                "changes who can become root",
                text=text,
                at=command.at,
                confidence=Confidence.HIGH if wide else Confidence.MEDIUM,
            )
        elif "/.git/hooks/" in low or low.startswith(".git/hooks/"):
            collector.flag("SK507", "installs a git hook", text=text, at=command.at, confidence=Confidence.LOW)
        elif re.search(r"/dev/(?:sd|nvme|hd|disk|mmcblk)", low):
            collector.flag("SK531", f"overwrites {target}", text=text, at=command.at)
        elif low.startswith("/var/log/") and command.name in ("", ":", "echo", "cat", "true") and not command.arguments:
            collector.flag("SK533", f"empties {target}", text=text, at=command.at)
        elif low.endswith(("_history",)):
            collector.flag("SK533", "overwrites the shell history", text=text, at=command.at)


def _startup(command: ShellCommand, pipeline: Pipeline, text: SkillText, collector: FindingCollector, target: str) -> None:
    written = "\n".join((command.body, *(" ".join(one.arguments) for one in pipeline if one.name in ("echo", "printf"))))
    lines = [line.strip("'\"") for line in written.lower().replace("\\n", "\n").split("\n")]
    is_ordinary = all(_ORDINARY_LINE.match(line) for line in lines)
    is_severe = "ld.so.preload" in target or re.search(
        r"curl |wget |base64|/dev/tcp|nohup|\bnc\b|ld_preload|LD_PRELOAD|BASH_ENV=|DYLD_INSERT|&\s*$|python\S* -c|preload",
        written,
    )
    confidence = Confidence.HIGH if is_severe else Confidence.LOW if is_ordinary else Confidence.MEDIUM
    collector.flag("SK511", f"adds to {target}", text=text, at=command.at, confidence=confidence)
