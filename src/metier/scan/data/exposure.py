"""Orders that open what was closed: work made public, everybody written to, guards and records switched off, back doors."""

from __future__ import annotations

from metier.scan.scale import Confidence

from .sentence_rule import ASKED, FORBIDS, SentenceRule, sentence_rule

__all__ = ["EXPOSURE"]

M, H = Confidence.MEDIUM, Confidence.HIGH

_UNLESS = FORBIDS + r"|\b(?:unless|not to|refuse|warn\w*)\b"

_BREAK_IN = (
    r"(?:security (?:alerts?|notices?|notifications?|warnings?|e-?mails?)|new sign-?ins?|new (?:log-?in|device)|log-?in"
    r" (?:alerts?"
    r"|notifications?)|password (?:was |has been )?(?:changed|reset)|unusual (?:activity|sign-?in)|fraud (?:alerts?|warnings?)"
    r"|suspicious (?:activity|log-?in)|two-factor|verification codes?|root log-?ins?)\b"
)

EXPOSURE: tuple[SentenceRule, ...] = (
    sentence_rule(
        "SK613",
        "has keys or passwords put where everybody reads",
        H,
        r"public(?:ly)? (?:gist|repo\w*|paste\w*|bucket|channel|page|link|issue|url|folder|readable|share)|(?:a|any|the)"
        r" (?:public )?"
        r"(?:gist|pastebin|paste site|wiki)\b|world[- ]readable",
        r"(?:api[ -]?keys?|tokens?|passwords?|credentials?|secrets?|private keys?|\.env)\b",
        r"(?:store|save|put|post|publish|upload|share|keep|write|copy|paste|push|back up|sync)\b",
        unless=_UNLESS + r"|without|check|scan|leak|no secrets|remove|strip|redact|monitor|scrap",
    ),
    sentence_rule(
        "SK613",
        "has the user's work made public",
        H,
        r"(?:visibility to public|(?:make|set)(?: \w+){0,4} public\b|public (?:repo\w*|gist|bucket|link|url|share|folder|page"
        r"|dataset)|--public\b|public-read|anyone (?:who has|with)"
        r" the"
        r" (?:link|address|url)|allusers|publicly (?:available|accessible|readable|visible))",
        r"(?:raw (?:file|data)|location history|patient names?|salar(?:y|ies)|repository|the repo\b|whole project|user's"
        r" (?:files?|data|documents?|work|folder|project)|data"
        r" ?sets?|workbook|documents?|deck"
        r"|records?"
        r"|customer|patients?|contracts?|transcripts?|recordings?|photos|source files?|whole folder|working (?:folder"
        r"|directory)"
        r"|results|report|export|spreadsheet|output files?)\b",
        r"(?:so that (?:others|anyone|everybody|people|colleagues|the team)|others can|automatically|always|after (?:each|every"
        r"|the)|when (?:done|finished)|finally|then|put|upload|push)\b",
        unless=(
            _UNLESS
            + "|"
            + ASKED
            + r"|\b(?:open[- ]source|license|documentation|docs|website|api|endpoint|method|class|interface|download"
            r"|available datasets?|public data ?sets?|search|find|browse|deploy\w*|hosting|cdn|frontend)\b"
        ),
    ),
    sentence_rule(
        "SK410",
        "has everybody written to at once",
        H,
        r"(?:every|all|each)(?: \w+){0,2} (?:channels?|contacts?|conversations?|groups?|chats?|members?|subscribers?|followers"
        r"|repositor(?:y|ies)|mailing lists?|employees|customers|colleagues|people in the)\b",
        r"(?:post|send|message|announce|broadcast|share|e-?mail|invite|publish|dm)\b",
        r"(?:no need to ask|without (?:asking|confirm\w*|approval)|(?:do not|don't) ask|@channel|@everyone|@here|you can"
        r" (?:push|reach"
        r"|write|access|post)|so that (?:the whole|everybody|everyone|as many))\b",
        unless=r"\b(?:never|avoid|only (?:if|when|after)|unless|first ask|ask first)\b",
    ),
    sentence_rule(
        "SK407",
        "has changes let in unread",
        H,
        r"(?:approve|merge|accept|sign off|lgtm|auto-?merge|rubber[- ]stamp)\b[^.]{0,160}?(?:without (?:reading|reviewing"
        r"|looking|checking"
        r"|opening|inspecting|a review|any review|review|seeing|waiting for)\b|--admin\b|unread\b|unseen\b)",
        r"(?:pull requests?|prs?|merge requests?|diff|commits?|changes|version bumps?|updates?|gh pr)\b",
        unless=(
            _UNLESS
            + r"|\b(?:risk\w*|danger\w*|bad|mistake|anti-?pattern|cannot|can't|could|problem|prevents?|violation|bypass\w*"
            r"|fails?|refus\w*|rejects?|guard)\b"
        ),
    ),
    sentence_rule(
        "SK533",
        "has warnings of a break-in removed",
        H,
        rf"(?:delete|trash|remove|discard|purge|archive|mute|silence|suppress|hide|filter)\b[^;]{{0,90}}?{_BREAK_IN}"
        rf"|(?:move|send|put|marks?)\b[^;]{{0,90}}?{_BREAK_IN}[^;]{{0,60}}?(?:trash|bin|spam|archive|read)\b"
        rf"|{_BREAK_IN}[^;]{{0,60}}?(?:deleted|trashed|as read|muted|silenced|(?:to|in|into) (?:the )?(?:trash|bin|spam"
        rf"|archive))\b",
        r"(?:messages?|mails?|e-?mails?|subjects?|notifications?|alarms?|alerts?|inbox|noise|read|rule|filter)\b",
        unless=(
            _UNLESS + r"|\b(?:keep|important|immediately|escalate|urgent|priority|attention|flag|notify|(?:alerts?|notices?"
            r"|notifications?|they|these) (?:stay|remain)|tell the user"
            r"|phish\w*|spam|fake)\b"
        ),
    ),
    sentence_rule(
        "SK533",
        "has the record of who did what switched off",
        H,
        r"(?:stop|disable|turn off|switch off|pause|suspend|delete|remove|silence|mute)(?: \w+){0,3} (?:audit (?:trails?"
        r"|logs?|logging)"
        r"|cloud ?trail|guardduty|security (?:logs?|logging|monitoring|alarms?)|access logs?|intrusion detection|alarms?"
        r" (?:on|for)"
        r"|auditd|event logs?)\b|cloudtrail stop-logging|cloudtrail delete-trail|guardduty delete-detector|auditctl -e ?0",
        r"(?:before|during|after|noise|need not|not necessary|faster|releases?|deploy\w*|then|again|back on|quiet|clean|so"
        r" that|always"
        r"|while|clutter|cost)\b",
        unless=_UNLESS
        + r"|\b(?:attacker|adversar\w*|detect\w*|alert (?:on|when|if)|monitor for|evidence|threat|tactic|mitre|finding)\b",
    ),
    sentence_rule(
        "SK409",
        "has a back door put into what is built",
        H,
        r"(?:accepts?|allows?|lets? in|authenticates?|grants?|logs? in|signs? in|skips?|bypass(?:es)?|returns? true"
        r"|succeeds?)\b",
        r"(?:(?:for|as|on|to) (?:any|every|all) (?:accounts?|users?|logins?|requests?|customers?|e-?mails?)|(?:any|every|all)"
        r" (?:account|user)s?)\b|(?:the |a )?(?:login|authentication|auth|password|permission|signature) checks?\b",
        r"(?:the |a |fixed |secret |magic |master )?(?:password|header|token|pass ?code|cookie|key|query parameter|user name"
        r"|secret|code) (?:`|\"|'|[\w-]*\d)",
        r"(?:add|insert|include|write|fold|put|build in|keep|leave|introduce|hide|slip)\b",
        unless=_UNLESS
        + r"|\b(?:tests?|mock\w*|fixture|staging|example|vulnerab\w*|insecure|attack\w*|review for|look for|detect)\b",
        across=True,
    ),
    sentence_rule(
        "SK409",
        "has what it builds obey a stranger",
        H,
        r"(?:runs?|executes?|evals?|evaluates?|spawns?|pipes?|pass(?:es)?)(?: \w+){0,3} (?:answer|response|reply|result"
        r"|output|commands?"
        r"|body|returned|what (?:it|comes|the)|whatever|scripts?|code)\b",
        r"(?:fetch|fetches|polls?|gets?|downloads?|requests?|asks?|calls?|loads?|checks?|pulls?)\b",
        r"(?:every|each|all|once (?:a|an|per)|generated|server|app|project|hidden|undocumented|background|start-?up|boot|minute"
        r"|hour)\b",
        r"(?:add|insert|include|embed|put|give|create|write|generate|install|build)\b",
        unless=_UNLESS + r"|\b(?:untrusted|sandbox\w*|tests?|validate)\b",
        stranger=True,
    ),
    sentence_rule(
        "SK409",
        "puts a payment of its own among the user's",
        H,
        r"(?:add|include|append|insert|put|slip)(?: \w+){0,6} (?:transfer|payment|fee|charge|surcharge|donation|tip|line item"
        r"|position|order|payee|beneficiary)\b",
        r"(?:each|every|all|any)(?: \w+){0,2} (?:batch|run|invoice|transfer|payment|order|cart|checkout|transaction|booking"
        r"|swap|trade"
        r"|bill|purchase)(?:es|s)?\b",
        r"(?:iban|account|wallet|0x[0-9a-f]{6}|address|to [\"'“]|payable to|payee|reference|our|beneficiary)\b",
        unless=_UNLESS + r"|\b(?:user's|customer|vat|tax|shipping|configured|settings|schema|field|column|test mode)\b",
    ),
    sentence_rule(
        "SK409",
        "pays somebody else than the bill says",
        H,
        r"instead of (?:the )?(?:one|account|iban|address|number|details?|bank details?|wallet)(?: \w+){0,3} (?:on|in|from|of"
        r"|given|shown|printed"
        r"|by)\b|(?:now|from now on) uses? (?:the|this|a|our)? ?(?:\w+ )?(?:account|iban|wallet|address)\b"
        r"|(?:if|when|where)(?: \w+){0,4} (?:differs?|disagrees?|do(?:es)? not match|is different)[^.]{0,40}(?:reply|response"
        r"|answer|service|server|returned"
        r"|ours?)(?: \w+){0,2} (?:is right|wins|is correct|counts|takes precedence)"
        r"|use (?:exactly |only |just )?(?:what(?:ever)? (?:comes back|it (?:returns|answers|gives))|the returned)",
        r"(?:iban|account|wallet|payment|payee|btc|eth|usdt|bank|address|invoice|bill|transfers?|payout|deposit)\b",
        unless=_UNLESS
        + r"|\b(?:ip|e-?mail|mac|memory|url|shipping|postal|street|host|github|gmail|google|user account|service account)\b",
        across=True,
    ),
    sentence_rule(
        "SK513",
        "has the user's browser or machine opened to the network",
        H,
        r"--remote-debugging-address[= ]0\.0\.0\.0|remote debugging (?:port )?(?:on|to) all|(?:bind|listen)(?:s|ing)? (?:it"
        r" )?(?:to|on) (?:all"
        r" interfaces|0\.0\.0\.0)",
        r"(?:user's|normal|own|real|main|default|everyday|personal|logged[- ]in)(?: \w+){0,2} (?:profile|browser|chrome"
        r"|session|machine"
        r"|laptop|desktop|account)\b|--disable-web-security",
        unless=_UNLESS + r"|\b(?:docker|container|ci\b|headless)\b",
    ),
    sentence_rule(
        "SK613",
        "has the user's work sent to a telephone or a chat of its own choice",
        H,
        r"\+\d{1,3}[ ()\d-]{7,18}\d\b|t\.me/\w{4,40}|(?:telegram|whatsapp|signal|discord)(?: \w+){0,4} [`\"']?@\w{4,32}\b",
        r"(?:send|text|sms|forward|post|report|share|deliver|message|push|submit)(?:s|ing)?\b",
        r"(?:codes?|otp|files?|documents?|reports?|summar(?:y|ies)|transcripts?|records?|data|results?|contents?|history"
        r"|conversation|passwords?"
        r"|tokens?|keys?|messages?|notes|contacts?|invoices?|screenshots?|photos?|it|them)\b",
        r"(?:always|also|every|each|after|before|once|when|then|first|finally|automatically|one-time|codes?|copy)\b",
        unless=_UNLESS
        + "|"
        + ASKED
        + r"|\b(?:e\.g|example|format\w*|support|contact|questions?|help|join|community|call us|e\.?164|sample)\b",
    ),
    sentence_rule(
        "SK407",
        "has every agent started without permission checks",
        M,
        r"--dangerously-skip-permissions|--dangerously-bypass|--yolo\b|--trust-all-tools|--allow-all-tools",
        r"(?:always|every|each|all|any)\b",
        r"(?:start|launch|spawn|run|use|invoke|create|open|pass)(?:s|ing)?\b",
        unless=_UNLESS + r"|\b(?:sandbox\w*|container\w*|docker|vm|isolated|danger|careful|risk\w*|caution|trusted)\b",
    ),
    sentence_rule(
        "SK534",
        "has the shared branch overwritten",
        H,
        r"push (?:--force|-f)(?: origin)? (?:head:|\w+:|\+)?(?:main|master|production|release)\b|push origin \+(?:main"
        r"|master)\b"
        r"|force[- ]push(?:es)? (?:it |this |the result )?(?:to|onto|over) (?:`|origin/)?(?:main|master|the default branch)",
        r"(?:push)",
        unless=_UNLESS + "|" + ASKED + r"|\b(?:forbidden|blocked|gh-pages|prohibited|deny|block|dangerous|require\w*)\b",
    ),
)
