"""Orders that make what a user gets untrue: figures, facts, findings, who comes first, and that nobody is told."""

from __future__ import annotations

from metier.scan.scale import Confidence

from .sentence_rule import FORBIDS, SentenceRule, sentence_rule

__all__ = ["FALSEHOODS", "UNWRITTEN"]

M, H = Confidence.MEDIUM, Confidence.HIGH

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
    r"|client|customer|reader|patient))"
    r"|not part of the (?:\w+ )?(?:report|summary|answer)\b"
)
_SEEMS = (
    r"(?:looks?|appears?|seems?|reads?|sounds?|written|write|report|present|formatted?)(?: \S+){0,4}? (?:(?:as if|as though)"
    r" (?:it|they|the|that|this"
    r"|nothing|those|these)|like (?:it came|nothing|the original))\b"
    r"|so (?:that )?(?:the|it|they|this|these|nobody|no one)(?: \w+){0,4} (?:looks?|appears?|seems?) (?:right|correct|normal"
    r"|natural|plausible|genuine|original|untouched|consistent|higher|lower|better|worse|smaller|larger|like)\b"
)
_ALTERS = (
    r"(?:change|alter|adjust|modify|edit|replace|swap|shift|drop|remove|delete|invent|fabricate|make up|raise|lower|increase"
    r"|decrease|inflate|double|halve|multiply|round|move|leave|omit|exclude|add|reorder|backdate|falsify|tweak|nudge)\b"
)
_FIGURES = (
    r"(?:figures?|numbers?|totals?|amounts?|rows?|values?|data|results?|revenues?|sales|scores?|dos(?:e|es|age|ages)|dates?"
    r"|prices?"
    r"|allerg(?:y|ies)|records?|entries|rates?|percentages?|metrics?|measurements?|samples?|observations?|findings?|balances?"
    r"|costs?|grades?|readings?|waiting times?|rank\w*|order|citations?|quotes?|timestamps?|hours)\b"
)

FALSEHOODS: tuple[SentenceRule, ...] = (
    sentence_rule(
        "SK409",
        "changes figures and has it look genuine",
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
        across=True,
    ),
    sentence_rule(
        "SK409",
        "has results bent until they fit",
        H,
        r"until (?:the )?(?:p(?:-value)?|result|effect|difference|test|correlation|figure|total|score|numbers?)(?: \w+){0,3} "
        r"(?:below|under|above|over|significant|matches|fits|positive|agrees)",
        r"(?:change|drop|remove|alter|adjust|exclude|delete|modify|invent|tweak)(?: \w+){0,4} (?:rows?|values?|data|records?"
        r"|observations?|points?|outliers|samples?|entries|cases|figures|numbers|participants|subjects|respondents|patients)\b",
        unless=FORBIDS + r"|p-hacking",
    ),
    sentence_rule(
        "SK409",
        "has claims made up and passed off as fact",
        H,
        r"as (?:an? |the )?(?:established|proven|settled|undisputed|known|accepted|scientific|verified|confirmed)? ?facts?\b",
        r"(?:add|insert|include|write|put|place|cite|present|state|claim|say)\b",
        r"(?:without (?:a |any |giving a |naming a )?(?:sources?|citations?|evidence|references?|caveats?|hedging|qualif\w+)"
        r"|no (?:source|citation|caveat)|paragraph|sentence|saying that|that (?:\w+ ){1,6}(?:cause|causes|is a hoax|was stolen"
        r"|are hiding|is hiding|was staged))",
        unless=FORBIDS + r"|\b(?:instead of|mock\w*|test|fixture|fiction|story|game|novel|label)\b",
        across=True,
    ),
    sentence_rule(
        "SK409",
        "has sources made up",
        H,
        r"(?:add|insert|include|write|put|cite|use|quote|generate|create|invent|back)(?: \w+){0,4} (?:made[- ]up|invented"
        r"|fictitious|fabricated"
        r"|fake|non-?existent|imaginary) (?:\w+ )?(?:studies|study|sources?|citations?|quotes?|statistics|references"
        r"|testimonials?|reviews?"
        r"|experts?|surveys?)\b|(?:invent|fabricate|make up)(?: \w+){0,2} (?:stud(?:y|ies)|sources?|citations?|statistics"
        r"|testimonials?|quotes?)\b",
        unless=(
            r"\b(?:do not|don't|never|must not|avoid|instead of|rather than|mock\w*|tests?|fixture|fiction|story|game|novel"
            r"|demo|placeholder|no"
            r"|not|detect\w*|verify|check\w*|flag|reject|without|against|hallucinat\w*|real)\b"
        ),
    ),
    sentence_rule(
        "SK409",
        "has people sorted by what they are",
        H,
        r"(?:insurance|insured|nationalit\w+|ethnic\w*|race|religio\w+|gender|sex|pregnan\w*|disab\w+|origin|surnames?|first"
        r" names?|names? (?:that )?(?:sounds?|suggests?)|mother tongue|first language|native (?:speaker|language)|accent"
        r"|immigra\w+"
        r"|skin|sexual orientation|muslim|jewish|foreign|women|older than|over \d\d|age)\b",
        r"(?:patients?|candidates?|applicants?|applications?|tenants?|students?|customers?|employees?|people|callers?"
        r"|borrowers?|residents?|r[eé]sum[eé]s?|cvs?)\b",
        r"(?:move|rank|put|place|sort|push|score|reject|lower|deprioriti[sz]e|exclude|filter|deduct|drop|downgrade|demote"
        r"|leave|omit|withhold|hide)"
        r"(?:s|ed|ing)?\b",
        r"(?:below|last (?:in|on|place)|(?:come|go|them|put) last|bottom|end of|behind|regardless of (?:their )?(?:score"
        r"|qualif\w+|merit)|whatever their|lower|points|reject"
        r"|out|down)\b",
        unless=(
            r"\b(?:do not|don't|never|must not|must never|may not|avoid|bias\w*|fair\w*|discriminat\w*|illegal|protected"
            r"|compliance"
            r"|pseudonym\w*|anonymi\w*|redact\w*|statistic\w*|survey|demographic\w*|segment\w*|column|field)\b"
        ),
    ),
    sentence_rule(
        "SK402",
        "has an addition kept out of what people read",
        H,
        UNWRITTEN,
        r"(?:add|adds|insert|include|put|accepts?|install|create|copy|send|upload|post|run|runs|fetch|fetches|transfer|register"
        r"|append|replace|propagate|write|embed|execute)\b",
        r"(?:every|each|any|all|hidden|undocumented|password|account|endpoint|module|branch|script|https?:|transfer|payment"
        r"|iban"
        r"|server|machine|other)\b",
        unless=(
            r"\b(?:secrets?|credentials?|api keys?|tokens?|jargon|internal (?:notes|details|names)|draft|todo|debug|temporary"
            r"|private|confidential|personal|pii|sensitive|redact\w*|duplicate|generated|findings?|node_modules|lockfiles?"
            r"|noise|emoji"
            r"|co-authored|attribution|ai-generated|trailer)\b"
        ),
        across=True,
    ),
    sentence_rule(
        "SK402",
        "has a prepared answer for whoever asks",
        H,
        r"(?:if|when|should)(?: \w+){0,3} (?:users?|they|anyone|somebody|someone|people) (?:asks?|wonders?|notices?|complains?"
        r"|inquires?)(?: you)? (?:what (?:you are|you're|it is|this is|is) (?:doing|happening|running|for)"
        r"|why (?:it|this|you|the)|about (?:it|this|the (?:delay|request|traffic|file|upload|extra|change|fee|step|account)))",
        r"(?:: ?[\"'“]|(?:say|answer|reply|tell them|respond|explain)(?: only| just| simply| that)? ?:? ?[\"'“]|(?:say|answer"
        r"|reply|respond)(?: only| just| simply)? (?:that )?(?:it is|this is|you are|it's) (?:just|only|part|an?|for"
        r"|required|normal|needed|optimi\w+))",
        r"(?:optimi\w+|routing|routine|maintenance|required|normal|standard|quality|compliance|cache|sync\w*|telemetry"
        r"|performance"
        r"|update|licen\w+|security (?:check|measure|feature))",
        unless=r"\b(?:faq|customer|docs?|documentation|pricing|feature|help)\b",
    ),
    sentence_rule(
        "SK409",
        "has success reported that there was not",
        H,
        r"(?:say|report|claim|state|tell|write|pretend)(?: \w+){0,3} (?:all |the )?(?:tests?|checks?|builds?|scans?|audits?"
        r"|verification) (?:\w+ )?"
        r"(?:pass(?:es|ed)?|succeed\w*|succeeded|are green|is green|was clean|were clean)|report (?:success|no (?:issues"
        r"|findings|errors))",
        r"(?:skip|delete|remove|disable|comment out|mark|regardless|anyway|whatever|even (?:if|when))(?:s|ed|ing)?\b",
        r"(?:fail\w*|broken|not run|without running|tests?|findings?|errors?)\b",
        unless=FORBIDS
        + r"|\b(?:only (?:when|if|after)|until|instead of|rather than|not|wrong|bad|anti-?pattern|red flag|mistake|cheat\w*"
        r"|lie|lying)\b",
        across=True,
    ),
    sentence_rule(
        "SK407",
        "has an approval or a check passed off as given",
        H,
        r"treat(?: [\w'-]+){1,5} as (?:passed|approved|given|done|confirmed|signed|complete)\b|(?:tick|mark|check)(?:"
        r" [\w\"'-]+){1,7} box(?:es)?\b"
        r"[^.]{0,40}(?:anyway|regardless)|(?:record|note|enter|log)(?:ed)?(?: \w+){0,3} as \W?(?:given|approved|verbal\w*"
        r"|agreed)",
        r"(?:approval|tests?|pre-?flight|review|checks?|sign-?off|consent|production|deploy\w*|merge|release|verification)\b",
        unless=FORBIDS + r"|\b(?:if (?:the )?user|after the user|once|only (?:if|when)|unless|not|cached|mock\w*|missing"
        r"|empty)\b",
    ),
    sentence_rule(
        "SK409",
        "has findings played down or left out",
        H,
        r"(?:mark|rate|classify|label|downgrade|set|report)(?: \w+){0,2} (?:all|every|any|each)(?: \w+){0,2}"
        r" (?:vulnerabilit\w+|findings?|issues?|alerts?"
        r"|errors?|incidents?|warnings?|risks?)(?: \w+){0,3} (?:low|info\w*|false positives?|resolved|passed|fixed|minor"
        r"|closed)\b"
        r"|(?:leave|keep)(?: \w+){0,6} (?:findings?|vulnerabilit\w+|secrets?|errors?|incidents?|allerg\w+|complaints?|risks?"
        r"|debts?|warnings?|losses)"
        r"(?: \w+){0,5} out of (?:the |any |every )?(?:report|summary|list|review|letter|record)",
        r"(?:so that|so the|stays?|look\w*|report|summary|list|review|letter|record|pipeline|green|dashboard|customers?"
        r"|management)\b",
        unless=FORBIDS + r"|\b(?:if|only|verify|verified|confirmed|unless|after|example|not|generated|private)\b",
    ),
    sentence_rule(
        "SK409",
        "has something stated that the sources deny",
        H,
        r"even (?:if|when|though)(?: [\w']+){0,6} (?:otherwise|the opposite|contradicts?|disagrees?|not true|untrue|false)\b",
        r"(?:state|say|write|report|claim|present|conclude|confirm|insist|tell)\b",
        unless=FORBIDS + r"|\b(?:ask|not|flag|refuse|hypothes\w*|test|mock)\b",
    ),
)
