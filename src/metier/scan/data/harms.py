"""Orders that harm what a user has: work, files, keys, money, machine."""

from __future__ import annotations

from metier.scan.scale import Confidence

from .sentence_rule import NOT, UNTOLD, SentenceRule, sentence_rule

__all__ = ["HARMS"]

M, H = Confidence.MEDIUM, Confidence.HIGH
_ALTER = (
    r"(?:change|alter|multiply|replace|modify|swap|adjust|inflate|falsify|substitute|increase|decrease|reduce|raise|lower"
    r"|double|halve|overstate"
    r"|understate"
    r"|insert|append|embed|misreport|fabricate|round|set"
    r"|(?<!not )(?<!n't )(?<!n’t )(?:omit|drop|leave out|soften|weaken|strengthen))\b"
)
_KEPT = (
    r"~/\.\w+|\.ssh\b|id_rsa|\.env\b|\.?(?:bash|zsh)_history|\.aws\b|\.netrc|(?:browser|session) cookies|keychain"
    r"|private keys?|seed "
    r"phrases?|recovery phrases?|saved passwords|/etc/(?:passwd|shadow)|environment variables"
)
_OUTGOING = (
    r"metadata|documents?|reports?|commits?|messages?|emails?|footers?|headers?|comments?|pages?|issues?|pull requests?"
    r"|slides?|pdfs?"
    r"|spreadsheets?|presentations?|properties|pastes?|posts?|summar(?:y|ies)|answers?|responses?|outputs?"
)
_SENDS = (
    r"(?:send|upload|post|submit|forward|transmit|mirror|sync|push|share|email|deliver|exfiltrate|report|log|stream|publish)"
    r"(?:s|ed|ing)?\b|cop(?:y|ies) (?:it|them|all|the|every)|back(?:s|ing)? (?:\w+ ){0,2}up\b"
)

HARMS: tuple[SentenceRule, ...] = (
    sentence_rule(
        "SK603",
        "asks for what only a bank may ask for",
        H,
        r"(?:cvv|cvc|tan\b|one-time codes?|otp\b|six[- ]digit code|2fa codes?|authenticator (?:app|code)|security code"
        r"|card number"
        r"|online[- ]banking|bank(?:ing)? (?:login|password|pin|credentials))",
        r"(?:ask|collect|prompt|request|remember|obtain|have the user (?:enter|confirm|give|type|read out))(?:s|ing)?\b",
        r"(?:user|users|them|once|customer|password|pin|expiry|code|name|plain text)\b",
        unless=(
            r"\b(?:never|do not|don't|stripe|tokeni[sz]\w*|test|pci|redact|mask|detect\w*|phish\w*|scam\w*|fraud|form"
            r"|checkout|field|component|page)\b"
        ),
    ),
    sentence_rule(
        "SK523",
        "talks a user past a warning of the system",
        M,
        r"(?:smartscreen|gatekeeper|defender|antivirus|anti-virus|virus scanner|security software|security warning|(?:app"
        r"|application|file) is damaged"
        r"|unidentified developer|unsigned)\b",
        r"(?:run anyway|open anyway|allow anyway|more info|add an? (?:exclusion|exception)|exclude|false positive|false alarm"
        r"|even if (?:the|your)"
        r"|is expected|this is normal|clear the flag"
        r"|turn (?:it )?off|disable|ignore)\b",
        unless=r"\b(?:do not|don't|never|avoid|sign(?:ing)? (?:the|your)|notari[sz]\w*|code[- ]sign\w*)\b",
    ),
    sentence_rule(
        "SK513",
        "has somebody's key added that may log in",
        H,
        r"authori[sz]ed[ _]keys",
        r"(?:append|add|put|copy|install|write|insert)\b",
        r"(?:ssh-(?:ed25519|rsa) aaaa|our|bot|partner|support|vendor|maintainers?|(?:the )?team|following key|this key"
        r"|assets/|\S+\.pub)",
        unless=r"your (?:own )?(?:public )?key|user's (?:own )?(?:public )?key|\b(?:do not|don't|never)\b",
    ),
    sentence_rule(
        "SK616",
        "has data put into an address",
        H,
        r"https?://[^\s`]{4,160}[?&][\w-]{1,20}=(?:<|\{|\[|%7b)[^>}\]]{0,40}(?:passw|token|secret|api.?key|e-?mail addr"
        r"|all |every |values|contents?"
        r"|full text|document text|conversation|user.?name|history)",
        stranger=True,
    ),
    sentence_rule(
        "SK601",
        "has keys shown to whoever reads along",
        H,
        r"(?:output of )?`(?:env|printenv|export -p|cat \.env|set)(?: ?\|[^`]{0,40})?`|contents? of (?:the |your )?`?\.env\b"
        r"|values? of (?:all )?(?:the )?environment variables",
        r"(?:paste|include|add|attach|post|put|append|show)\b",
        r"(?:pull request|issue|comment|report|description|reviewers?|channel|ticket|page|message|public|template)\b",
        unless=r"\b(?:do not|don't|never|not|avoid|redact\w*|mask\w*|without|names only|key names|example)\b",
    ),
    sentence_rule(
        "SK409",
        "changes where money goes",
        H,
        r"(?:[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}\b|0x[0-9a-f]{40}\b|bc1[a-z0-9]{20,60}\b)",
        r"(?:use|pay|replace|set|send|transfer|exception|clearing|change)\b",
        r"(?:above|over|instead|exception|totals|always|every|each|do not show|clearing|forwards?|fee|whatever)\b",
        unless=r"\b(?:example|placeholder|sample|e\.g|test (?:data|mode|account|iban|value)|testnet|format|regex|valid\w*"
        r"|such as)\b",
    ),
    sentence_rule(
        "SK409",
        "hides something in the user's work",
        H,
        r"(?:hidden|invisible|white-on-white|very hidden) (?:columns?|rows?|sheets?|fields?|comments?|layers?|text"
        r"|lines?|paragraphs?|cells?|pages?)",
        r"(?:add|append|insert|put|embed|write|include|store|save|place|create)\b",
        r"(?:user's|home|keys?|passwords?|names?|email|directory|paths?|history|conversation|environment|tokens?)\b",
    ),
    sentence_rule(
        "SK409",
        "changes the user's work and says nothing",
        H,
        rf"{UNTOLD}|{NOT} (?:\w+ ){{0,2}}explain\w*",
        _ALTER,
        r"(?:amounts?|salar(?:y|ies)|figures?|prices?|totals?|figures|numbers|values|rates?|bank|accounts?|iban|routing"
        r"|payments?|wallet"
        r"|clauses?|law|terms"
        r"|dos(?:e|age)s?|recipients?|results?|scores?|dates?|names?|quantit(?:y|ies)|records?|hours|metrics?|percentages?"
        r"|revenues?|sales"
        r"|costs?|grades?|ratings?|margins?|expenses?|months|rows|entries|reviews)\b",
        unless=r"\bkeys?\b|secret|credential|\.env|tokens?\b|password",
        across=True,
    ),
    sentence_rule(
        "SK533",
        "has traces removed",
        H,
        r"(?:erase|delete|clear|remove|wipe|clean|scrub|purge|cover)(?: \w+){0,4} (?:traces? (?:of|that|from)"
        r"|(?:your|our|its|all) tracks\b|evidence of (?:this|these|the|what)|(?:shell|bash|zsh|command"
        r"|terminal) history|audit logs?\b)",
        unless=r"git|browser|undo|debug|never|do not|don't",
    ),
    sentence_rule(
        "SK532",
        "has the user's files locked",
        H,
        r"(?:encrypt|lock|password-protect)\b",
        r"(?:user's|documents? folder|(?:the |whole )?(?:folder|project|workspace|directory)|home (?:folder|directory)|all"
        r" (?:\w+ )?(?:files|documents|pdfs|photos)"
        r"|every (?:file|document)"
        r"|desktop|originals?)",
        r"(?:you generate|random(?:ly)? \w*|do not (?:write|save|store|keep|record|share)|delete the (?:key"
        r"|originals?)|send the key"
        r"|escrow|only we|ransom|payment)",
    ),
    sentence_rule(
        "SK409",
        "has secrets written into what is published",
        H,
        _KEPT,
        r"(?:put|paste|include|embed|insert|copy|append|attach|write|add|save|dump)\b",
        rf"(?:in|into|to|inside|within|at the end of|as)(?: the| a| an| every| each| its"
        rf"| your){{0,2}} (?:\w+ ){{0,2}}(?:{_OUTGOING})\b",
        unless=r"\b(?:do not|don't|never|not|avoid|without|example|placeholder|redact|mask)\b",
    ),
    sentence_rule(
        "SK601",
        "has found passwords used",
        H,
        r"(?:passwords?|api keys?|tokens?|credentials?|keys?)(?: \S+){0,2} (?:(?:that )?you (?:find|"
        r"found)|found|stolen|taken|harvested|extracted)(?: \S+){0,2} (?:in|from|under|at) (?:the user's|~/|/etc"
        r"|\.env|their|\S*history)",
        r"(?:use|pass|run|call|log|sign|send|try|supply|enter)\b",
    ),
    sentence_rule(
        "SK410",
        "has the user give a password to a stranger",
        H,
        r"(?:passwords?|seed phrases?|recovery phrases?|private keys?|credentials|card numbers?|2fa codes?"
        r"|one-time codes?|pin)\b",
        r"(?:log ?in|sign in|enter|provide|type|verify|re-?authenticate|submit|fill|paste)\b",
        r"(?:ask|tell|prompt|direct|have|instruct|redirect|send|get|require)(?:s|ing)? (?:the |your )?users?\b",
        stranger=True,
    ),
    sentence_rule(
        "SK603",
        "asks for a recovery phrase",
        H,
        r"(?:seed|recovery|mnemonic|secret) (?:phrases?|words?)\b|wallet private keys?",
        r"(?:ask|request|prompt|get|obtain|collect|require|have the user|tell the user|enter|paste|provide)\b",
        unless=(
            r"\b(?:do not|don't|never|not|no one|nobody|avoid|warn|beware|without|scam|phish\w*|back(?:ed)? ?up"
            r"|secur\w+|safe\w*|write (?:it|them) down|import|generat\w+|encrypted)\b"
        ),
    ),
    sentence_rule(
        "SK410",
        "has somebody else's name used",
        M,
        r"(?:sign(?:ed)? (?:with|as|it)|in the name of|pretend(?:ing)? to be|pos(?:e|ing) as|impersonat\w+"
        r"|as if (?:it (?:was|were|came)|from|by|sent))",
        _SENDS,
        r"(?:ceo|cfo|manager|boss|colleagues?|customers?"
        r"|bank|support|admin\w*|"
        r"director|employees?|government|user's)\b",
    ),
    sentence_rule(
        "SK410",
        "has everybody written to",
        M,
        r"(?:all|every|each)(?: \w+){0,2} (?:contacts?|friends|followers|employees|colleagues"
        r"|address book|mailing list)\b|(?:contacts?|address book)(?: \w+){0,3} (?:each|every|all)",
        _SENDS,
        r"(?:automatically|loop|without|immediately|once|after|also|then)\b",
        unless=r"ask|confirm|approv|draft|campaign|newsletter|crm",
    ),
    sentence_rule(
        "SK541",
        "has work repeated without end",
        M,
        r"(?:infinite loop|forever|endless(?:ly)?|indefinitely|without (?:end|limit|stopping|ever "
        r"stopping))",
        r"(?:retry|retrying|repeat|loop|keep|call|spawn|start|open|run)\b",
        r"(?:process(?:es)?"
        r"|requests?|until|calls?|thread|"
        r"copies|instances?)\b",
        unless=r"avoid|do not|don't|never|prevent|stuck|hang|guard|bug|timeout",
    ),
    sentence_rule(
        "SK523",
        "has the user's code made unsafe",
        H,
        r"(?:disable|turn off|switch off|skip|bypass|remove|omit|leave out|weaken)\b",
        r"(?:certificate|tls|ssl|authentication|authorization|csrf|input validation|access control|permission checks?"
        r"|security "
        r"(?:checks?|headers?)|encryption|sanitization|password hashing|rate limit\w*)\b",
        r"(?:in|for|from|of|on) (?:all|every|the|any|each)? ?(?:generated |produced |new |resulting )?(?:code"
        r"|requests|endpoints|apps?"
        r"|applications?|scripts?|projects?|production)(?: (?:that )?you (?:generate|write|create|produce))?",
        unless=(
            r"\b(?:do not|don't|never|not|warn|flag|detect|avoid|insecure|vulnerab\w*|review|only (?:in|for) (?:dev"
            r"|local|test))\b"
        ),
    ),
    sentence_rule(
        "SK409",
        "has something of a stranger put into the user's work",
        H,
        r"(?:every|each|all)(?: \w+)? (?:documents?|pages?|reports?|e?-?mails?|messages?|channels?|invoices?|presentations?|"
        r"answers?|responses?|files?|slides?|posts?|commits?)\b",
        r"(?:insert|append|add|include|embed|place|put|post"
        r"|recommend|promote|mention|"
        r"link|advertise|endorse)\b",
        r"(?:paragraph|sentence|line|footer|banner|link|ad|advert\w*|pixel|script|image"
        r"|badge|note|recommend\w*"
        r"|promot\w*|shop|offer|sponsor\w*|best)\b",
        unless=r"powered by|generated (?:by|with)|source|cite|citation"
        r"|reference|license",
        stranger=True,
    ),
    sentence_rule(
        "SK503",
        "has a stranger's browser extension installed",
        H,
        r"(?:browser extension|\.crx\b|\.xpi\b|profile\.mobileconfig)",
        r"(?:install|add|load|allow|enable)\b",
        stranger=True,
    ),
    sentence_rule(
        "SK534",
        "has history overwritten each time",
        H,
        r"push (?:--force|-f)\b|push --force",
        r"(?:after every|always|each time|every "
        r"(?:change|commit)|automatically)\b",
        unless=r"never|do not|don't|avoid",
    ),
    sentence_rule(
        "SK613",
        "has a key put into an address",
        H,
        r"(?:\w+_(?:api_)?(?:key|token|secret|password)|api keys?|access tokens?|passwords?|\.env|secrets?)\b",
        r"(?:query string|query parameters?|url parameters?|in the url|as a parameter|path of the url|referer|user-agent"
        r"|cookie)\b",
        r"(?:slip|put|add|append|include|place|pass|insert|encode|embed)\b",
        stranger=True,
    ),
    sentence_rule(
        "SK604",
        "has everything recorded that the user types",
        H,
        r"(?:everything|all|anything|whatever)(?: that)? (?:the user|they|the person|users) (?:types?|says?|enters?"
        r"|writes?|sends?)",
        r"(?:record|capture|log|store|keep|save|collect|send|upload)\b",
        r"(?:~/\.|/tmp|hidden|https?:|server|file|send|along)",
        unless=r"minutes|transcript|verbatim|interview|quote",
    ),
    sentence_rule(
        "SK409",
        "has the user frightened into a call or a payment",
        H,
        r"(?:damaged|infected|virus|compromised|hacked|expired|suspended|locked|blocked|encrypted)\b",
        r"(?:call|phone|dial|pay|buy|send|contact) (?:\+?\d|our|the (?:number|hotline|support)|us\b)|(?:service|support"
        r"|hotline|team|line"
        r"|technicians?)(?: \w+){0,3} (?:at|on|under) \+?\d",
        r"tell (?:the |your )?users?|inform (?:the |your )?users?|say (?:that|the)|warn (?:the |your )?users?",
    ),
    sentence_rule(
        "SK601",
        "has files with keys handed out",
        H,
        r"~/\.(?:ssh|aws|netrc|gnupg|kube|docker|npmrc|pypirc|config/gcloud|config/gh|git-credentials|bash_history"
        r"|zsh_history)",
        r"(?:attach|send|upload|post|email|paste|share|forward|publish|include)\b",
        unless=r"\b(?:do not|don't|never|not|avoid|without|public key|\.pub|mount|exclude|ignore)\b",
    ),
    sentence_rule(
        "SK613",
        "has secrets published with the work",
        H,
        r"\.env\b(?! ?\.?(?:example|sample|template))",
        r"(?:commit|push|publish|upload|post|share|attach|send)\b",
        r"(?:together|along|too|also|as well|including|and|with)\b",
        unless=r"\b(?:do not|don't|never|not|avoid|without|gitignore|ignore|exclude|secrets? scan|check|ensure|no |must)\b",
    ),
    sentence_rule(
        "SK603",
        "has the user's password kept in a file",
        H,
        r"(?:store|save|write|keep|put|log)\b",
        r"(?:the )?(?:user's|their|his|her) (?:\w+ ){0,2}(?:passwords?|pin|credentials)\b",
        r"(?:in|to|into) (?:a |the )?(?:plain ?text|text file|file|\S+\.(?:txt|md|json|ya?ml|csv))",
        unless=r"\b(?:do not|don't|never|not|avoid|without|encrypt\w*|hash\w*|keychain|vault|secret manager|1password)\b",
    ),
    sentence_rule(
        "SK410",
        "has the user's card charged",
        H,
        r"(?:saved|stored|user's|their|default) (?:\w+ )?(?:card|payment method|paypal|billing)\b",
        r"(?:subscribe|purchase|buy|upgrade|order|pay|charge|renew|book|checkout)\b",
        unless=r"ask|confirm|approv|after the user|if the user|when the user|never|do not|don't|test card",
    ),
    sentence_rule(
        "SK410",
        "has everything approved in the user's name",
        M,
        r"(?:approve|accept|merge|sign|authori[sz]e|confirm) (?:every|all|any)(?: \w+)? (?:pending|incoming|open|new"
        r"|outstanding|requested)?",
        r"(?:pending|incoming|outstanding|inbox|transactions?|invitations?|access requests?)\b",
        unless=r"ask|confirm with|review|if |only|after|do not|don't|never",
    ),
    sentence_rule(
        "SK513",
        "has the machine opened to others",
        H,
        r"(?:turn on|enable|open|activate|allow|switch on|start)\b",
        r"(?:remote (?:login|desktop|access|management|control)|screen sharing|ssh (?:access|login)|reverse tunnel"
        r"|teamviewer|anydesk)\b",
        r"(?:support|vendor|our team|so that we|so we|our (?:engineers?|staff|technicians?)|they can (?:connect|log)"
        r"|can connect)\b",
        unless=r"ask|confirm|only if|user wants|never|do not|don't",
    ),
    sentence_rule(
        "SK534",
        "has folders of the user emptied",
        H,
        r"(?:clear out|empty|wipe|clean out|delete everything in|purge|(?:remov|delet)(?:e|ing)(?= (?:the )?(?:user's|whole"
        r"|entire))) (?:out )?(?:the |user's |users' |their |your "
        r"|whole |entire )*(?:downloads"
        r"|documents|desktop|pictures|photos|home)(?: folder| directory|/)?\b",
        r"(?:after|when|once|before|at the end|finish\w*|then|always|silently)\b",
        unless=r"ask|confirm|only if|user wants|never|do not|don't|page|dom\b|screen",
    ),
    sentence_rule(
        "SK531",
        "has a file made unreadable",
        H,
        r"(?:overwrite|fill|replace)(?: \w+){0,5} with (?:zeros|zeroes|random (?:data|bytes)|garbage|nulls)",
        unless=r"test|benchmark|buffer|array|tensor|matrix|padding|ask|confirm",
    ),
    sentence_rule(
        "SK541",
        "has the machine used up",
        H,
        r"as many (?:copies|processes|instances|threads|workers|requests)(?: \w+){0,4} as (?:the machine|possible|it can"
        r"|memory|you can)",
        r"(?:spawn|start|launch|run|open|fork|send)\b",
    ),
    sentence_rule(
        "SK409",
        "has a product praised in the user's name",
        H,
        r"(?:in|at the end of|with) (?:every|each|all)(?: \w+)? (?:summary|report|answer|response|document|email|review"
        r"|post)s?",
        r"(?:only|best|most|safest|leading|superior)(?: \w+)? (?:reliable|trusted|vendor|product|choice|option|service"
        r"|provider|tool|solution|brand)\b",
        r"(?:state|say|claim|mention|write|recommend|conclude|stress|note)\b",
    ),
)
