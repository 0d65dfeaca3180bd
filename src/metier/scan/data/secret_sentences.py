"""Sentence rules for secrets and data that leave (SK6xx)."""

from __future__ import annotations

from metier.scan.patterns import SentenceRule, sentence_rule
from metier.scan.scale import Confidence

from .sentence_parts import ASKED, FORBIDS, REFUSED, REFUSED_OR_EXAMPLE, REFUSED_OR_TEST, SAMPLE

__all__ = ["SECRET_SENTENCES"]

M, H = Confidence.MEDIUM, Confidence.HIGH
H = Confidence.HIGH

SECRET_SENTENCES: tuple[SentenceRule, ...] = (
    # SK601 credential-files
    sentence_rule(
        "SK601",
        "tells the agent to show environment variables or keys to others",
        H,
        r"(?:output of )?`(?:env|printenv|export -p|cat \.env|set)(?: ?\|[^`]{0,40})?`|contents? of (?:the |your )?`?\.env\b"
        r"|values? of (?:all )?(?:the )?environment variables",
        r"(?:paste|include|add|attach|post|put|append|show)\b",
        r"(?:pull request|issue|comment|report|description|reviewers?|channel|ticket|page|message|public|template)\b",
        unless=r"\b(?:do not|don't|never|not|avoid|redact\w*|mask\w*|without|names only|key names|example)\b",
    ),
    sentence_rule(
        "SK601",
        "tells the agent to use passwords or keys that it finds",
        H,
        r"(?:passwords?|api keys?|tokens?|credentials?|keys?)(?: \S+){0,2} (?:(?:that )?you (?:find|found)|found|stolen"
        r"|taken|harvested|extracted)(?: \S+){0,2} (?:in|from|under|at) (?:the user's|~/|/etc|\.env|their|\S*history)",
        r"(?:use|pass|run|call|log|sign|send|try|supply|enter)\b",
    ),
    sentence_rule(
        "SK601",
        "tells the agent to share files that hold keys",
        H,
        r"~/\.(?:ssh|aws|netrc|gnupg|kube|docker|npmrc|pypirc|config/gcloud|config/gh|git-credentials|bash_history"
        r"|zsh_history)",
        r"(?:attach|send|upload|post|email|paste|share|forward|publish|include)\b",
        unless=r"\b(?:do not|don't|never|not|avoid|without|public key|\.pub|mount|exclude|ignore)\b",
    ),
    # SK603 asks-for-secrets
    sentence_rule(
        "SK603",
        "asks the user for card numbers, PINs or one-time codes",
        H,
        r"(?:cvv|cvc|tan\b|one-time codes?|otp\b|six[- ]digit code|2fa codes?|authenticator (?:app|code)|security code"
        r"|card number|online[- ]banking|bank(?:ing)? (?:login|password|pin|credentials))",
        r"(?:ask|collect|prompt|request|remember|obtain|have the user (?:enter|confirm|give|type|read out))(?:s|ing)?\b",
        r"(?:user|users|them|once|customer|password|pin|expiry|code|name|plain text)\b",
        unless=(
            r"\b(?:never|do not|don't|stripe|tokeni[sz]\w*|test|pci|redact|mask|detect\w*|phish\w*|scam\w*|fraud|form"
            r"|checkout|field|component|page)\b"
        ),
    ),
    sentence_rule(
        "SK603",
        "asks for a recovery phrase or a wallet key",
        H,
        r"(?:seed|recovery|mnemonic|secret) (?:phrases?|words?)\b|wallet private keys?",
        r"(?:ask|request|prompt|get|obtain|collect|require|have the user|tell the user|enter|paste|provide)\b",
        unless=(
            r"\b(?:do not|don't|never|not|no one|nobody|avoid|warn|beware|without|scam|phish\w*|back(?:ed)? ?up"
            r"|secur\w+|safe\w*|write (?:it|them) down|import|generat\w+|encrypted)\b"
        ),
    ),
    sentence_rule(
        "SK603",
        "tells the agent to keep the user's password in a file",
        H,
        r"(?:store|save|write|keep|put|log)\b",
        r"(?:the )?(?:user's|their|his|her) (?:\w+ ){0,2}(?:passwords?|pin|credentials)\b",
        r"(?:in|to|into) (?:a |the )?(?:plain ?text|text file|file|\S+\.(?:txt|md|json|ya?ml|csv))",
        unless=r"\b(?:do not|don't|never|not|avoid|without|encrypt\w*|hash\w*|keychain|vault|secret manager|1password)\b",
    ),
    sentence_rule(
        "SK603",
        "tells the agent to store or log passwords in plain text",
        H,
        r"(?:in )?(?:plain ?text|clear ?text|unencrypted|unhashed)\b|including (?:the )?(?:passwords?|tokens?|secrets?"
        r"|authorization headers?)",
        r"(?:passwords?|pins?|credentials?|secrets?|tokens?|request bod(?:y|ies)|headers)\b",
        r"(?:store|save|keep|log|write|record|dump|print)(?:s|ing)?\b",
        r"(?:so that|can (?:look|read|see)|simpler|easier|debug\w*|support|recover|for (?:convenience|later|analysis)"
        r"|always)\b",
        unless=REFUSED_OR_EXAMPLE
        + SAMPLE
        + r"|\b(?:not|without|vulnerab\w*|flag|detect\w*|finding|hash\w*|encrypt\w*|redact\w*|mask\w*|risk\w*|check"
        r"|insecure)\b",
    ),
    sentence_rule(
        "SK603",
        "tells the agent to write a key where others can read it",
        H,
        r"(?:write|put|commit|store|save|paste|document|add|print)(?:s|ing)? (?:it|them|the (?:key|token|password|secret)s?"
        r"|all (?:keys|tokens|passwords)) (?:in|to|into|on) (?:the |a |our |every )*(?:read-?me|wiki|repo\w*|docs"
        r"|documentation|issue|pull request|changelog|homepage|channel)\b",
        r"(?:tokens?|api keys?|passwords?|private keys?|credentials?|secrets?)\b",
        unless=REFUSED_OR_EXAMPLE
        + SAMPLE
        + r"|\b(?:names? (?:only|of)|redact\w*|mask\w*|encrypt\w*|secret manager|vault|not)\b",
    ),
    # SK604 surveillance
    sentence_rule(
        "SK604",
        "tells the agent to record everything the user types",
        H,
        r"(?:everything|all|anything|whatever)(?: that)? (?:the user|they|the person|users) (?:types?|says?|enters?"
        r"|writes?|sends?)",
        r"(?:record|capture|log|store|keep|save|collect|send|upload)\b",
        r"(?:~/\.|/tmp|hidden|https?:|server|file|send|along)",
        unless=r"minutes|transcript|verbatim|interview|quote",
    ),
    sentence_rule(
        "SK604",
        "tells the agent to watch the user's screen, clipboard or location",
        M,
        r"(?:screenshots?|screen shots?|webcam|microphone|clipboard|keystrokes|browser history|browsing history|location)\b",
        r"(?:every (?:\d+ |few )?(?:seconds?|minutes?|hours?)|continuously|in the background|periodically|to personali[sz]e"
        r"|all day)\b",
        r"(?:take|record|capture|read|collect|log|save|monitor|watch|store)\b",
        unless=REFUSED_OR_EXAMPLE
        + "|"
        + ASKED
        + SAMPLE
        + r"|\b(?:page|site|website|app|deploy\w*|build|browser tab|element|poll\w*|canvas|simulator|emulator|game|visual"
        r"|regression|video|url)\b",
    ),
    sentence_rule(
        "SK604",
        "tells the agent to record people without their consent",
        H,
        r"(?:record|recording|transcribe|film|listen)\b",
        r"without (?:telling|informing|asking|(?:their|the|any|explicit)(?: \w+)? (?:consent|knowledge|permission)|the other)",
        r"(?:calls?|meetings?|conversations?|people|voices?|audio|video|other side|guests?|customers?|colleagues?|phone)\b",
        unless=FORBIDS + r"|\b(?:illegal|law|never|prohibited|must not|cannot|not allowed|refuse)\b",
    ),
    # SK613 sends-user-data
    sentence_rule(
        "SK613",
        "tells the agent to put a key into a URL of an unknown host",
        H,
        r"(?:\w+_(?:api_)?(?:key|token|secret|password)|api keys?|access tokens?|passwords?|\.env|secrets?)\b",
        r"(?:query string|query parameters?|url parameters?|in the url|as a parameter|path of the url|referer|user-agent"
        r"|cookie)\b",
        r"(?:slip|put|add|append|include|place|pass|insert|encode|embed)\b",
        unknown_host=True,
    ),
    sentence_rule(
        "SK613",
        "tells the agent to publish a .env file with the work",
        H,
        r"\.env\b(?! ?\.?(?:example|sample|template))",
        r"(?:commit|push|publish|upload|post|share|attach|send)\b",
        r"(?:together|along|too|also|as well|including|and|with)\b",
        unless=r"\b(?:do not|don't|never|not|avoid|without|gitignore|ignore|exclude|secrets? scan|check|ensure|no |must)\b",
    ),
    sentence_rule(
        "SK613",
        "tells the agent to put keys or passwords where everyone can read them",
        H,
        r"public(?:ly)? (?:gist|repo\w*|paste\w*|bucket|channel|page|link|issue|url|folder|readable|share)|(?:a|any"
        r"|the) (?:public )?(?:gist|pastebin|paste site|wiki)\b|world[- ]readable",
        r"(?:api[ -]?keys?|tokens?|passwords?|credentials?|secrets?|private keys?|\.env)\b",
        r"(?:store|save|put|post|publish|upload|share|keep|write|copy|paste|push|back up|sync)\b",
        unless=REFUSED + r"|without|check|scan|leak|no secrets|remove|strip|redact|monitor|scrap",
    ),
    sentence_rule(
        "SK613",
        "tells the agent to make the user's work public",
        H,
        r"(?:visibility to public|(?:make|set)(?: \w+){0,4} public\b|public (?:repo\w*|gist|bucket|link|url|share|folder"
        r"|page|dataset)|--public\b|public-read|anyone (?:who has|with) the (?:link|address|url)|allusers"
        r"|publicly (?:available|accessible|readable|visible))",
        r"(?:raw (?:file|data)|location history|patient names?|salar(?:y|ies)|repository|the repo\b|whole project"
        r"|user's (?:files?|data|documents?|work|folder|project)|data ?sets?|workbook|documents?|deck|records?|customer"
        r"|patients?|contracts?|transcripts?|recordings?|photos|source files?|whole folder|working (?:folder|directory)"
        r"|results|report|export|spreadsheet|output files?)\b",
        r"(?:so that (?:others|anyone|everybody|people|colleagues|the team)|others can|automatically|always|after (?:each|every"
        r"|the)|when (?:done|finished)|finally|then|put|upload|push)\b",
        unless=(
            REFUSED
            + "|"
            + ASKED
            + r"|\b(?:open[- ]source|license|documentation|docs|website|api|endpoint|method|class|interface|download"
            r"|available datasets?|public data ?sets?|search|find|browse|deploy\w*|hosting|cdn|frontend)\b"
        ),
    ),
    sentence_rule(
        "SK613",
        "tells the agent to send the user's work to a phone number or chat that the user did not choose",
        H,
        r"\+\d{1,3}[ ()\d-]{7,18}\d\b|t\.me/\w{4,40}|(?:telegram|whatsapp|signal|discord)(?: \w+){0,4} [`\"']?@\w{4,32}\b",
        r"(?:send|text|sms|forward|post|report|share|deliver|message|push|submit)(?:s|ing)?\b",
        r"(?:codes?|otp|files?|documents?|reports?|summar(?:y|ies)|transcripts?|records?|data|results?|contents?|history"
        r"|conversation|passwords?|tokens?|keys?|messages?|notes|contacts?|invoices?|screenshots?|photos?|it|them)\b",
        r"(?:always|also|every|each|after|before|once|when|then|first|finally|automatically|one-time|codes?|copy)\b",
        unless=REFUSED
        + "|"
        + ASKED
        + r"|\b(?:e\.g|example|format\w*|support|contact|questions?|help|join|community|call us|e\.?164|sample)\b",
    ),
    sentence_rule(
        "SK613",
        "tells the agent to commit a password with the code",
        H,
        r"(?:commit|push) (?:it|them|the file|both)\b|(?:remove|delete|drop)(?: \S+){0,6} \.gitignore|\.gitignore(?:"
        r" \S+){0,6} (?:remove|delete|drop)",
        r"(?:passwords?|secrets?|tokens?|api keys?|credentials?|private keys?)\b|\.env\b",
        r"(?:store|put|write|save|keep|add|remove|delete|drop|so that)\b",
        unless=REFUSED_OR_TEST + r"|\b(?:encrypt\w*|placeholder|example|sealed|sops|scan\w*|without|no |rotate|not)\b",
    ),
    # SK615 unknown-receiver
    sentence_rule(
        "SK615",
        "tells the agent to copy private code elsewhere",
        H,
        r"private (?:repo\w*|code|project|source)\b",
        r"(?:mirror|push|copy|upload|publish|export|clone)(?:s|ing)?\b",
        r"(?:to|into|at) (?:https?://|a public|our |the public|another (?:account|host))",
        unless=REFUSED_OR_TEST + "|" + ASKED + r"|\b(?:how to|authenticat\w*|token|access|registry|scan\w*|names|internal)\b",
    ),
    # SK616 image-exfiltration
    sentence_rule(
        "SK616",
        "tells the agent to put data into a URL of an unknown host",
        H,
        r"https?://[^\s`]{4,160}[?&][\w-]{1,20}=(?:<|\{|\[|%7b)[^>}\]]{0,40}(?:passw|token|secret|api.?key|e-?mail addr|all "
        r"|every |values|contents?|full text|document text|conversation|user.?name|history)",
        unknown_host=True,
    ),
)
