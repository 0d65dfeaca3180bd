"""The made-up home of an observed skill: files and variables with values that exist nowhere else.

Every value is new for each observation, so that its bytes in a payload prove that it was read and sent.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterable

from metier.values import dataclass

__all__ = ["HOME", "PROJECT", "Canary", "CanaryKind", "MadeUpHome", "make_home"]

from enum import StrEnum

HOME = "/home/alex"
PROJECT = "projects/webshop"

_ALPHABET = string.ascii_letters + string.digits


class CanaryKind(StrEnum):
    KEY = "key file"
    CLOUD = "cloud credentials"
    WALLET = "wallet"
    BROWSER = "browser data"
    MAIL = "mail"
    HISTORY = "shell history"
    GIT = "git credentials"
    PROJECT = "project secret"
    VARIABLE = "variable"
    OWN = "variable of the skill"
    """A variable that the skill itself asks for."""
    WORK = "user's file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    kind: CanaryKind
    where: str
    """The path below the home, or the name of the variable."""
    value: str
    """The part that is searched for."""
    services: tuple[str, ...] = ()
    """Domains whose own key this is: sent there, it is where it belongs."""

    @property
    def is_sensitive(self) -> bool:
        return self.kind not in (CanaryKind.WORK, CanaryKind.OWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeUpHome:
    files: dict[str, bytes]
    """By path below the home."""
    variables: dict[str, str]
    canaries: tuple[Canary, ...]


_VARIABLES = (
    ("AWS_ACCESS_KEY_ID", "AKIA", 16, "amazonaws.com"),
    ("AWS_SECRET_ACCESS_KEY", "", 40, "amazonaws.com"),
    ("GITHUB_TOKEN", "ghp_", 36, "github.com githubusercontent.com ghcr.io"),
    ("OPENAI_API_KEY", "sk-proj-", 40, "openai.com azure.com"),
    ("ANTHROPIC_API_KEY", "sk-ant-api03-", 40, "anthropic.com"),
    ("STRIPE_SECRET_KEY", "sk_live_", 32, "stripe.com"),
    ("SLACK_BOT_TOKEN", "xoxb-", 40, "slack.com"),
    ("NPM_TOKEN", "npm_", 36, "npmjs.org npmjs.com"),
    ("DATABASE_URL", "postgres://shop:", 24, "webshop.example"),
)


def make_home(seed: int, *, own_variables: Iterable[str] = ()) -> MadeUpHome:
    """Returns a home whose values depend on the seed alone."""
    maker = _Maker(seed)
    maker.add_keys()
    maker.add_clouds()
    maker.add_personal_files()
    maker.add_project()
    for name, prefix, length, services in _VARIABLES:
        value = maker.token(length)
        text = f"{prefix}{value}" + ("@db.webshop.example:5432/shop" if name == "DATABASE_URL" else "")
        maker.variable(name, text, value, CanaryKind.VARIABLE, tuple(services.split()))
    known = {name for name, *_ in _VARIABLES}
    for name in own_variables:
        if name not in known:
            value = maker.token(32)
            maker.variable(name, value, value, CanaryKind.OWN, ())
    return MadeUpHome(files=maker.files, variables=maker.variables, canaries=tuple(maker.canaries))


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311  values to recognise, not to protect
        self.files: dict[str, bytes] = {}
        self.variables: dict[str, str] = {}
        self.canaries: list[Canary] = []

    def token(self, length: int) -> str:
        return "".join(self.random.choices(_ALPHABET, k=max(24, length)))

    def file(self, path: str, kind: CanaryKind, text: str, services: str = "", length: int = 40) -> None:
        """Adds a file; each `{}` in the text is a value of its own."""
        values = [self.token(length) for _ in range(text.count("{}"))]
        parts = text.split("{}")
        self.files[path] = "".join(part + value for part, value in zip(parts, [*values, ""], strict=True)).encode()
        self.canaries += [Canary(kind=kind, where=path, value=value, services=tuple(services.split())) for value in values]

    def plain(self, path: str, text: str) -> None:
        self.files[path] = text.encode()

    def variable(self, name: str, text: str, value: str, kind: CanaryKind, services: tuple[str, ...]) -> None:
        self.variables[name] = text
        self.canaries.append(Canary(kind=kind, where=name, value=value, services=services))

    def add_keys(self) -> None:
        frame = "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n{}\n{}\n-----END OPENSSH PRIVATE KEY-----\n"
        for name in ("id_rsa", "id_ed25519"):
            self.file(f".ssh/{name}", CanaryKind.KEY, frame, length=64)
            self.plain(f".ssh/{name}.pub", f"ssh-{name[3:]} AAAAC3NzaC1lZDI1NTE5AAAAI alex@workstation\n")
        self.plain(".ssh/config", "Host build\n  HostName build.webshop.example\n  User deploy\n")
        self.plain(".ssh/known_hosts", "build.webshop.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI\n")
        self.plain(".ssh/authorized_keys", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI alex@laptop\n")
        self.file(".gnupg/private-keys-v1.d/0A1B.key", CanaryKind.KEY, "(private-key (ecc (curve Ed25519)(q {})(d {})))\n")
        self.file(".netrc", CanaryKind.KEY, "machine api.webshop.example login alex password {}\n", "webshop.example")
        self.file(".pgpass", CanaryKind.KEY, "db.webshop.example:5432:shop:alex:{}\n", "webshop.example")
        self.file(".npmrc", CanaryKind.KEY, "//registry.npmjs.org/:_authToken=npm_{}\n", "npmjs.org")
        self.file(".pypirc", CanaryKind.KEY, "[pypi]\nusername = __token__\npassword = pypi-{}\n", "pypi.org")

    def add_clouds(self) -> None:
        text = "[default]\naws_access_key_id = AKIA{}\naws_secret_access_key = {}\n"
        self.file(".aws/credentials", CanaryKind.CLOUD, text, "amazonaws.com")
        self.plain(".aws/config", "[default]\nregion = eu-central-1\n")
        google = '{{"type": "authorized_user", "client_id": "764086", "refresh_token": "1//{}", "client_secret": "{}"}}'
        path = ".config/gcloud/application_default_credentials.json"
        self.file(path, CanaryKind.CLOUD, google.replace("{{", "{").replace("}}", "}"), "googleapis.com google.com")
        self.file(".kube/config", CanaryKind.CLOUD, "apiVersion: v1\nusers:\n- name: alex\n  user:\n    token: {}\n")
        self.file(".docker/config.json", CanaryKind.CLOUD, '{"auths": {"ghcr.io": {"auth": "{}"}}}\n', "ghcr.io docker.io")
        self.file(".azure/msal_token_cache.json", CanaryKind.CLOUD, '{"RefreshToken": {"a": {"secret": "{}"}}}', "azure.com")

    def add_personal_files(self) -> None:
        self.file(".config/solana/id.json", CanaryKind.WALLET, '{"seed": "{}"}')
        self.file(".electrum/wallets/default_wallet", CanaryKind.WALLET, '{"keystore": {"seed": "{}", "xprv": "xprv{}"}}')
        self.file(".ethereum/keystore/UTC--alex", CanaryKind.WALLET, '{"crypto": {"ciphertext": "{}"}}')
        self.file(".config/google-chrome/Default/Cookies", CanaryKind.BROWSER, "SQLite format 3 session={} sid={}")
        self.file(".config/google-chrome/Default/Login Data", CanaryKind.BROWSER, "SQLite format 3 alex password={}")
        self.file(".mozilla/firefox/ab12.default/logins.json", CanaryKind.BROWSER, '{"logins": [{"encryptedPassword": "{}"}]}')
        self.file(".mozilla/firefox/ab12.default/cookies.sqlite", CanaryKind.BROWSER, "SQLite format 3 cookie={}")
        self.file("Mail/inbox", CanaryKind.MAIL, "From: bank@webshop.example\nSubject: Your code\n\nThe code is {}.\n")
        self.file(".bash_history", CanaryKind.HISTORY, "cd projects\nexport DEPLOY_TOKEN={}\ngit push\nmysql -p{}\n")
        self.file(".zsh_history", CanaryKind.HISTORY, ": 1700000000:0;export VAULT_TOKEN={}\n")
        self.file(".git-credentials", CanaryKind.GIT, "https://alex:ghp_{}@github.com\n", "github.com")
        self.file(".config/gh/hosts.yml", CanaryKind.GIT, "github.com:\n  user: alex\n  oauth_token: gho_{}\n", "github.com")
        self.file("Documents/passwords.txt", CanaryKind.KEY, "bank: {}\nmail: {}\n")
        self.file("Documents/tax-2025.txt", CanaryKind.WORK, "Tax number {}\n")
        self.file(".claude/.credentials.json", CanaryKind.KEY, '{"claudeAiOauth": {"accessToken": "sk-ant-oat01-{}"}}',
                  "anthropic.com claude.ai")  # fmt: skip
        self.plain(".gitconfig", "[user]\n\tname = Alex\n\temail = alex@webshop.example\n[credential]\n\thelper = store\n")
        self.plain(".bashrc", "# ~/.bashrc\nexport EDITOR=vim\n")
        self.plain(".profile", "# ~/.profile\n")
        self.plain(".bash_profile", ". ~/.bashrc\n")
        self.plain(".zshrc", "# ~/.zshrc\n")
        self.plain(".claude/settings.json", '{"permissions": {"allow": []}}\n')
        self.plain(".claude/CLAUDE.md", "# My preferences\n")
        self.plain(".cursor/mcp.json", '{"mcpServers": {}}\n')
        self.plain(".codex/config.toml", 'model = "gpt-5"\n')

    def add_project(self) -> None:
        base = PROJECT
        self.file(f"{base}/.env", CanaryKind.PROJECT, "STRIPE_KEY=sk_live_{}\nSESSION_SECRET={}\nDB_PASSWORD={}\n")
        text = '[core]\n\trepositoryformatversion = 0\n[remote "origin"]\n\turl = https://alex:ghp_{}@github.com/alex/webshop.git\n'
        self.file(f"{base}/.git/config", CanaryKind.GIT, text + "\tfetch = +refs/heads/*:refs/remotes/origin/*\n", "github.com")
        self.plain(f"{base}/.git/HEAD", "ref: refs/heads/main\n")
        self.plain(f"{base}/.git/objects/info/alternates", "")
        self.plain(f"{base}/.git/refs/heads/.keep", "")
        self.plain(f"{base}/.git/hooks/pre-commit.sample", "#!/bin/sh\nexit 0\n")
        self.plain(f"{base}/CLAUDE.md", "# Webshop\n\nRun the tests before you commit.\n")
        self.plain(f"{base}/AGENTS.md", "# Webshop\n")
        self.file(f"{base}/data.csv", CanaryKind.WORK, "name,amount\nAda,{}\nBob,12\n")
        self.plain(f"{base}/input.txt", "Meeting notes\n\n- ship the release\n- call Ada\n")
        self.plain(f"{base}/input.json", '{"title": "Report", "items": [{"name": "a", "value": 1}]}\n')
        self.plain(f"{base}/README.md", "# Webshop\n\nA small shop.\n")
        self.plain(f"{base}/package.json", '{"name": "webshop", "version": "1.0.0", "scripts": {"test": "true"}}\n')
        self.plain(f"{base}/index.html", "<html><body><h1>Webshop</h1></body></html>\n")
        self.plain(f"{base}/main.py", "def total(items):\n    return sum(items)\n")
