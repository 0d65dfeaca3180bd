"""A home with one skill that counts words, and a scripted model to talk with about it."""

from __future__ import annotations

from cli.shell import Shell
from engine_builders import COUNT
from metier.testing import ModelServer

__all__ = ["counting"]


def counting(shell: Shell, model: ModelServer) -> Shell:
    folder = shell.skill("word-count", head="triggers:\n  keywords: [count]")
    (folder / "scripts").mkdir()
    (folder / "scripts/count.py").write_text(COUNT)
    shell.environment |= {
        "METIER_POLICY_WORKSPACE_READ": "deny",  # no question about the folder
        "METIER_SKILLS_ENABLED_BUNDLED": "none",
        "METIER_MODEL_NAME": "gpt-4o",
        "METIER_MODEL_BASE_URL": model.url,
        "PATH": "/usr/bin:/bin",
    }
    return shell
