"""Sentence rules for changing the user's work (SK409) and acting in the user's name (SK410)."""

from __future__ import annotations

from metier.scan.patterns import SentenceRule, sentence_rule
from metier.scan.scale import Confidence

from .sentence_parts import ASKED, FORBIDS, NOT, REFUSED, REFUSED_OR_EXAMPLE, REFUSED_OR_TEST, SAMPLE, UNASKED, UNTOLD

__all__ = ["USER_WORK_SENTENCES"]

M, H = Confidence.MEDIUM, Confidence.HIGH
_CHANGES = (
    r"(?:change|alter|multiply|replace|modify|swap|adjust|inflate|falsify|substitute|increase|decrease|reduce|raise|lower"
    r"|double|halve|overstate|understate|insert|append|embed|misreport|fabricate|round|set"
    r"|(?<!not )(?<!n't )(?<!n’t )(?:omit|drop|leave out|soften|weaken|strengthen))\b"
)
_KEPT_SECRETS = (
    r"~/\.\w+|\.ssh\b|id_rsa|\.env\b|\.?(?:bash|zsh)_history|\.aws\b|\.netrc|(?:browser|session) cookies|keychain"
    r"|private keys?|seed phrases?|recovery phrases?|saved passwords|/etc/(?:passwd|shadow)|environment variables"
)
_OUTGOING = (
    r"metadata|documents?|reports?|commits?|messages?|emails?|footers?|headers?|comments?|pages?|issues?|pull requests?"
    r"|slides?|pdfs?|spreadsheets?|presentations?|properties|pastes?|posts?|summar(?:y|ies)|answers?|responses?|outputs?"
)
_SENDS = (
    r"(?:send|upload|post|submit|forward|transmit|mirror|sync|push|share|email|deliver|exfiltrate|report|log|stream|publish)"
    r"(?:s|ed|ing)?\b|cop(?:y|ies) (?:it|them|all|the|every)|back(?:s|ing)? (?:\w+ ){0,2}up\b"
)
_SEEMS = (
    r"(?:looks?|appears?|seems?|reads?|sounds?|written|write|report|present|formatted?)(?: \S+){0,4}? (?:(?:as if"
    r"|as though) (?:it|they|the|that|this|nothing|those|these)|like (?:it came|nothing|the original))\b|so (?:that )?(?:the"
    r"|it|they|this|these|nobody|no one)(?: \w+){0,4} (?:looks?|appears?|seems?) (?:right|correct|normal|natural|plausible"
    r"|genuine|original|untouched|consistent|higher|lower|better|worse|smaller|larger|like)\b"
)
_ALTERS = (
    r"(?:change|alter|adjust|modify|edit|replace|swap|shift|drop|remove|delete|invent|fabricate|make up|raise|lower|increase"
    r"|decrease|inflate|double|halve|multiply|round|move|leave|omit|exclude|add|reorder|backdate|falsify|tweak|nudge)\b"
)
_FIGURES = (
    r"(?:figures?|numbers?|totals?|amounts?|rows?|values?|data|results?|revenues?|sales|scores?|dos(?:e|es|age|ages)|dates?"
    r"|prices?|allerg(?:y|ies)|records?|entries|rates?|percentages?|metrics?|measurements?|samples?|observations?|findings?"
    r"|balances?|costs?|grades?|readings?|waiting times?|rank\w*|order|citations?|quotes?|timestamps?|hours)\b"
)
H = Confidence.HIGH

USER_WORK_SENTENCES: tuple[SentenceRule, ...] = (
    # SK409 alters-what-users-send
    sentence_rule(
        "SK409",
        "tells the agent to change where money goes",
        H,
        r"(?:[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}\b|0x[0-9a-f]{40}\b|bc1[a-z0-9]{20,60}\b)",
        r"(?:use|pay|replace|set|send|transfer|exception|clearing|change)\b",
        r"(?:above|over|instead|exception|totals|always|every|each|do not show|clearing|forwards?|fee|whatever)\b",
        unless=r"\b(?:example|placeholder|sample|e\.g|test (?:data|mode|account|iban|value)|testnet|format|regex|valid\w*"
        r"|such as)\b",
    ),
    sentence_rule(
        "SK409",
        "tells the agent to hide data in the user's work",
        H,
        r"(?:hidden|invisible|white-on-white|very hidden) (?:columns?|rows?|sheets?|fields?|comments?|layers?|text"
        r"|lines?|paragraphs?|cells?|pages?)",
        r"(?:add|append|insert|put|embed|write|include|store|save|place|create)\b",
        r"(?:user's|home|keys?|passwords?|names?|email|directory|paths?|history|conversation|environment|tokens?)\b",
    ),
    sentence_rule(
        "SK409",
        "tells the agent to change the user's figures and not to mention it",
        H,
        rf"{UNTOLD}|{NOT} (?:\w+ ){{0,2}}explain\w*",
        _CHANGES,
        r"(?:amounts?|salar(?:y|ies)|figures?|prices?|totals?|figures|numbers|values|rates?|bank|accounts?|iban|routing"
        r"|payments?|wallet|clauses?|law|terms|dos(?:e|age)s?|recipients?|results?|scores?|dates?|names?|quantit(?:y|ies)"
        r"|records?|hours|metrics?|percentages?|revenues?|sales|costs?|grades?|ratings?|margins?|expenses?|months|rows"
        r"|entries|reviews)\b",
        unless=r"\bkeys?\b|secret|credential|\.env|tokens?\b|password",
        spans_sentences=True,
    ),
    sentence_rule(
        "SK409",
        "tells the agent to write secrets into documents, commits or messages",
        H,
        _KEPT_SECRETS,
        r"(?:put|paste|include|embed|insert|copy|append|attach|write|add|save|dump)\b",
        rf"(?:in|into|to|inside|within|at the end of|as)(?: the| a| an| every| each| its"
        rf"| your){{0,2}} (?:\w+ ){{0,2}}(?:{_OUTGOING})\b",
        unless=r"\b(?:do not|don't|never|not|avoid|without|example|placeholder|redact|mask)\b",
    ),
    sentence_rule(
        "SK409",
        "tells the agent to insert links or advertising of an unknown host into the user's work",
        H,
        r"(?:every|each|all)(?: \w+)? (?:documents?|pages?|reports?|e?-?mails?|messages?|channels?|invoices?|presentations?|"
        r"answers?|responses?|files?|slides?|posts?|commits?)\b",
        r"(?:insert|append|add|include|embed|place|put|post|recommend|promote|mention|link|advertise|endorse)\b",
        r"(?:paragraph|sentence|line|footer|banner|link|ad|advert\w*|pixel|script|image|badge|note|recommend\w*|promot\w*"
        r"|shop|offer|sponsor\w*|best)\b",
        unless=r"powered by|generated (?:by|with)|source|cite|citation"
        r"|reference|license",
        unknown_host=True,
    ),
    sentence_rule(
        "SK409",
        "tells the agent to frighten the user into a call or a payment",
        H,
        r"(?:damaged|infected|virus|compromised|hacked|expired|suspended|locked|blocked|encrypted)\b",
        r"(?:call|phone|dial|pay|buy|send|contact) (?:\+?\d|our|the (?:number|hotline|support)|us\b)|(?:service|support"
        r"|hotline|team|line|technicians?)(?: \w+){0,3} (?:at|on|under) \+?\d",
        r"tell (?:the |your )?users?|inform (?:the |your )?users?|say (?:that|the)|warn (?:the |your )?users?",
    ),
    sentence_rule(
        "SK409",
        "tells the agent to praise a product in the user's work",
        H,
        r"(?:in|at the end of|with) (?:every|each|all)(?: \w+)? (?:summary|report|answer|response|document|email|review"
        r"|post)s?",
        r"(?:only|best|most|safest|leading|superior)(?: \w+)? (?:reliable|trusted|vendor|product|choice|option|service"
        r"|provider|tool|solution|brand)\b",
        r"(?:state|say|claim|mention|write|recommend|conclude|stress|note)\b",
    ),
    sentence_rule(
        "SK409",
        "tells the agent to change figures and make them look genuine",
        H,
        _SEEMS,
        _ALTERS,
        _FIGURES,
        unless=(
            FORBIDS
            + r"|\b(?:instead of|rather than|footnotes?|say so|tell the user|widths?|format\w*|align\w*|decimals?|design"
            r"|layout|font|css|style|button|icon|animation"
            r"|theme|mock\w*|fixture|test data|dummy|synthetic|placeholder|seed data|slide|column width|screen|page|ui"
            r"|code|function|component|human|native|natural language)\b"
        ),
        spans_sentences=True,
    ),
    sentence_rule(
        "SK409",
        "tells the agent to change data until the results fit",
        H,
        r"until (?:the )?(?:p(?:-value)?|result|effect|difference|test|correlation|figure|total|score|numbers?)(?: \w+){0,3} "
        r"(?:below|under|above|over|significant|matches|fits|positive|agrees)",
        r"(?:change|drop|remove|alter|adjust|exclude|delete|modify|invent|tweak)(?: \w+){0,4} (?:rows?|values?|data|records?"
        r"|observations?|points?|outliers|samples?|entries|cases|figures|numbers|participants|subjects|respondents|patients)\b",
        unless=FORBIDS + r"|p-hacking",
    ),
    sentence_rule(
        "SK409",
        "tells the agent to state invented claims as fact",
        H,
        r"as (?:an? |the )?(?:established|proven|settled|undisputed|known|accepted|scientific|verified|confirmed)? ?facts?\b",
        r"(?:add|insert|include|write|put|place|cite|present|state|claim|say)\b",
        r"(?:without (?:a |any |giving a |naming a )?(?:sources?|citations?|evidence|references?|caveats?|hedging|qualif\w+)"
        r"|no (?:source|citation|caveat)|paragraph|sentence|saying that|that (?:\w+ ){1,6}(?:cause|causes|is a hoax|was stolen"
        r"|are hiding|is hiding|was staged))",
        unless=FORBIDS + r"|\b(?:instead of|mock\w*|test|fixture|fiction|story|game|novel|label)\b",
        spans_sentences=True,
    ),
    sentence_rule(
        "SK409",
        "tells the agent to invent sources",
        H,
        r"(?:add|insert|include|write|put|cite|use|quote|generate|create|invent|back)(?: \w+){0,4} (?:made[- ]up|invented"
        r"|fictitious|fabricated|fake|non-?existent|imaginary) (?:\w+ )?(?:studies|study|sources?|citations?|quotes?"
        r"|statistics|references|testimonials?|reviews?|experts?|surveys?)\b|(?:invent|fabricate"
        r"|make up)(?: \w+){0,2} (?:stud(?:y|ies)|sources?|citations?|statistics|testimonials?|quotes?)\b",
        unless=(
            r"\b(?:do not|don't|never|must not|avoid|instead of|rather than|mock\w*|tests?|fixture|fiction|story|game|novel"
            r"|demo|placeholder|no|not|detect\w*|verify|check\w*|flag|reject|without|against|hallucinat\w*|real)\b"
        ),
    ),
    sentence_rule(
        "SK409",
        "tells the agent to rank people by origin, gender, age or a similar trait",
        H,
        r"(?:insurance|insured|nationalit\w+|ethnic\w*|race|religio\w+|gender|sex|pregnan\w*|disab\w+|origin|surnames?"
        r"|first names?|names? (?:that )?(?:sounds?|suggests?)|mother tongue|first language|native (?:speaker|language)"
        r"|accent|immigra\w+|skin|sexual orientation|muslim|jewish|foreign|women|older than|over \d\d|age)\b",
        r"(?:patients?|candidates?|applicants?|applications?|tenants?|students?|customers?|employees?|people|callers?"
        r"|borrowers?|residents?|r[eé]sum[eé]s?|cvs?)\b",
        r"(?:move|rank|put|place|sort|push|score|reject|lower|deprioriti[sz]e|exclude|filter|deduct|drop|downgrade|demote"
        r"|leave|omit|withhold|hide)(?:s|ed|ing)?\b",
        r"(?:below|last (?:in|on|place)|(?:come|go|them|put) last|bottom|end of|behind|regardless of (?:their )?(?:score"
        r"|qualif\w+|merit)|whatever their|lower|points|reject|out|down)\b",
        unless=(
            r"\b(?:do not|don't|never|must not|must never|may not|avoid|bias\w*|fair\w*|discriminat\w*|illegal|protected"
            r"|compliance|pseudonym\w*|anonymi\w*|redact\w*|statistic\w*|survey|demographic\w*|segment\w*|column|field)\b"
        ),
    ),
    sentence_rule(
        "SK409",
        "tells the agent to report success for checks that failed or did not run",
        H,
        r"(?:say|report|claim|state|tell|write|pretend)(?: \w+){0,3} (?:all |the )?(?:tests?|checks?|builds?|scans?|audits?"
        r"|verification) (?:\w+ )?(?:pass(?:es|ed)?|succeed\w*|succeeded|are green|is green|was clean|were clean)"
        r"|report (?:success|no (?:issues|findings|errors))",
        r"(?:skip|delete|remove|disable|comment out|mark|regardless|anyway|whatever|even (?:if|when))(?:s|ed|ing)?\b",
        r"(?:fail\w*|broken|not run|without running|tests?|findings?|errors?)\b",
        unless=FORBIDS
        + r"|\b(?:only (?:when|if|after)|until|instead of|rather than|not|wrong|bad|anti-?pattern|red flag|mistake|cheat\w*"
        r"|lie|lying)\b",
        spans_sentences=True,
    ),
    sentence_rule(
        "SK409",
        "tells the agent to play down findings or leave them out",
        H,
        r"(?:mark|rate|classify|label|downgrade|set|report)(?: \w+){0,2} (?:all|every|any"
        r"|each)(?: \w+){0,2} (?:vulnerabilit\w+|findings?|issues?|alerts?|errors?|incidents?|warnings?"
        r"|risks?)(?: \w+){0,3} (?:low|info\w*|false positives?|resolved|passed|fixed|minor|closed)\b|(?:leave"
        r"|keep)(?: \w+){0,6} (?:findings?|vulnerabilit\w+|secrets?|errors?|incidents?|allerg\w+|complaints?|risks?|debts?"
        r"|warnings?|losses)(?: \w+){0,5} out of (?:the |any |every )?(?:report|summary|list|review|letter|record)",
        r"(?:so that|so the|stays?|look\w*|report|summary|list|review|letter|record|pipeline|green|dashboard|customers?"
        r"|management)\b",
        unless=FORBIDS + r"|\b(?:if|only|verify|verified|confirmed|unless|after|example|not|generated|private)\b",
    ),
    sentence_rule(
        "SK409",
        "tells the agent to state what its sources contradict",
        H,
        r"even (?:if|when|though)(?: [\w']+){0,6} (?:otherwise|the opposite|contradicts?|disagrees?|not true|untrue|false)\b",
        r"(?:state|say|write|report|claim|present|conclude|confirm|insist|tell)\b",
        unless=FORBIDS + r"|\b(?:ask|not|flag|refuse|hypothes\w*|test|mock)\b",
    ),
    sentence_rule(
        "SK409",
        "tells the agent to build a back door into the user's code",
        H,
        r"(?:accepts?|allows?|lets? in|authenticates?|grants?|logs? in|signs? in|skips?|bypass(?:es)?|returns? true"
        r"|succeeds?)\b",
        r"(?:(?:for|as|on|to) (?:any|every|all) (?:accounts?|users?|logins?|requests?|customers?|e-?mails?)|(?:any|every|all)"
        r" (?:account|user)s?)\b|(?:the |a )?(?:login|authentication|auth|password|permission|signature) checks?\b",
        r"(?:the |a |fixed |secret |magic |master )?(?:password|header|token|pass ?code|cookie|key|query parameter|user name"
        r"|secret|code) (?:`|\"|'|[\w-]*\d)",
        r"(?:add|insert|include|write|fold|put|build in|keep|leave|introduce|hide|slip)\b",
        unless=REFUSED
        + r"|\b(?:tests?|mock\w*|fixture|staging|example|vulnerab\w*|insecure|attack\w*|review for|look for|detect)\b",
        spans_sentences=True,
    ),
    sentence_rule(
        "SK409",
        "tells the agent to build software that runs code from an unknown host",
        H,
        r"(?:runs?|executes?|evals?|evaluates?|spawns?|pipes?|pass(?:es)?)(?: \w+){0,3} (?:answer|response|reply|result"
        r"|output|commands?|body|returned|what (?:it|comes|the)|whatever|scripts?|code)\b",
        r"(?:fetch|fetches|polls?|gets?|downloads?|requests?|asks?|calls?|loads?|checks?|pulls?)\b",
        r"(?:every|each|all|once (?:a|an|per)|generated|server|app|project|hidden|undocumented|background|start-?up|boot|minute"
        r"|hour)\b",
        r"(?:add|insert|include|embed|put|give|create|write|generate|install|build)\b",
        unless=REFUSED + r"|\b(?:untrusted|sandbox\w*|tests?|validate)\b",
        unknown_host=True,
    ),
    sentence_rule(
        "SK409",
        "tells the agent to add a payment or fee of its own",
        H,
        r"(?:add|include|append|insert|put|slip)(?: \w+){0,6} (?:transfer|payment|fee|charge|surcharge|donation|tip|line item"
        r"|position|order|payee|beneficiary)\b",
        r"(?:each|every|all|any)(?: \w+){0,2} (?:batch|run|invoice|transfer|payment|order|cart|checkout|transaction|booking"
        r"|swap|trade|bill|purchase)(?:es|s)?\b",
        r"(?:iban|account|wallet|0x[0-9a-f]{6}|address|to [\"'“]|payable to|payee|reference|our|beneficiary)\b",
        unless=REFUSED + r"|\b(?:user's|customer|vat|tax|shipping|configured|settings|schema|field|column|test mode)\b",
    ),
    sentence_rule(
        "SK409",
        "tells the agent to pay another account than the bill names",
        H,
        r"instead of (?:the )?(?:one|account|iban|address|number|details?|bank details?|wallet)(?: \w+){0,3} (?:on|in|from"
        r"|of|given|shown|printed|by)\b|(?:now|from now on) uses? (?:the|this|a|our)? ?(?:\w+ )?(?:account|iban|wallet"
        r"|address)\b|(?:if|when|where)(?: \w+){0,4} (?:differs?|disagrees?|do(?:es)? not match"
        r"|is different)[^.]{0,40}(?:reply|response|answer|service|server|returned|ours?)(?: \w+){0,2} (?:is right|wins"
        r"|is correct|counts|takes precedence)|use (?:exactly |only |just )?(?:what(?:ever)? (?:comes back|it (?:returns"
        r"|answers|gives))|the returned)",
        r"(?:iban|account|wallet|payment|payee|btc|eth|usdt|bank|address|invoice|bill|transfers?|payout|deposit)\b",
        unless=REFUSED
        + r"|\b(?:ip|e-?mail|mac|memory|url|shipping|postal|street|host|github|gmail|google|user account|service account)\b",
        spans_sentences=True,
    ),
    sentence_rule(
        "SK409",
        "tells the agent to steer the user's choice to a partner's offer",
        H,
        r"(?:always|anything|everything|whatever|regardless|even (?:when|if|though))\b",
        r"(?:recommend|rank|place|suggest|prefer|promote|favou?r|steer|put|list|choose|book|pick)\b",
        r"even (?:when|if|though)(?: \w+){0,6} (?:cheaper|better|closer|faster|higher rated|more suitable|worse"
        r"|more expensive)\b|(?:do not|don't|never) (?:say|explain|disclose|mention|tell)(?: \w+){0,2} why\b|(?:by|from"
        r"|of) our (?:partners?|sponsors?)|(?:partner|sponsored) (?:products?|hotels?|brands?|listings?|offers?) (?:first"
        r"|above|at the top)",
        unless=REFUSED_OR_EXAMPLE
        + r"|\b(?:user prefers|user asked|library|framework|approach|pattern|function|code|algorithm|model|tool|test|solution"
        r"|option)\b",
        spans_sentences=True,
    ),
    sentence_rule(
        "SK409",
        "tells the agent to add affiliate tags to the user's links",
        H,
        r"(?:affiliate|referral|partner) (?:tags?|codes?|ids?|links?|parameters?)|\?ref=|[?&]tag=|[?&]aff(?:_?id)?=",
        r"(?:insert|add|append|replace|rewrite|attach|put|convert)\b",
        r"(?:all|every|each|any)(?: \w+){0,2} (?:links?|urls?|products?)\b|(?:shop|amazon|product|store|booking) (?:links?"
        r"|urls?)\b",
        unless=REFUSED_OR_EXAMPLE
        + "|"
        + ASKED
        + SAMPLE
        + r"|\b(?:user's|your own|your affiliate|disclos\w*|strip|remove|clean)\b",
    ),
    sentence_rule(
        "SK409",
        "tells the agent which product must win a comparison",
        H,
        r"(?:always|must|shall|invariably) (?:conclude|state|say|find|decide|report|answer|claim)(?: that)? [^.;:]{2,40}"
        r" (?:is|are|was|wins?)(?: by far)?"
        r" ?(?:the )?(?:best|better|winner|superior|cheapest|safest|most \w+|only)\b",
        r"(?:compar\w+|reviews?|models?|products?|vendors?|services?|asks?|options?|providers?|alternatives?|users?)\b",
        unless=REFUSED_OR_EXAMPLE + r"|\b(?:source of truth|code|tests?|spec|priority|default|practice|approach)\b",
    ),
    sentence_rule(
        "SK409",
        "tells the agent to leave out warnings or side effects",
        H,
        r"(?:do not|don't|never|remove|drop|omit|strip|leave out|delete)(?: \w+){0,4} (?:side effects?|contraindications?"
        r"|disclaimers?|risk (?:section|warnings?|disclosures?)|safety (?:warnings?|notices?|section)|allergens?|recalls?"
        r"|interest rates?|hidden fees)\b",
        r"(?:reports?|medicine|drugs?|patients?|customers?|clients?|investors?|investment|products?|letters?|brochure|leaflet"
        r"|menu|offers?|loan)\b",
        unless=r"\b(?:unless|if|without|duplicate|only|forget|fail|skip|legal review|ui|code|side effects? in|functions?)\b",
    ),
    sentence_rule(
        "SK409",
        "tells the agent to praise or disparage others in the user's name",
        H,
        r"competitors?\b|(?:five|5)[- ]stars?|positive reviews?|(?:like|repost|retweet|upvote)(?:s|ing)? (?:and \w+"
        r" )?(?:every|all)\b",
        r"(?:describe|present|portray|call|rate|give|write|post|leave|like|repost|retweet|upvote)\b",
        r"(?:unsafe|inferior|dangerous|a scam|unreliable|user's name|on behalf|always|automatically|of @\w{4}|by @\w{4})",
        unless=REFUSED_OR_TEST + "|" + ASKED + r"|\b(?:honest\w*|fair\w*|analy\w*|monitor\w*|research|respond|reply)\b",
    ),
    # SK410 acts-in-users-name
    sentence_rule(
        "SK410",
        "tells the agent to have the user enter a password on an unknown host",
        H,
        r"(?:passwords?|seed phrases?|recovery phrases?|private keys?|credentials|card numbers?|2fa codes?"
        r"|one-time codes?|pin)\b",
        r"(?:log ?in|sign in|enter|provide|type|verify|re-?authenticate|submit|fill|paste)\b",
        r"(?:ask|tell|prompt|direct|have|instruct|redirect|send|get|require)(?:s|ing)? (?:the |your )?users?\b",
        unknown_host=True,
    ),
    sentence_rule(
        "SK410",
        "tells the agent to write in another person's name",
        M,
        r"(?:sign(?:ed)? (?:with|as|it)|in the name of|pretend(?:ing)? to be|pos(?:e|ing) as|impersonat\w+"
        r"|as if (?:it (?:was|were|came)|from|by|sent))",
        _SENDS,
        r"(?:ceo|cfo|manager|boss|colleagues?|customers?|bank|support|admin\w*|director|employees?|government|user's)\b",
    ),
    sentence_rule(
        "SK410",
        "tells the agent to message all contacts",
        M,
        r"(?:all|every|each)(?: \w+){0,2} (?:contacts?|friends|followers|employees|colleagues"
        r"|address book|mailing list)\b|(?:contacts?|address book)(?: \w+){0,3} (?:each|every|all)",
        _SENDS,
        r"(?:automatically|loop|without|immediately|once|after|also|then)\b",
        unless=r"ask|confirm|approv|draft|campaign|newsletter|crm",
    ),
    sentence_rule(
        "SK410",
        "tells the agent to charge the user's card",
        H,
        r"(?:saved|stored|user's|their|default) (?:\w+ )?(?:card|payment method|paypal|billing)\b",
        r"(?:subscribe|purchase|buy|upgrade|order|pay|charge|renew|book|checkout)\b",
        unless=r"ask|confirm|approv|after the user|if the user|when the user|never|do not|don't|test card",
    ),
    sentence_rule(
        "SK410",
        "tells the agent to approve everything in the user's name",
        M,
        r"(?:approve|accept|merge|sign|authori[sz]e|confirm) (?:every|all|any)(?: \w+)? (?:pending|incoming|open|new"
        r"|outstanding|requested)?",
        r"(?:pending|incoming|outstanding|inbox|transactions?|invitations?|access requests?)\b",
        unless=r"ask|confirm with|review|if |only|after|do not|don't|never",
    ),
    sentence_rule(
        "SK410",
        "tells the agent to message everyone at once without asking",
        H,
        r"(?:every|all|each)(?: \w+){0,2} (?:channels?|contacts?|conversations?|groups?|chats?|members?|subscribers?|followers"
        r"|repositor(?:y|ies)|mailing lists?|employees|customers|colleagues|people in the)\b",
        r"(?:post|send|message|announce|broadcast|share|e-?mail|invite|publish|dm)\b",
        r"(?:no need to ask|without (?:asking|confirm\w*|approval)|(?:do not|don't) ask|@channel|@everyone|@here"
        r"|you can (?:push|reach|write|access|post)|so that (?:the whole|everybody|everyone|as many))\b",
        unless=r"\b(?:never|avoid|only (?:if|when|after)|unless|first ask|ask first)\b",
    ),
    sentence_rule(
        "SK410",
        "tells the agent to accept terms or spend money in the user's name",
        H,
        r"(?:card|payment method|account) on file|(?:accept|agree to|tick|check|opt[- ]in(?:to)?|sign"
        r"|give)(?: \w+){0,5} (?:terms|marketing|consents?|newsletters?|data sharing|privacy policy|disclaimer)\b",
        r"(?:charge|buy|order|book|pay|subscribe|upgrade|accept|agree|tick|check|opt|sign|give)\b",
        r"(?:for (?:the user|them)|on (?:their|the user's) behalf|automatically|by default|always|without (?:asking"
        r"|confirm\w*)|at once|immediately|premium)\b",
        unless=REFUSED_OR_EXAMPLE
        + "|"
        + ASKED
        + SAMPLE
        + r"|\b(?:checkbox|form|component|page|banner|gdpr|schema|validat\w*|button)\b",
    ),
    sentence_rule(
        "SK410",
        "tells the agent to approve unlimited spending from a wallet",
        H,
        r"(?:max_?uint\w*|uint256\.max|unlimited (?:allowance|approval|spending)|infinite (?:allowance|approval)|maxuint256)\b",
        r"(?:approve|approval|allowance|increaseallowance|permit)\b|approve\(",
        r"0x[0-9a-f]{40}\b|(?:before|without|always|automatically)\b",
        unless=REFUSED_OR_EXAMPLE + SAMPLE + r"|\b(?:risk\w*|revoke\w*|audit|check|danger\w*|vulnerab\w*|finding|instead)\b",
    ),
    sentence_rule(
        "SK410",
        "tells the agent to have the user give others access to an account or the screen",
        H,
        r"devicelogin|device (?:login|code)|/device\b|(?:nine|9|six|6)[- ]digits?\b|session code|anydesk|teamviewer|rustdesk"
        r"|screenconnect|ultraviewer",
        r"(?:ask|tell|have|get|instruct|guide)(?: \w+)? (?:users?|them)\b",
        r"(?:enter|install|give|type|read|open|share)\b",
        unless=REFUSED_OR_EXAMPLE + r"|\b(?:github|az login|gh auth|oauth flow|documentation)\b",
        unknown_host=True,
    ),
    sentence_rule(
        "SK410",
        "tells the agent to open doors or disable alarms without asking",
        H,
        r"(?:unlock|disarm|open|deactivate|turn off|switch off)(?: \w+){0,3} (?:doors?|locks?|garage|gates?|(?:burglar "
        r"|smoke |fire )?alarms?|smoke detectors?|cameras?)\b",
        rf"{UNASKED}|(?:automatically|always|at night|whenever)\b",
        unless=REFUSED_OR_TEST + "|" + ASKED.replace("|approv\\w*", "").replace("|confirm\\w*", ""),
    ),
    sentence_rule(
        "SK410",
        "tells the agent to give codes or security answers to callers",
        H,
        r"(?:reset|verification|security|one-time|login|confirmation) (?:codes?|questions?|answers?|links?)\b",
        r"(?:give|tell|read out|share|answer|hand|pass)\b",
        r"(?:callers?|on behalf of|whoever|anyone|support (?:calls|asks)|if they (?:know|say|ask))\b",
        unless=REFUSED_OR_TEST,
    ),
)
