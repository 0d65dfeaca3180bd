"""Scripts that send the user's data away: keys of other services, folders, conversations, table rows, mail.

An honest script that sends the user's work asks for the address, or its documents name the service. A hard-coded address of an
unknown host that no document names was not the user's choice.
"""

from __future__ import annotations

import re
from itertools import islice

from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, Url, reputation_of, urls_in
from metier.scan.expressions import text_pattern
from metier.scan.patterns import words
from metier.scan.scale import Confidence
from metier.scan.text import SkillText, TextKind

__all__ = ["judge_changed_settings", "judge_exfiltration"]

_LANGUAGE_MODELS = words("openai anthropic claude gemini google groq mistral cohere deepseek openrouter")
_SERVICES = (
    r"openai|anthropic|claude|gemini|groq|mistral|cohere|deepseek|openrouter|github|gh|gitlab|aws|azure|gcp|google|stripe"
    r"|paypal|binance|bybit|coinbase|kraken|okx|kucoin|bitget|mexc|huobi|hyperliquid|alpaca|robinhood|slack|discord|telegram"
    r"|twilio|sendgrid|mailgun|notion|shopify|figma|cloudflare|vercel|netlify|supabase|linear|jira|atlassian|twitter|npm"
    r"|pypi|hf|huggingface|heroku|digitalocean|datadog|sentry|plaid|revolut|hubspot|salesforce|airtable|dropbox|reddit"
    r"|linkedin|facebook|instagram|spotify|zoom"
)
_KEY = text_pattern(
    rf"(?:env\.|environ(?:\.get\(|\[)|getenv\(|env\[|\$\{{?|env\.fetch\(|env\()['\"]?(?P<service>{_SERVICES})_(?:\w{{1,30}}_)?"
    r"(?:api_?key|key|token|secret|pat|password|passphrase)\b"
)
_CONTENT = text_pattern(
    r"\.to_dict\(|\.to_csv\(|\.to_json\(|iter_rows|\.value\b|read_text\(|read_bytes\(|readfile(?:sync)?\(|\.read\(\)"
    r"|\.head\(|\.sample\(|\bcells?\b|\brows?\b|\brecords?\b|\bsheets?\b|\btranscript|\bdocument\b|\bmessages?\b|files="
    r"|sys\.stdin|--data-binary @|--form |-f ?['\"]?\w{1,20}=@|formdata|body: ?(?:fs|text|content|data)|\bcontents?\b"
)
_POSTS = text_pattern(
    r"\.post\(|\.put\(|method['\"]?\s{0,4}[:=]\s{0,4}['\"`](?:post|put)|\bdata=|-x post|--data|--form|\s-[dft] |=@|@-"
    r"|sendbeacon|urlencode|upload(?:file|string)?\("
)
_SHELL_POSTS = text_pattern(
    r"\b(?:curl|wget|http|xh)\b[^;]{0,300}?(?:=@|@-|@['\"$/.\w]|--data|--form|--upload|--post|\s-t )|\b(?:nc|ncat|rsync"
    r"|scp)\b[^;]{0,200}?(?:<|@)"
)
_CALLS = text_pattern(
    r"^(?P<before>[^\n]{0,200}?)\b(?:(?:requests|httpx|session|client|axios|http|got|urllib\.request)\.(?:post|put|request"
    r"|urlopen)|fetch)\(",
    re.IGNORECASE | re.MULTILINE,
)
_USED = text_pattern(r"=|return|print|yield|with |\(\s*$|,\s*$|=>\s*$|console|assert|raise|for ")
_PACKS = text_pattern(
    r"\btar\b[^\n]{0,30} -?-?[a-z]{0,6}[cr]|\bzip -\w{0,4}r|make_archive\(|zipfile\(|tarfile\.open|archiver\(|adm-?zip|jszip"
    r"|git bundle create|\b7z a\b|compress-archive|targz"
)
_HOME = text_pattern(
    r"~/\.(?:claude|openclaw|clawdbot|moltbot|codex|cursor|gemini|config)\b(?!/skills/\w)|path\.home\(\)"
    r"|expanduser\(['\"]~/?['\"]\)|os\.homedir\(\)"
    r"|\$home/?(?:[\"'\s]|documents|desktop)|~/(?:documents|desktop|downloads|projects)|\$env:userprofile"
)
_HERE = text_pattern(
    r"os\.getcwd\(\)|path\.cwd\(\)|process\.cwd\(\)|\$\{?pwd\b|\$\(pwd\)|git rev-parse --show-toplevel|os\.walk\(|rglob\("
    r"|path\(['\"]\.['\"]\)|make_archive\([^)\n]{0,80}['\"]\.['\"]|\btar\b[^\n|]{0,80} \.(?:[\s|\"']|$)|\bzip -\w{0,4}r[^\n"
    r"|]{0,80} \.(?:[\s|\"']|$)|git bundle create[^\n]{0,60}--all"
)
_CONVERSATIONS = text_pattern(
    r"transcript_path|userpromptsubmit|\.claude['\"/, ]{1,5}projects|\.codex['\"/, ]{1,5}sessions|\.claude['\"/, ]{1,5}history"
    r"|conversation_history|\.get\(['\"]prompt['\"]|\[['\"]tool_input['\"]\]|\.tool_input\b|\.get\(['\"]tool_input"
)
_FORWARDS = text_pattern(
    r"forwardingemail|forwardingaddresses\(|forwardingsmtpaddress|-forwardto\b|forwardto['\"]?\s{0,4}[:=]"
    r"|updateautoforwarding|setautoforward"
    r"|autoforward|-redirectto\b|\bforward['\"]?\s{0,4}:\s{0,4}['\"\w]|redirect :copy|\bredirect ['\"][^'\"\n]{3,60}@"
)
_MAILBOX = text_pattern(
    r"['\"\s=<](?P<box>[\w.+-]{2,40}@(?!(?:[\w-]{1,40}\.){0,2}(?:example|company|domain|yourdomain|acme|test|localhost"
    r"|github)\b)[\w-]{2,40}(?:\.[\w-]{2,24}){1,3})"
)
_MODEL_ADDRESS = text_pattern(
    r"(?:(?:anthropic|openai|gemini|google_gemini|claude_code)_(?:base_url|api_base|api_url|endpoint)|\bhttps?_proxy)['\"]?\]?"
    r"\s{0,2}[=:](?!=)"
)
_MODEL_LABELS = words(
    "azure openrouter deepseek groq together mistral googleapis z moonshot minimax minimaxi bigmodel volces aliyuncs"
    " siliconflow anthropic openai cloudflare portkey helicone vercel amazonaws"
)
_STAYS = text_pattern(
    r"\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)\b|settings(?:\.local)?\.json|/etc/environment|setx |config\.fish"
    r"|setenvironmentvariable"
)
_KEEPS = text_pattern(r">>|\.write\(|write_text\(|writefile|json\.dump\(|setx |setenvironmentvariable|tee -a|appendfile")
_OTHER_SKILLS = text_pattern(r"(?:skills['\"]?\s{0,2}[/)]|skills).{0,60}\*/skill\.md|skills/\*/skill\.md")
_ADDS = text_pattern(
    r">> ?['\"]?\$|tee -a|appendfile|open\([^)\n]{1,60}['\"]a['\"]|\b(\w{1,20})\.write_text\([^)\n]{0,40}\b\1\.read_text|sed -i"
    r"|writefile\w{0,4}\((\w{1,20}), ?\w{0,30}\b\2\b"
)
_SENDING = ("upload", "send", "share", "sync", "backup", "back up", "publish", "submit", "telemetry", "report to")
_DISTANCE = 600


def judge_exfiltration(
    text: SkillText, low: str, hosts: list[Url], unknown_hosts: list[Url], documented: str, collector: FindingCollector
) -> None:
    """Judges a script that sends data to one of `hosts`. `documented` is the text of the skill's documents."""
    undocumented = [url for url in unknown_hosts if url.label not in documented]
    _relays_keys(text, low, hosts, collector)
    if _PACKS.search(low):
        _packs(text, low, hosts, unknown_hosts, collector)
    talk = _CONVERSATIONS.search(low)
    if talk:
        confidence = Confidence.HIGH if undocumented else Confidence.MEDIUM
        message = f"reads the user's conversations and sends data to {(undocumented or hosts)[0].host}"
        collector.flag("SK612", message, text=text, at=(undocumented or hosts)[0].at, confidence=confidence)
    url = next((url for url in undocumented if any(map(_CONTENT.search, _posted(url, text, low)))), None)
    # A script that queries a service reads the response.
    is_sure = _is_unanswered(text) and not collector.purpose.mentions(_SENDING)
    if url is not None and (is_sure or not collector.purpose.is_network):
        collector.flag(
            "SK615", f"sends what it reads to {url.host}, which the skill's documents do not mention", text=text, at=url.at,
            confidence=Confidence.HIGH if is_sure else Confidence.MEDIUM,
        )  # fmt: skip


def judge_changed_settings(text: SkillText, low: str, hosts: list[Url], collector: FindingCollector) -> None:
    """Flags lasting changes that give others access: mail forwarding, the model's address, other skills."""
    box = _forwarded_to(low)
    if box:
        message = f"forwards the user's mail to {box['box']}"
        collector.flag("SK409", message, text=text, at=_at(box.start("box"), text), ignores_context=True)
    address = _MODEL_ADDRESS.search(low)
    near = low[address.start() : address.start() + 160] if address else ""
    host = next((url for url in (*hosts, *urls_in(near)) if not _is_of_models(url, collector)), None)
    if address and host and _STAYS.search(low) and _KEEPS.search(low):
        message = f"routes the agent's model traffic through {host.host}"
        collector.flag(
            "SK405", message, text=text, at=_at(address.start(), text), confidence=Confidence.HIGH, ignores_context=True
        )
    others = _OTHER_SKILLS.search(low)
    if others and _ADDS.search(low) and re.search(r"~/\.|\$home|path\.home|homedir|expanduser", low):
        message = "writes into the user's other skills"
        collector.flag("SK406", message, text=text, at=_at(others.start(), text), confidence=Confidence.HIGH)


def _forwarded_to(low: str) -> re.Match[str] | None:
    """Returns the mailbox that a forwarding rule names, directly or by a variable."""
    for forwards in islice(_FORWARDS.finditer(low), 20):
        after = low[forwards.start() : forwards.end() + 160]
        for box in islice(_MAILBOX.finditer(low), 20):
            named = re.search(r"(\w{2,40})\s{0,4}[:=]\s{0,4}$", low[max(0, box.start() - 50) : box.start() + 1].rstrip("'\""))
            if box["box"] in after or (named and re.search(rf"\b{named[1]}\b", after)):
                return box
    return None


def _is_of_models(url: Url, collector: FindingCollector) -> bool:
    """Returns True if the host belongs to a known model provider or is local."""
    kind = reputation_of(url, collector.purpose)
    return kind in (HostReputation.KNOWN, HostReputation.LOCAL) or url.is_placeholder or url.label in _MODEL_LABELS


def _at(place: int, text: SkillText) -> int:
    """Maps an offset in the joined text to one in the text."""
    return min(place, len(text.text) - 1)


def _relays_keys(text: SkillText, low: str, hosts: list[Url], collector: FindingCollector) -> None:
    """Flags a key of a known service in a script that contacts other hosts and never that service."""
    if text.path.lower().endswith((".json", ".yml", ".yaml", ".toml")):
        return
    found = {one["service"]: one for one in _KEY.finditer(low)}
    foreign = {name: one for name, one in found.items() if not _speaks_to(name, low)}
    if not foreign or (len(foreign) < 2 and collector.purpose.mentions(("proxy", "gateway", "router"))):
        return
    is_for_models = _LANGUAGE_MODELS.issuperset(foreign)
    if is_for_models and all(_is_of_models(url, collector) for url in hosts):
        return
    is_sure = len(foreign) > 1 or not is_for_models
    host = next((url for url in hosts if reputation_of(url, collector.purpose) is not HostReputation.SHARED), hosts[0])
    names = " and ".join(sorted(foreign)[:3])
    collector.flag(
        "SK611", f"reads a key of {names} and contacts only {host.host}", text=text, at=host.at,
        confidence=Confidence.HIGH if is_sure else Confidence.MEDIUM,
    )  # fmt: skip


def _speaks_to(service: str, low: str) -> bool:
    """Returns True if the script names a URL, a package or a program of that service."""
    spelled = {
        "gh": "git",
        "hf": "hugging",
        "aws": "amazonaws|boto|aws-sdk|\\baws ",
        "gcp": "google",
        "claude": "anthropic",
        "twitter": "twitter|x\\.com",
        "instagram": "instagram|facebook",
        "jira": "jira|atlassian",
        "hubspot": "hubspot|hubapi",
    }
    name = spelled.get(service, service)
    return (
        re.search(
            rf"//[\w.-]{{0,60}}(?:{name})|(?:import|from|require\(['\"]@?|new) {{0,2}}[\w/.-]{{0,30}}(?:{name})|ccxt"
            rf"|\b(?:{name})\w{{0,4}} [a-z]",
            low,
        )
        is not None
    )


def _packs(text: SkillText, low: str, hosts: list[Url], unknown_hosts: list[Url], collector: FindingCollector) -> None:
    home, here = _HOME.search(low), _HERE.search(low)
    if not (home or here):
        return
    what = "the user's own folders" if home else "the whole working folder"
    host = next((url for url in unknown_hosts or hosts if _posted(url, text, low)), None)
    if host is None:
        return
    collector.flag(
        "SK615", f"packs {what} and sends the archive to {host.host}", text=text, at=host.at,
        confidence=Confidence.HIGH if unknown_hosts else Confidence.MEDIUM,
    )  # fmt: skip


def _posted(url: Url, text: SkillText, low: str) -> list[str]:
    """Returns the text around the URL, or around the variable that holds it, where data is sent."""
    places = [url.at]
    named = re.search(r"(\w{1,40})['\"]?\s{0,4}[:=]\s{0,4}[fr]?['\"`]?$", low[max(0, url.at - 60) : url.at])
    if named and text.kind is not TextKind.OTHER:
        places += [found.start() for found in re.finditer(rf"\b{re.escape(named[1])}\b", low)][:20]
    around = (low[max(0, place - _DISTANCE // 3) : place + _DISTANCE] for place in places)
    posts = _SHELL_POSTS if text.kind is TextKind.SHELL else _POSTS
    return [near for near in around if posts.search(near)]


def _is_unanswered(text: SkillText) -> bool:
    """Returns True if a request is sent and its response is not used."""
    return any(not _USED.search(found["before"]) for found in _CALLS.finditer(text.text))
