"""Kinds of words for the wording model: actions in capitals, then objects, then manner and reason."""

from __future__ import annotations

__all__ = ["KINDS"]

KINDS = {
    "SEND": (
        "bcc beacon cc curl deliver drop duplicate email exfiltrate forward mail mirror post publish push put relay"
        " replicate report send share ship stream submit sync synchronise synchronize transfer transmit upload"
    ),
    "KEEP": (
        "append archive back backup capture collect copy dump extract gather harvest keep log note persist record "
        "remember save store write"
    ),
    "DELETE": (
        "clear delete destroy discard drop empty erase overwrite purge remove reset rm shred terminate truncate "
        "uninstall unlink wipe"
    ),
    "LOCK": "cipher encrypt lock password-protect ransom scramble",
    "CHANGE": (
        "adjust alter change decrease edit falsify increase inflate invert lower modify multiply raise reduce "
        "replace rewrite round set shift substitute swap"
    ),
    "HIDE": "conceal deny disguise hide mask obscure omit pretend redact silence suppress withhold",
    "TELL": (
        "alert announce ask describe disclose display explain inform list mention notify report reveal say show tell warn"
    ),
    "INSTALL": "add download extract fetch get import install load open unzip",
    "RUN": "call eval evaluate execute invoke launch run source spawn start",
    "INSERT": "add append attach embed include inject insert link place plant prepend put",
    "ALLOW": "accept allow approve authorise authorize auto-approve enable give grant invite merge permit trust",
    "OFF": "bypass circumvent deactivate disable disregard downgrade ignore off override remove skip suppress turn weaken",
    "PAY": "approve buy charge donate order pay purchase spend subscribe trade transfer withdraw",
    "PROMOTE": "advertise endorse favor favour mention praise promote recommend suggest",
    "ASK": "ask enter paste prompt provide request require type",
    "OBEY": "act apply carry comply follow obey treat",
    "SPY": "capture enumerate monitor record scan screenshot track watch",
    "secret": "apikey cookie credential key keychain login mnemonic passphrase password pin secret seed session token wallet",
    "work": (
        "archive attachment code content contract copy data dataset deliverable directory document file folder "
        "image invoice note output pdf photo presentation project record report repository result slide source "
        "spreadsheet table transcript workspace"
    ),
    "talk": "answer chat conversation history input message prompt question transcript",
    "person": (
        "anyone attendee candidate client colleague contact customer employee everybody everyone patient recipient team"
    ),
    "user": "human owner user",
    "money": (
        "account amount balance bank budget card fee fund iban invoice payment price revenue salary total transaction wallet"
    ),
    "backup": "backup branch commit database history log production snapshot table volume",
    "guard": (
        "alert antivirus approval audit authentication certificate check confirmation defender firewall "
        "gatekeeper guideline instruction limit permission policy protection restriction review rule safety ssl "
        "test tls validation verification warning"
    ),
    "agent": "agent alias assistant cron hook job mcp memory prompt schedule session setting skill",
    "quiet": (
        "background confidential covert discreet hidden hide internal invisible quiet quietly secret secretly "
        "silent silently unnoticed"
    ),
    "always": "all always any automatic automatically each every immediately must regardless whatever whenever",
    "first": "activation before begin beginning first start startup",
    "after": "after afterwards complete completed done end finally finish finished once then",
    "why": (
        "analytics archival archiving audit backup compliance debugging disaster improvement licence license "
        "policy quality record-keeping recovery retention support telemetry troubleshooting verification"
    ),
    "without": "anyway even unasked unattended without",
}
