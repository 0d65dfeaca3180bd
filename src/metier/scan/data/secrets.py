"""Secrets: the files that hold them, commands that print them, variable names."""

from __future__ import annotations

import re

from metier.scan.expressions import text_pattern
from metier.scan.purpose import Purpose

__all__ = ["SECRET_COMMANDS", "SECRET_NAME", "WHOLE_ENVIRONMENT", "secret_kinds", "secret_place"]

# Pattern, name, and the words of a purpose that explains the access: a skill about Kubernetes may read ~/.kube.
_PLACES: tuple[tuple[str, str, str], ...] = (
    (
        r"\.ssh/?$|\.ssh/(?!config\b|known_hosts|\*?\.pub|authorized_keys|[\w.-]+\.pub\b)(?:id_\w+|[\w.*-]*|$)",
        "SSH keys",
        "ssh",
    ),
    (r"\bid_(?:(?:rsa|ed25519|ecdsa|dsa)\b|\*)(?!\.pub)", "SSH keys", "ssh"),
    (r"\.aws(?:/|$)", "AWS credentials", "aws"),
    (r"\.config/gcloud|application_default_credentials\.json", "Google Cloud credentials", "gcloud google gcp vertex firebase"),
    (r"\.azure/|msal_token_cache", "Azure credentials", "azure"),
    (r"\.kube/config|secrets/kubernetes\.io", "Kubernetes credentials", "kube k8s helm cluster"),
    (r"\.docker/config\.json", "Docker credentials", "docker container"),
    (r"\.git-credentials|\.config/gh/hosts\.yml", "git credentials", "git github gh"),
    (r"\.netrc\b|_netrc\b", "stored logins", "netrc"),
    (r"\.npmrc\b", "npm tokens", "npm node"),
    (r"\.pypirc\b", "PyPI tokens", "pypi publish"),
    (r"\.gnupg\b", "GPG keys", "gpg pgp sign"),
    (r"/etc/(?:shadow|gshadow)\b", "system passwords", ""),
    (r"/etc/passwd\b", "the machine's accounts", ""),
    (
        (
            r"\.mozilla\b|login data\b|\bcookies\.sqlite|logins\.json|key4\.db|cookies\.binarycookies|(?:chrome|chromium"
            r"|firefox|brave|edge)/[^\n\"']{0,60}(?:cookies|login data|local state|profiles?)|local extension settings"
            r"|(?:user data|chrome|brave-browser)/default|google-chrome/|bravesoftware"
        ),
        "browser logins",
        "browser cookie",
    ),
    (r"login\.keychain|library/keychains|keychain-db", "the keychain", "keychain"),
    (
        (
            r"\bwallet\.dat\b|\.electrum\b|\.ethereum/keystore|\.config/solana/id\.json|exodus\.wallet|metamask|\.bitcoin/"
            r"|phantom/|atomic/local storage|ledger live/|nkbihfbeogaeaoehlefnkodbefgpgknn|bfnaelmomeimhlpmgjnjophhpkkoljpa"
            r"|keystore/utc"
        ),
        "wallets",
        "wallet solana ethereum bitcoin crypto metamask",
    ),
    (r"\.(?:bash|zsh|python|psql|mysql)_history\b", "the shell history", "history shell"),
    (
        r"telegram desktop/tdata|(?:discord|slack|microsoft teams|signal)/(?:local storage|cookies|indexeddb)|storage/leveldb",
        "chat sessions",
        "telegram discord",
    ),
    (r"\.claude/projects|\.codex/sessions|\.claude/history", "the user's conversations", "session transcript history usage"),
    (r"credentials\.tfrc|terraform\.tfstate|\.tfvars\b", "infrastructure secrets", "terraform tofu"),
    (
        r"1password|\.password-store|bitwarden|lastpass|keepass",
        "a password store",
        "1password password bitwarden keepass pass vault",
    ),
    (
        r"\.(?:clawdbot|openclaw|moltbot)/(?:\.env|credentials|openclaw\.json|clawdbot\.json|agents/[^\s\"']*auth)",
        "the agent's own keys",
        "openclaw clawdbot moltbot",
    ),
    (
        r"\.claude/\.credentials|\.claude\.json\b|\.codex/auth\.json|\.gemini/oauth",
        "the agent's own keys",
        "claude codex gemini usage quota",
    ),
)
_COMPILED = tuple((text_pattern(pattern), words, frozenset(purpose.split())) for pattern, words, purpose in _PLACES)
# One cheap search before the twenty patterns.
_ANY = text_pattern(
    r"\.ssh|id_rsa|id_ed|id_ec|id_dsa|\.aws|gcloud|credentials|\.azure|msal|\.kube|\.docker|gh/hosts|netrc|\.npmrc|\.pypirc"
    r"|\.gnupg|/etc/|login data|mozilla|cookies|logins\.json|key4|chrom|firefox|brave|keychain|wallet|electrum|ethereum"
    r"|solana|exodus|metamask|bitcoin|phantom|keystore|_history|tdata|discord|1password|password-store|bitwarden|lastpass"
    r"|keepass|\.clawdbot|\.openclaw|\.moltbot|\.claude|\.codex|\.gemini|kubernetes\.io|user data|extension settings"
    r"|google-chrome|leveldb|atomic/|ledger live|nkbih|bfnael|slack/|teams/|signal/|tfrc|tfstate|tfvars|id_\*"
)

SECRET_NAME = text_pattern(
    r"(?:^|_)(?:api_?key|secret|token|passw(?:or)?d|private_?key|credentials?|auth|mnemonic|seed_?phrase)(?:_|$|s$)",
    re.IGNORECASE,
)
SECRET_COMMANDS = {
    ("security", "dump-keychain"): "the keychain",
    ("security", "find-generic-password"): "the keychain",
    ("security", "find-internet-password"): "the keychain",
    ("gh", "auth", "token"): "the GitHub token",
    ("aws", "configure", "export-credentials"): "AWS credentials",
    ("gcloud", "auth", "print-access-token"): "a Google Cloud token",
    ("secret-tool", "lookup"): "the keyring",
    ("gpg", "--export-secret-keys"): "GPG keys",
    ("pass", "show"): "a password store",
    ("git", "credential", "fill"): "git credentials",
    ("kubectl", "config", "view", "--raw"): "Kubernetes credentials",
    ("vault", "kv", "get"): "a secret store",
    ("op", "item", "get"): "a password store",
    ("bw", "get"): "a password store",
    ("cmdkey", "/list"): "stored logins",
}
WHOLE_ENVIRONMENT = "all environment variables"
_SHELL_SECRETS = (
    (text_pattern(r"169\.254\.169\.254|metadata\.google\.internal|169\.254\.170\.2"), "the cloud machine's credentials"),
    (text_pattern(r"security (?:dump-keychain|find-(?:generic|internet)-password)"), "the keychain"),
    (
        text_pattern(
            r"(?:get-childitem|gci|dir|ls) env:|getenvironmentvariables\(|\bos\.environ\(\)|\benv\.to_h\b|env::vars\(\)"
            r"|json_encode\(\$_(?:env|server)\)|system\.getenv\(\)"
        ),
        WHOLE_ENVIRONMENT,
    ),
    (text_pattern(r"tojson\(secrets\)"), "all secrets of a workflow"),
    (text_pattern(r"network\.getallcookies|storage\.getcookies|--remote-debugging-port"), "browser sessions"),
    (text_pattern(r"git credential fill|credential\.helper store"), "git credentials"),
    (text_pattern(r"(?:-name|glob\(|rglob\(|--include)[ =]?['\"]?(?:\*\*/)?\*?\.env\b"), "keys that it searches for"),
    (
        text_pattern(
            r"\btar\b[^\n]{0,60}(?:~/\.(?:claude|openclaw|codex|cursor)\b|\"\$d\")|for \w+ in[^\n]{0,80}~/\.(?:openclaw"
            r"|codex)\b"
        ),
        "the agent's own files",
    ),
    (text_pattern(r"kubectl get secrets?\b|kubectl config view --raw"), "the cluster's secrets"),
    (text_pattern(r"xox\[[a-z]{2,8}\]|ghp_\[|akia\["), "tokens that it searches for"),
)


def secret_place(path: str, purpose: Purpose) -> tuple[str, bool] | None:
    """Returns the secret kept at a path, and whether the skill's purpose explains reading it; None if there is none."""
    low = path.lower().replace("\\", "/")
    if not _ANY.search(low):
        return None
    for pattern, words, reasons in _COMPILED:
        if pattern.search(low):
            return words, purpose.mentions(reasons)
    return None


def secret_kinds(low: str, purpose: Purpose) -> list[tuple[str, bool]]:
    """Returns the kinds of secrets that a lowercase script names, and whether the skill's purpose explains each."""
    low = low.replace("\\", "/")
    found = (
        {words: purpose.mentions(reasons) for pattern, words, reasons in _COMPILED if pattern.search(low)}
        if _ANY.search(low)
        else {}
    )
    found |= {words: False for pattern, words in _SHELL_SECRETS if pattern.search(low)}
    # /etc/passwd holds accounts, not passwords.
    found.pop("the machine's accounts", None)
    return list(found.items())
