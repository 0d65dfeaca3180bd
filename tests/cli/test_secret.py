"""`metier secret`, and what other commands say about secrets and hosts."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from cli.shell import Shell

OPENS_SOCKET = """
import os, socket
try:
    socket.socket()
    print('network', os.environ.get('HTTPS_PROXY'))
except OSError:
    print('no network')
"""
READS_KEY = "import os\nprint(os.environ.get('API_KEY', 'none'))\n"


@pytest.fixture
def shell(shell: Shell) -> Shell:
    shell.environment |= {
        "PATH": "/usr/bin:/bin",
        "METIER_SKILLS_ENABLED_BUNDLED": "none",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
    }
    return shell


def caller(shell: Shell, head: str = "", source: str = READS_KEY) -> Path:
    folder = shell.skill("caller", head=head)
    (folder / "scripts").mkdir()
    (folder / "scripts/go.py").write_text(source)
    return folder


def stored(shell: Shell, value: str, *words: str) -> str:
    """Stores a secret from a file on standard input; returns what was printed."""
    file = shell.project / "value"
    file.write_text(value)
    out = shell("secret", "set", *words, "--stdin", stdin=str(file)).ok().out
    file.unlink()
    return out


def test_a_secret_is_stored_listed_and_removed(shell: Shell) -> None:
    caller(shell)
    said = stored(shell, "s3cret-value\n", "API_KEY", "--skill", "caller", "--host", "API.example.com")
    assert said == "Stored API_KEY in a file that only you can read, for caller\n"
    assert stat.S_IMODE((shell.metier / "secrets.json").stat().st_mode) == 0o600
    assert shell("secret", "list").ok().out == "API_KEY  caller, to api.example.com, file\n"
    [row] = shell("secret", "list", "--json").data["secrets"]
    fields = {"name": "API_KEY", "skill": "caller", "hosts": ["api.example.com"], "in": ["headers"], "in_clear": False}
    assert row == {**fields, "vault": "file"}
    assert shell("secret", "remove", "API_KEY").ok().out == "Removed API_KEY\n"
    assert shell("secret", "ls").ok().out.startswith("No secrets")


def test_wrong_input_is_one_sentence_and_stores_nothing(shell: Shell) -> None:
    shell("secret", "set", "API_KEY=abc").failed(2, "not an argument", "metier secret set API_KEY")
    shell("secret", "set", "A B").failed(2, "'A B' is not a name for a secret")
    shell("secret", "set", "API_KEY").failed(2, "no terminal", "--stdin")
    shell("secret", "set", "API_KEY", "--stdin").failed(2, "the value is empty")
    shell("secret", "set", "API_KEY", "--skill", "nope", "--stdin").failed(3, "no skill is named 'nope'")
    shell("secret", "set", "API_KEY", "--host", "*", "--stdin").failed(2, "every host is not possible")
    shell("secret", "set", "API_KEY", "--in-clear", "--host", "a.example", "--stdin").failed(2, "--in-clear")
    shell("secret", "remove", "NOPE").failed(3, "no secret is named 'NOPE'")
    shell("secret", "set", "K", "--stdin", METIER_SECRETS_STORE="vault").failed(2, "secrets.store")
    assert not (shell.metier / "secrets.json").exists()


def test_a_secret_without_hosts_needs_a_grant_and_is_then_in_the_variable(shell: Shell) -> None:
    caller(shell)
    stored(shell, "s3cret-value", "API_KEY")
    refused = shell("skill", "run", "caller", "go")
    assert refused.out == "none\n"
    assert "without Secret(API_KEY)" in refused.err
    assert "the user can allow it with `metier policy allow 'Secret(API_KEY)' --skill caller`" in refused.err
    assert shell("skill", "run", "caller", "go", "--secret", "API_KEY").ok().out == "[API_KEY]\n"
    shell("policy", "allow", "Secret(API_KEY)", "--skill", "caller").ok()
    data = shell("skill", "run", "caller", "go", "--json").data
    assert (data["stdout"], data["notes"], data["connections"]) == ("[API_KEY]\n", [], [])
    shell("policy", "deny", "Secret(API_KEY)").ok()
    assert shell("skill", "run", "caller", "go").out == "none\n"
    shell("skill", "run", "caller", "go", "--secret", "API_KEY").failed(5, "may not use Secret(API_KEY)", "policy")
    shell("skill", "run", "caller", "go", "--secret", "OTHER").failed(3, "no secret is named OTHER", "metier secret set OTHER")


def test_a_change_of_the_skill_ends_the_grant(shell: Shell) -> None:
    folder = caller(shell)
    stored(shell, "s3cret-value", "API_KEY")
    shell("policy", "allow", "Secret(API_KEY)", "--skill", "caller").ok()
    assert shell("skill", "run", "caller", "go").ok().out == "[API_KEY]\n"
    (folder / "scripts/go.py").write_text(READS_KEY + "# changed\n")
    assert shell("skill", "run", "caller", "go").out == "none\n"


def test_show_and_doctor_name_the_command_for_a_missing_secret(shell: Shell) -> None:
    caller(shell, head="metadata:\n  network: api.example.com *.example.org:8443\n  env: API_KEY REGION_TOKEN")
    page = shell("skill", "show", "caller").ok().out
    assert "network       api.example.com, *.example.org:8443" in page
    assert "API_KEY (metadata.env): missing; run `metier secret set API_KEY --skill caller`" in page
    checks = shell("doctor").out
    assert "caller needs API_KEY, which is not stored" in checks
    assert "`metier secret set API_KEY --skill caller`" in checks
    stored(shell, "s3cret-value", "API_KEY")
    data = shell("skill", "show", "caller", "--json").data
    assert data["variables"] == [
        {"name": "API_KEY", "where": "metadata.env", "stored": True},
        {"name": "REGION_TOKEN", "where": "metadata.env", "stored": False},
    ]
    assert data["extensions"]["network"] == ["api.example.com", "*.example.org:8443"]
    assert "1 secret stored" in shell("doctor").out


def test_hosts_in_a_manifest_are_linted(shell: Shell) -> None:
    caller(shell, head="metadata:\n  network: https://api.example.com/v1\n  env: API_KEY=abc")
    out = shell("skill", "lint", "caller").out
    assert "SK310" in out
    assert "SK311" in out
    assert "abc" not in out.partition("SK311")[2].partition("\n")[0]


def test_declared_hosts_are_not_granted_unasked(shell: Shell) -> None:
    caller(shell, head="metadata:\n  network: api.example.com", source=OPENS_SOCKET)
    refused = shell("skill", "run", "caller", "go")
    assert refused.out == "no network\n"
    assert "metier policy allow 'Network(api.example.com)' --skill caller" in refused.err
    assert shell("skill", "run", "caller", "go", "--network", "api.example.com").ok().out.startswith("network http://127.0.0.1")
    shell("policy", "allow", "Network(api.example.com)", "--skill", "caller").ok()
    assert shell("skill", "run", "caller", "go").ok().out.startswith("network")


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("Env(API_KEY)", ("Env is not a tool", "run `metier secret set API_KEY`")),
        ("Env(REGION)", ("Env is not a tool", "metier config set sandbox.environment REGION")),
        ("Network(https://a.example)", ("is not a host", "write api.example.com")),
    ],
)
def test_a_pattern_that_would_do_nothing_is_an_error(shell: Shell, pattern: str, parts: tuple[str, ...]) -> None:
    shell("policy", "allow", pattern).failed(2, *parts)


def test_a_variable_that_looks_like_a_secret_leads_to_the_command(shell: Shell) -> None:
    caller(shell)
    shell("skill", "run", "caller", "go", METIER_SANDBOX_ENVIRONMENT="API_KEY", API_KEY="x").failed(
        5, "API_KEY looks like a secret", "run `metier secret set API_KEY`"
    )


def test_a_passphrase_from_the_environment_locks_and_unlocks(shell: Shell) -> None:
    caller(shell)
    file = shell.project / "value"
    file.write_text("s3cret-value")
    shell("secret", "set", "API_KEY", "--stdin", stdin=str(file), METIER_SECRETS_STORE="passphrase",
          METIER_SECRETS_PASSPHRASE="correct horse").ok()  # fmt: skip
    assert "s3cret" not in json.dumps(json.loads((shell.metier / "secrets.json").read_text()))
    run = ("skill", "run", "caller", "go", "--secret", "API_KEY")
    assert shell(*run, METIER_SECRETS_PASSPHRASE="correct horse").ok().out == "[API_KEY]\n"
    shell(*run, METIER_SECRETS_PASSPHRASE="wrong").failed(5, "not the passphrase")
    shell(*run).failed(5, "locked with a passphrase", "METIER_SECRETS_PASSPHRASE")
    assert "API_KEY" in shell("secret", "list").ok().out
