"""A script as a whole, in any language.

Data flow is followed in Python, shell and JavaScript. Ruby, Go, PHP and others are searched as text, and an author can break
the flow even where it is followed. Every script must name the files that it reads and the host that it sends to: one that names
two kinds of credentials and an unknown host is flagged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, Url, is_unknown_host, reputation_of, urls_in
from metier.scan.data.secrets import secret_kinds
from metier.scan.expressions import text_pattern
from metier.scan.scale import Confidence, ScanReach
from metier.scan.text import SkillText, TextKind
from metier.values import replace

from .exfiltration_code import judge_changed_settings, judge_exfiltration

__all__ = ["is_script", "judge_embedded_downloads", "judge_script"]

_CODE = text_pattern(
    r"\.(?:rb|go|php|pl|rs|java|cs|lua|swift|kt|scala|applescript|scpt|vbs|r|jl|dart|c|cpp|ex|exs|nim|groovy|gs|html?|hta|wsf|mk"
    r"|ya?ml|toml|json)$"
)
_SENDS = text_pattern(
    r"requests\.(?:post|put)|httpx\.(?:post|put)|\.request\(\s{0,8}['\"](?:post|put|patch)"
    r"|method['\"]?\s{0,4}[:=]\s{0,4}['\"`]?(?:post|put)|\bdata=|urlencode|http\.post(?:form)?\(|http\.newrequest|net::http"
    r"|httparty|faraday|axios|\bfetch\(|sendbeacon|xmlhttprequest|invoke-(?:restmethod|webrequest)|\b(?:irm|iwr)\b"
    r"|uploadstring|uploadfile|httpclient|webclient|okhttp|ureq::|reqwest::|\bcurl\b[^\n]{0,300}?(?: -d\b| --data| -f\b"
    r"| -t\b| --upload-file|@-|=@| -x post)|wget [^\n]{0,200}?--post|curl_exec|curl_setopt"
    r"|file_get_contents\(\s{0,4}['\"]http|lwp::|fsockopen|tcpsocket|socket\.|smtplib|sendmail|ftplib|\b(?:nc|ncat) -"
    r"|https?\.request\("
)
_COMPOSED_NAME = text_pattern(
    r"(?:gethostbyname|getaddrinfo|resolver\.\w+|dns\.(?:lookup|resolve\w*)|resolve-dnsname|getaddress|gethostaddresses"
    r"|lookuphost|\bdig\b|\bnslookup\b)[^\n]{0,80}?(?:\{[^}\n]{1,60}\}|\$\{?\w|['\"] ?[+.] ?\w)[^\n]{0,60}"
)
_PACKS = text_pattern(
    r"b32encode|b64encode|hexlify|\.hex\(|tohex|tostring\(['\"]hex|\bxxd\b|\bod -|base32|base64|tobase64|unpack\(?['\"]h"
)
_HIDES_ERRORS = text_pattern(
    r"except[^\n:]{0,60}:\s{1,60}(?:pass|return|continue)\b"
    r"|catch\s{0,4}(?:\([^)\n]{0,40}\))?\s{0,4}\{\s{0,8}(?:/\*[^*]{0,40}\*/\s{0,8})?\}"
    r"|\.catch\(\s{0,4}\(?\w{0,10}\)?\s{0,4}=>\s{0,4}(?:\{\s{0,4}\}|null|undefined)|>\s{0,2}/dev/null 2>&1|&>\s{0,2}/dev/null"
    r"|rescue\b[^\n]{0,40}\n?\s{0,40}(?:nil|end)\b|on\('error', ?\(\) ?=> ?\{\}|-erroraction silentlycontinue"
)
_LOCAL_CLAIM = text_pattern(
    r"(?:nothing|no data|data never) (?:ever )?leaves|(?:fully|entirely|completely|100 ?%|runs?"
    r"|all processing is) local(?:ly)?\b|never (?:sends?|uploads?|leaves)[^.\n]{0,40}(?:anywhere|machine|data|computer)"
    r"|no (?:network|internet) (?:access|connection|calls?|needed|required)|works? offline|fully offline|stays? on (?:your"
    r"|the) (?:machine|computer|device)"
)
_PIPED = text_pattern(
    r"(?:\b|(?<=\\n))(?:curl|wget|iwr|irm|invoke-webrequest"
    r"|invoke-restmethod)\b[^\n|;&]{0,200}?(?P<url>https?://[^\s|\"'\\)]{4,200}+)[^\n|;]{0,80}?"
    r"\|\s{0,4}(?:sudo )?(?:/(?:usr/)?bin/)?(?:(?:ba|z|da|k)?sh|python3?|node|perl|ruby|iex|invoke-expression)\b",
    re.IGNORECASE,
)
_SUBSTITUTED = text_pattern(
    r"(?:\b|(?<=\\n))(?:eval|(?:ba|z)?sh -c|source|python3? -c)[ \t]{1,4}[\\\"']{0,4}(?:\$\(|<\(|`)[ \t]{0,4}(?:curl"
    r"|wget)\b[^\n)`]{0,160}?(?P<url>https?://[^\s|\"'\\)`]{4,200})",
    re.IGNORECASE,
)
_DISABLES_PERMISSIONS = text_pattern(
    r"bypasspermissions|skipdangerousmodepermissionprompt|dangerouslyskippermissions"
    r"|chat\.tools\.(?:global\.)?autoapprove['\"]?\]?\s{0,4}[=:]\s{0,4}true"
    r"|approval_policy['\"]?\]?\s{0,4}[=:]\s{0,4}['\"]never"
)
_AGENT_FILE = text_pattern(
    r"\b(?:soul|memory|identity|claude|agents|gemini|skill)\.md\b|\.cursorrules|\.claude/settings|copilot-instructions"
    r"|claude_desktop_config|mcp_settings|\.mcp\.json|/mcp\.json"
)
_WRITES = text_pattern(
    r"write_text|writefile|write_bytes|appendfile|open\([^)\n]{1,80}['\"][wa]b?['\"]|\.write\(|>> ?[\"$~/.\w]"
    r"|file_put_contents|out-file|add-content|set-content"
)
_FETCHES = text_pattern(
    r"\bfetch\(|https?\.get\(|axios|\bgot\(|urlopen|requests\.get|httpx\.get|net::http\.get|open-uri|http\.get\("
    r"|file_get_contents"
)
_MAKES_CODE = text_pattern(
    r"new function\(|\bnew f\(|\(0, ?eval\)\(|\beval\(|function:|vm\.run|import\(['\"`]data:|instance_eval|class_eval"
    r"|create_function|\bassert\(\$"
)
_BARE_HOST = text_pattern(
    r"(?:host(?<!\whost)(?:name)?['\"]?\s{0,4}[:=]{1,2}\s{0,4}|(?:connection|connect|dial|smtp|ftp"
    r"|client)\(\s{0,4}\(?(?:['\"]tcp['\"],\s{0,4})?|socket\.new\()['\"]([\w-]{1,60}(?:\.[\w-]{1,60}){1,4})\b"
)
_CONNECTS = text_pattern(
    r"net\.dial(?:timeout)?\( ?['\"]tcp|tcpstream::connect|tcpsocket\.(?:new|open)|new (?:java\.net\.)?socket\("
    r"|\.tcp\(\)|/inet/tcp/0/|tcpclient\("
)
_STARTS_SHELL = text_pattern(
    r"exec\.command\( ?['\"](?:/bin/)?(?:ba|z)?sh|exec\.command\( ?['\"](?:cmd|powershell)"
    r"|command::new\( ?['\"](?:/bin/)?(?:ba|z)?sh|io\.popen\("
    r"|processbuilder\(|getruntime\(\)\.exec|process\.start\(|\|& ?getline|\biex\b|invoke-expression"
)
_WRITES_CLIPBOARD = text_pattern(r"pyperclip\.copy\(|pbcopy|set-clipboard|xclip|wl-copy|clipboard\.write|clipboardy\.write")
_WALLETS = text_pattern(r"0x\[a-fA-F0-9\]\{40|0x\[0-9a-fA-F\]\{40|bc1\[|\[13\]\[a-km-z|\[1-9A-HJ-NP-Za-km-z\]\{3")
_READ = text_pattern(r"//(?:www\.|docs?\.|developers?\.|help\.|wiki\.)|\.(?:html?|md|pdf)(?:$|#)|/docs?/|/wiki/")
_QUOTES = ("'", '"', "`")
_FETCHERS = ("curl", "wget", "iwr", "irm", "invoke-")
_MOST = 200


def is_script(text: SkillText) -> bool:
    """Returns True if the text is a script file, rather than a document or an example."""
    if text.via or text.is_in_document or text.kind is TextKind.PROSE:
        return False
    return text.kind is not TextKind.OTHER or _CODE.search(text.path.lower()) is not None


def judge_script(text: SkillText, documented: str, collector: FindingCollector) -> None:
    """Judges one whole file. `documented` is the lowercase text of the skill's documents."""
    if not is_script(text):
        return
    low = re.sub(r"['\"]\s{0,4}[,+/]\s{0,4}['\"]", "/", text.low)
    hosts = [url for url in islice(_hosts(text), _MOST) if _is_contacted(url, text, collector)]
    unknown_hosts = [url for url in hosts if is_unknown_host(url, collector.purpose)]
    if hosts and _SENDS.search(low):
        # Attackers often name their host after the skill, so a host of the same name counts too.
        _flag_secrets_sent(text, low, (unknown_hosts or hosts)[0], collector)
        _flag_undocumented_host(text, low, unknown_hosts, documented, collector)
        judge_exfiltration(text, low, hosts, unknown_hosts, documented, collector)
        if _AGENT_FILE.search(low) and _WRITES.search(low) and unknown_hosts:
            message = f"writes to the agent's own files and names {unknown_hosts[0].host}"
            collector.flag("SK406", message, text=text, at=unknown_hosts[0].at, confidence=Confidence.MEDIUM)
    elif unknown_hosts and _AGENT_FILE.search(low) and _WRITES.search(low) and re.search(r"\byou(?:r)?\b", low):
        at = unknown_hosts[0].at
        collector.flag(
            "SK406",
            f"writes instructions and {unknown_hosts[0].host} to the agent's own files",
            text=text,
            at=at,
            confidence=Confidence.HIGH,
        )
    judge_changed_settings(text, low, hosts, collector)
    swaps = _WRITES_CLIPBOARD.search(text.low)
    if swaps and _WALLETS.search(text.text):
        collector.flag(
            "SK604", "replaces wallet addresses in the clipboard", text=text, at=swaps.start(), confidence=Confidence.HIGH
        )
    line = _CONNECTS.search(low) if text.kind in (TextKind.OTHER, TextKind.SHELL, TextKind.POWERSHELL) else None
    if line and _STARTS_SHELL.search(low):
        collector.flag("SK504", "connects a shell to another machine", text=text, at=min(line.start(), len(text.text) - 1))
    permits = _DISABLES_PERMISSIONS.search(text.low) if _WRITES.search(low) else None
    if permits:
        collector.flag(
            "SK407",
            "turns the agent's permission checks off",
            text=text,
            at=permits.start(),
            # Inside a container there is nothing else to protect.
            confidence=Confidence.LOW if collector.purpose.mentions(("container", "sandbox")) else Confidence.HIGH,
        )
    named = _COMPOSED_NAME.search(low)
    if named and _PACKS.search(low):
        collector.flag(
            "SK614", "looks up host names built from encoded data", text=text, at=min(named.start(), len(text.text) - 1)
        )
    if unknown_hosts and text.kind in (TextKind.JAVASCRIPT, TextKind.OTHER) and _FETCHES.search(low):
        made = _MAKES_CODE.search(text.low)
        if made and not collector.purpose.is_security:
            is_code = text.kind is TextKind.JAVASCRIPT or text.path.lower().endswith((".rb", ".php", ".pl", ".lua"))
            collector.flag("SK505", f"runs text as code and fetches from {unknown_hosts[0].host}", text=text, at=made.start(),
                       confidence=Confidence.HIGH if is_code else Confidence.MEDIUM)  # fmt: skip


def _hosts(text: SkillText) -> Iterator[Url]:
    yield from urls_in(text.text)
    for found in _BARE_HOST.finditer(text.low):
        for url in urls_in(f"https://{found[1]}"):
            yield replace(url, at=found.start(1))


def _is_contacted(url: Url, text: SkillText, collector: FindingCollector) -> bool:
    """Returns True if the script may contact the host: it is not well known, and the URL is not a link for readers."""
    if (
        reputation_of(url, collector.purpose) in (HostReputation.KNOWN, HostReputation.LOCAL)
        or "github" in url.host
        or _READ.search(url.text.lower())
    ):
        return False
    if text.kind not in (TextKind.SHELL, TextKind.POWERSHELL) and text.text[url.at - 1 : url.at] not in _QUOTES:
        # The hosts that code contacts are in strings; other URLs are for readers.
        return False
    return not text.line_around(url.at).lstrip().startswith(("#", "//", "*", "--", '"""'))


def _flag_secrets_sent(text: SkillText, low: str, host: Url, collector: FindingCollector) -> None:
    kinds = secret_kinds(low, collector.purpose)
    if not kinds:
        return
    unexplained = [name for name, is_explained in kinds if not is_explained]
    is_unfollowed = text.kind in (TextKind.OTHER, TextKind.POWERSHELL) and bool(unexplained)
    is_sure = (
        len(kinds) >= 2 or is_unfollowed or (unexplained and reputation_of(host, collector.purpose) is HostReputation.ANONYMOUS)
    )
    names = " and ".join(name for name, _ in kinds[:3])
    collector.flag(
        "SK612", f"reads {names} and sends data to {host.host}", text=text, at=host.at,
        confidence=Confidence.HIGH if is_sure else Confidence.MEDIUM if unexplained else Confidence.LOW,
    )  # fmt: skip


def _flag_undocumented_host(
    text: SkillText, low: str, unknown_hosts: list[Url], documented: str, collector: FindingCollector
) -> None:
    """Flags a script that sends data to a host that no document of the skill mentions."""
    host = next((url for url in unknown_hosts if url.label not in documented), None)
    if host is None:
        return
    if _LOCAL_CLAIM.search(documented):
        message = f"sends data to {host.host}, although the skill says that nothing leaves the machine"
        collector.flag("SK815", message, text=text, at=host.at, confidence=Confidence.HIGH, reach=ScanReach.ACCOUNTS)
        return
    near = low[max(0, host.at - 400) : host.at + 500]
    if _HIDES_ERRORS.search(near) and re.search(r"post|put|data|body|@-|upload", near):
        confidence = Confidence.MEDIUM if collector.purpose.is_network else Confidence.HIGH
        message = f"sends data to {host.host}, which the skill does not mention, and hides errors"
        collector.flag("SK815", message, text=text, at=host.at, confidence=confidence, reach=ScanReach.ACCOUNTS)


def judge_embedded_downloads(text: SkillText, collector: FindingCollector) -> None:
    """Flags a download piped into an interpreter, in a string, a comment or prose."""
    if text.kind is TextKind.SHELL or not any(word in text.low for word in _FETCHERS):
        return
    for found in (*islice(_PIPED.finditer(text.text), 20), *islice(_SUBSTITUTED.finditer(text.text), 20)):
        for url in urls_in(found["url"]):
            if is_unknown_host(url, collector.purpose) and reputation_of(url, collector.purpose) is not HostReputation.SHARED:
                collector.flag("SK501", f"runs code from {url.host}", text=text, at=found.start(), end=found.end())
