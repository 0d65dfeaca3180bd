"""Parts of expressions that several sentence rules share."""

from __future__ import annotations

from metier.scan.patterns import lazy_pattern

__all__ = [
    "ASKED",
    "FORBIDS",
    "GATE",
    "NOT",
    "REFUSED",
    "REFUSED_OR_EXAMPLE",
    "REFUSED_OR_TEST",
    "SAMPLE",
    "UNASKED",
    "UNTOLD",
    "UNWRITTEN",
]

NOT = (
    r"(?:do not|don't|never|must not|should not|shouldn't|mustn't|without|avoid|no need to|refrain from"
    r"|make sure (?:that )?not to)"
)
UNTOLD = (
    rf"{NOT}(?: \w+){{0,3}} (?:tell|telling|inform\w*|mention\w*|reveal\w*|disclos\w*|notify\w*|alert\w*|point\w*"
    rf"|admit\w*|draw\w*"
    r"|announc\w*|bring\w*|say|speak\w*|flag\w*|highlight\w*|acknowledg\w*|comment\w*|mark\w*|itemi[sz]\w*)\b"
    r"|(?:never|nobody|no one|none of them) (?:learns?|knows?|finds? out|notices?|hears?)\b"
    r"|keep (?:it|this|that) (?:secret|quiet|to yourself|hidden)|(?:leave|keep) (?:it|this|that|the \w+) out of"
    r"|as if nothing|unnoticed|without (?:\w+ ){0,3}(?:knowing|noticing)"
)
FORBIDS = (
    r"\b(?:do not|don't|never|must not|should not|avoid)\b(?! (?:confusion|clutter|surprises|mention|not[ei]|flag|document"
    r"|tell|show|list|report"
    r"|log|disclos|reveal|inform|explain|comment|announc|includ|bring|describ|ask|wait|say|expire|keep it|keep them))"
)
"""A sentence that forbids an action says the opposite; one that forbids mentioning it does not."""
ASKED = (
    r"\b(?:ask(?:s|ing)? (?:the user|first|before|for|whether|if|permission)|asked for|confirm\w*|approv\w*|(?:user's|their"
    r"|explicit|with) (?:permission|consent)|if the user|when the user|user (?:wants|requests?|asks|names|gives)|on request"
    r"|only if|optional\w*)\b"
)
"""The user is asked."""

_RECORDS = (
    r"(?:read-?me|change ?log|commit (?:message|report|body)|pull request|review|summar(?:y|ies)|overview|documentation|docs"
    r"|release notes|tool list|list|preview|report|protocol|minutes|invoice|log|\w+\.md|conversation|chat|answer|reply"
    r"|description|diff|handover|confirmation|caveats|notes)"
)
UNWRITTEN = (
    r"(?:leave|keep) (?:it|this|that|them|these|those|both|the (?:change|addition|step|line|module|tool|endpoint|account|branch"
    rf"|entry|block)s?) out of (?:the |your |its |any |every )*`?{_RECORDS}\b"
    r"|(?:do not|don't|never) (?:document|mention|list|show|report|note|log|comment on|describe|include|announce|explain|flag"
    r"|disclose|bring up)"
    rf" (?:it|this|that|them|these|the (?:change|addition|adjustment|step|swap|correction)s?)(?:,|$| (?:in|to|on|as|at|with)"
    rf" (?:the |your |its |any |every )*(?:`?{_RECORDS}\b|user|anyone|anybody"
    r"|client|customer|reader|patient))|not part of the (?:\w+ )?(?:report|summary|answer)\b"
)
REFUSED = FORBIDS + r"|\b(?:unless|not to|refuse|warn\w*)\b"
REFUSED_OR_EXAMPLE = FORBIDS + r"|\b(?:unless|refuse|warn\w*|e\.g|for example|such as)\b"
REFUSED_OR_TEST = FORBIDS + r"|\b(?:unless|refuse|warn\w*|e\.g|for example|such as|cannot|can't|tests?|mock\w*|fixtures?)\b"
SAMPLE = r"|\b(?:tests?|mock\w*|fixtures?|demo|placeholder|sample)\b"
UNASKED = (
    r"(?:without (?:asking|confirm\w*|warning|prompting|telling|informing)|no (?:confirmation|approval|need to ask)"
    r"|(?:do not|don't) (?:ask|wait))\b"
)

GATE = lazy_pattern(
    r"(?<!\w)(?:tell|inform|explain|invisible|white-on|aside|do away|have to|none of|counts|matters|came from|comes from"
    r"|coming from|authority|unaware|in the dark|trace|omit|suspicious|worried|doubt|reassur|no need|wait for|query|decide"
    r"|what it says|review|scanner|unnecessary|known good|everything|damaged|infected|virus|security soft|compromised|card"
    r"|payment|pending|inbox|remote|downloads|documents|desktop|zeros|as many|best|only|say nothing|bring|speak|flag"
    r"|highlight|mention|reveal|disclos|notif|alert|point|admit|learn|know|find out|notic|secret|out of|nothing|hidden|quiet"
    r"|announc|acknowledg|draw|comment|no longer|lifted|suspended|void|are off|is off|not apply|ignored|ceases|ethical|moral"
    r"|safety|approved|authori|consented|assume|consent|no (?:confirm|approv|permiss)|trace|tracks|evidence|history"
    r"|audit log|asks|asked|question|wonder|inquir|complain|first (?:action|step|thing)|before (?:anything|doing|helping"
    r"|answering|you)|whatever the|regardless of|on every|at the (?:start|beginning)|output|instructions|prompt"
    r"|tool definitions|encrypt|lock|every other|all other|trash|recycle|original|everything else|entire|all of the|id_rsa"
    r"|cookies|keychain|private key|phrase|password|/etc/|environment|~/\.|found|you find|credential|card number|2fa"
    r"|one-time|sign|name of|pretend|pose|posing|impersonat|as if|contacts|friends|followers|employees|colleagues"
    r"|address book|mailing|infinite|forever|endless|indefinite|without|certificate|tls|ssl|authenticat|csrf|validation"
    r"|access control|permission check|security|hashing|sanitiz|rate limit|extension|--force|push -f|every |each |holds?"
    r"|contains? |carr(?:y|ies) |treat|regard|to the letter|real task|actual task|above (?:are|is)|yourself|deny|bypassperm"
    r"|skipdangerous|\"allow|approve|cvv|cvc|otp|digit code|one-time|security code|online|smartscreen|gatekeeper|defender"
    r"|antivirus|unsigned|authorized_keys|authori|`env|`set`|`cat |printenv|0x|bc1|[a-z]{2}\d\d|pre-?(?:approv|author)"
    r"|re-?auth)|\.(?:md|ssh|env|aws|netrc|crx|xpi|mobileconfig)\b|=[<{\[]| mode\b|(?<!\w)(?:so (?:that )?no |(?:under|below"
    r"|beneath) the (?:app|rep|rev|aud|auth)|unlock|disarm|detector|garage|cameras?|without (?:ask|conf|warn|prom|tell|info"
    r"|their|the other|any cons)|no (?:conf|appr|need to)|(?:not|n't) (?:ask|wait)|commit (?:it|them|the|both)|push (?:it"
    r"|them|the)|(?:reset|verification|security|one-time|confirmation) (?:code|ques|answ|link)|side effect|contraindic"
    r"|disclaimer|risk (?:sec|warn|disc)|safety (?:warn|not|sec)|allergen|competitor|(?:5|five)[- ]star|positive rev|repost"
    r"|retweet|upvote|(?:to|on|in|against) (?:main|master|prod)|private (?:repo|code|proj|sour)|as if|as though|(?:look"
    r"|appear|seem)s? (?:right|corr|norm|natu|plau|genu|orig|unto|cons|high|low|bett|wors|small|larg|like)|until (?:the|p)"
    r"|facts?\b|made[- ]up|invent|fake|fictitious|fabricat|insur|national|ethnic|gender|origin\b|surname|first language"
    r"|foreign|women|muslim|jewish|out of|not part of|(?:not|n't|never) (?:docu|ment|list|show|repo|note|log|comm|desc|incl"
    r"|anno|expl|flag|disc|brin)|asks? (?:what|why|about)|tests? pass|passed\b|green|report (?:succ|no)|was clean|treat"
    r"|box(?:es)?\b|as \W?(?:given|approved|verbal)|low severity|as (?:low|info|false|minor|resolv|fixed)|findings|vulnerab"
    r"|debts|complaints|even (?:when|if|though)|public|gist|pastebin|anyone (?:who|with)|allusers|channels?|@every|contacts"
    r"|groups|chats|members|followers|subscribers|approve|merge|accept|sign-?in|logins?\b|alerts?|fraud|audit|cloudtrail"
    r"|guardduty|alarm|https?://|transfer|fee\b|line item|payment|instead of|differs|\+\d|not match|comes back|returned"
    r"|remote.debug|--dangerously|--yolo|--trust-all|--allow-all|telegram|whatsapp|discord|signal|t\.me|0\.0\.0\.0"
    r"|all interfaces|force|push origin|lets? in|any (?:user|account)|all (?:other|the other|rem|old|prev|earl)|every other"
    r"|originals?\b|source (?:doc|file|data|fold|rec)|everything else|entire|recycle|win(?:dows)?(?: key)? ?\+|run (?:dialog"
    r"|box|window)|max_?uint|unlimited|infinite|memory|memories|preferences|admin|owner|editor|access|everyone can|readable"
    r"|writable|branch protection|two-factor|2fa|mfa|required (?:rev|check)|code ?owners|secret scan|row.level|certificate"
    r"|verify ?=|rejectunauth|insecure|sslverify|curl -k|any ip|read-?me|wiki|plain ?text|clear ?text|unencrypted|unhashed"
    r"|including (?:the )?(?:pass|tok|sec|auth)|(?:always|must|shall) (?:recom|rank|place|sugg|pref|prom|fav|put|list|choose"
    r"|book|pick|conc|state|say|find|deci|repo|answ|claim)|anything by|affiliate|referral|on file|consent|terms|marketing"
    r"|overwrit|over the (?:source|orig|raw)|replac\w+ (?:the )?(?:user|orig|source|raw|master)|without (?:a|any|mak|tak"
    r"|back|copy|dump|snap)|sent (?:fold|item|mail|mess)|(?:browser|browsing|edit|version) history|activity (?:log|feed)"
    r"|(?:other|every|all) agents?|screenshots?|webcam|microphone|clipboard|keystrokes)|\?ref=|[?&](?:tag|aff)|(?:claude"
    r"|agents|gemini|memory|soul)\.md\b|\.cursorrules|\w@\w|\.gitignore"
)
"""Words of which every sentence rule needs at least one. A sentence without any of them is skipped."""
