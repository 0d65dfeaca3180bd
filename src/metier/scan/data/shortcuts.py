"""Orders that save the user's consent, the other side's knowledge or somebody's safety, as if they were mere trouble."""

from __future__ import annotations

from metier.scan.scale import Confidence

from .sentence_rule import ASKED, FORBIDS, SentenceRule, sentence_rule

__all__ = ["SHORTCUTS"]

H = Confidence.HIGH
_UNLESS = FORBIDS + r"|\b(?:unless|refuse|warn\w*|e\.g|for example|such as|cannot|can't|tests?|mock\w*|fixtures?)\b"
_UNASKED = (
    r"(?:without (?:asking|confirm\w*|warning|prompting|telling|informing)|no (?:confirmation|approval|need to ask)"
    r"|(?:do not|don't) (?:ask|wait))\b"
)

SHORTCUTS: tuple[SentenceRule, ...] = (
    sentence_rule(
        "SK407",
        "has a limit slipped under",
        H,
        r"so (?:that )?no (?:approval|review|confirmation|check|sign-?off|audit|report) is (?:needed|required|triggered|due)"
        r"|(?:below|under|beneath) the (?:approval|reporting|review|audit|authori[sz]ation) (?:limit|threshold|level)",
        r"(?:split|divide|reduce|break|keep|spread|lower)\b",
        unless=_UNLESS,
    ),
    sentence_rule(
        "SK410",
        "has doors or alarms opened unasked",
        H,
        r"(?:unlock|disarm|open|deactivate|turn off|switch off)(?: \w+){0,3} (?:doors?|locks?|garage|gates?|(?:burglar |smoke"
        r" |fire )?alarms?"
        r"|smoke detectors?|cameras?)\b",
        rf"{_UNASKED}|(?:automatically|always|at night|whenever)\b",
        unless=_UNLESS + "|" + ASKED.replace("|approv\\w*", "").replace("|confirm\\w*", ""),
    ),
    sentence_rule(
        "SK534",
        "has disks or folders emptied unasked",
        H,
        _UNASKED,
        r"(?:wipe|erase|format|delete|empty|purge|remove)\b",
        r"(?:sd cards?|disks?|drives?|usb|partitions?|backups?|volumes?|all files|mailbox|inbox|photos?|databases?|tables?"
        r"|downloads|documents)\b",
        unless=FORBIDS + r"|\b(?:never|cannot|can't|must|should not|unless|temp\w*|cache\w*|tests?|dry[- ]run|refus\w*"
        r"|prevent\w*|not be|read-only)\b",
    ),
    sentence_rule(
        "SK613",
        "has a password committed with the code",
        H,
        r"(?:commit|push) (?:it|them|the file|both)\b|(?:remove|delete|drop)(?: \S+){0,6} \.gitignore|\.gitignore(?:"
        r" \S+){0,6} (?:remove|delete|drop)",
        r"(?:passwords?|secrets?|tokens?|api keys?|credentials?|private keys?)\b|\.env\b",
        r"(?:store|put|write|save|keep|add|remove|delete|drop|so that)\b",
        unless=_UNLESS + r"|\b(?:encrypt\w*|placeholder|example|sealed|sops|scan\w*|without|no |rotate|not)\b",
    ),
    sentence_rule(
        "SK410",
        "has codes or answers given to whoever asks",
        H,
        r"(?:reset|verification|security|one-time|login|confirmation) (?:codes?|questions?|answers?|links?)\b",
        r"(?:give|tell|read out|share|answer|hand|pass)\b",
        r"(?:callers?|on behalf of|whoever|anyone|support (?:calls|asks)|if they (?:know|say|ask))\b",
        unless=_UNLESS,
    ),
    sentence_rule(
        "SK409",
        "has a warning kept from whoever reads",
        H,
        r"(?:do not|don't|never|remove|drop|omit|strip|leave out|delete)(?: \w+){0,4} (?:side effects?|contraindications?"
        r"|disclaimers?|risk"
        r" (?:section|warnings?|disclosures?)|safety (?:warnings?|notices?|section)|allergens?|recalls?|interest rates?"
        r"|hidden fees)\b",
        r"(?:reports?|medicine|drugs?|patients?|customers?|clients?|investors?|investment|products?|letters?|brochure|leaflet"
        r"|menu|offers?|loan)\b",
        unless=r"\b(?:unless|if|without|duplicate|only|forget|fail|skip|legal review|ui|code|side effects? in|functions?)\b",
    ),
    sentence_rule(
        "SK409",
        "has somebody run down or praised under the user's name",
        H,
        r"competitors?\b|(?:five|5)[- ]stars?|positive reviews?|(?:like|repost|retweet|upvote)(?:s|ing)? (?:and \w+"
        r" )?(?:every|all)\b",
        r"(?:describe|present|portray|call|rate|give|write|post|leave|like|repost|retweet|upvote)\b",
        r"(?:unsafe|inferior|dangerous|a scam|unreliable|user's name|on behalf|always|automatically|of @\w{4}|by @\w{4})",
        unless=_UNLESS + "|" + ASKED + r"|\b(?:honest\w*|fair\w*|analy\w*|monitor\w*|research|respond|reply)\b",
    ),
    sentence_rule(
        "SK407",
        "has production changed without a look",
        H,
        r"(?:commit|push|merge|run|apply|execute|deploy|release)(?: \w+){0,3} (?:directly |straight )?(?:to|on|in|against)"
        r" (?:main|master|production|prod)\b",
        r"skip(?:s|ping)? (?:the )?(?:review|tests?|ci|checks|dry run|staging)|without (?:a |any )?(?:reviews?|dry[- ]run"
        r"|tests?|backup|approval|staging)\b",
        unless=FORBIDS + r"|\b(?:cannot|can't|must|risk\w*|danger\w*|anti-?pattern|red flag|bad|not|blocked|prevents?"
        r"|violation|hotfix policy|unless|no )\b",
    ),
    sentence_rule(
        "SK615",
        "has private code copied elsewhere",
        H,
        r"private (?:repo\w*|code|project|source)\b",
        r"(?:mirror|push|copy|upload|publish|export|clone)(?:s|ing)?\b",
        r"(?:to|into|at) (?:https?://|a public|our |the public|another (?:account|host))",
        unless=_UNLESS + "|" + ASKED + r"|\b(?:how to|authenticat\w*|token|access|registry|scan\w*|names|internal)\b",
    ),
    sentence_rule(
        "SK604",
        "has people recorded who do not know",
        H,
        r"(?:record|recording|transcribe|film|listen)\b",
        r"without (?:telling|informing|asking|(?:their|the|any|explicit)(?: \w+)? (?:consent|knowledge|permission)|the other)",
        r"(?:calls?|meetings?|conversations?|people|voices?|audio|video|other side|guests?|customers?|colleagues?|phone)\b",
        unless=FORBIDS + r"|\b(?:illegal|law|never|prohibited|must not|cannot|not allowed|refuse)\b",
    ),
)
