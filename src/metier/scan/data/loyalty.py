"""Orders that turn an agent against its user: to drop its rules, keep quiet, ask nobody, obey strangers."""

from __future__ import annotations

from metier.scan.scale import Confidence

from .sentence_rule import NOT, UNTOLD, SentenceRule, sentence_rule

__all__ = ["LOYALTY"]

M, H = Confidence.MEDIUM, Confidence.HIGH
_DEED = (
    r"(?:this|these|that|the)(?: \w+)? (?:steps?|actions?|commands?|uploads?|changes?|operations?|transfers?"
    r"|instructions?|process"
    r"|backups?|cop(?:y|ies)|additions?|modifications?|requests?|scripts?|sections?)\b|(?:what|that) you (?:did|ran|do"
    r"|sent|are doing)"
    r"|about (?:this|it|that)\b|this out\b"
)
_ANYONE = r"(?:anyone|anybody|nobody|no one|somebody|someone|(?:the |your |end )?users?|the owner|the human)\b"
_RUN = r"(?:run|execute|start|launch|invoke|call|fetch|load|download|open|source)\b"

LOYALTY: tuple[SentenceRule, ...] = (
    sentence_rule(
        "SK405",
        "has orders obeyed that stand in what is read",
        H,
        r"(?:mails?|e-?mails?|messages?|issues?|comments?|pages?|documents?|tickets?|logs?|repl(?:y|ies)|body|files?|tool"
        r" descriptions?"
        r"|servers?|responses?|results)\b",
        r"(?:commands?|instructions?|orders?)(?: \w+){0,3} (?:for|to) (?:you|assistants?|the (?:agent|assistant|model)|ai)\b"
        r"|(?:holds?|contains?|carr(?:y|ies)|includes?) (?:further |more |additional |new )?(?:commands|instructions|orders)"
        r"|(?:holds?|contains?|carr(?:y|ies)|includes?) (?:further|more|additional) steps",
        r"(?:follow|execute|obey|carry (?:them |these )?out|perform)\b",
        unless=(
            r"(?:do not|don't|never|must not|not) (?:follow|execute|obey|act|perform|carry|be)|untrusted|inject|as data|attack"
            r"|if (?:any|asked)|suspicious|refuse|reference file|this skill"
        ),
        across=True,
    ),
    sentence_rule(
        "SK405",
        "lets what it fetches speak for the skill",
        H,
        r"(?:treat|regard|consider|take)(?: \w+){0,7} (?:as|like) (?:a )?part of (?:this skill|the skill"
        r"|your instructions|these instructions)"
        r"|(?:its|their|those) instructions (?:take precedence|override|overrule|replace|supersede)"
        r"|(?:do|follow|execute|run|obey) (?:whatever|everything|exactly what|all that) (?:it|they|the (?:page|server"
        r"|answer|message"
        r"|response)) (?:says?|tells?|asks?|returns?|contains?|orders?)"
        r"|run every (?:shell |code )?(?:block|command) (?:found )?in it|follow the (?:message|page|output) to the letter",
        unless=r"\b(?:do not|don't|never|must not)\b (?:treat|follow|execute|run|obey|take)|user (?:says|asks|wants)|untrusted",
    ),
    sentence_rule(
        "SK401",
        "puts another task in place of the user's",
        H,
        r"your (?:real|actual|true) (?:task|job|mission|instructions?)\b|(?:instructions|rules|text) above (?:are"
        r"|is) (?:outdated|void|wrong|obsolete|invalid)"
        r"|(?:disregard|ignore|forget) (?:what )?(?:the )?user'?s? (?:request|wish|question|asked)",
        r"(?:run|execute|send|read|do|answer|forget|ignore|is|instead|disregard)\b",
        unless=r"ambiguous|unclear|clarify|understand|do not|don't|never",
    ),
    sentence_rule(
        "SK402",
        "has something kept out of the user's sight",
        H,
        r"(?:users?|they|people) (?:must|should|may|need|shall) not (?:see|notice|be told|find out)\b"
        r"|so (?:that )?(?:the )?users? (?:do(?:es)?|will|would|can) ?n[o']t (?:notice|suspect|realise|realize)"
        r"|keep (?:this|it) to yourself"
        r"|(?:leave|keep) (?:it|this|that|them) out of (?:the |your )?(?:summary|report|answer|preview|reply|response)"
        r"|(?:do not|don't|never) (?:list|mention|disclose|describe|reveal) (?:this|these|the) (?:hidden |extra "
        r"|additional )?(?:step|action|upload|account|line|command"
        r"|transfer|change|request|recipient)s?\b|if asked,? (?:deny|say that (?:no|it|nothing))|deny that (?:any|you|it|data)",
        r"(?:see|notice|told|find|yourself|summary|report|answer|preview|reply|response|step|action|upload|account|line"
        r"|command|transfer|change"
        r"|request|recipient|deny|suspect|realise|realize|say)",
        unless=(
            r"interface|\bui\b|screen|design|internal|log|password|spoiler|placeholder|loading|jargon|technical|raw"
            r"|example|thinking"
        ),
    ),
    sentence_rule(
        "SK407",
        "has the agent's permission checks switched off for good",
        H,
        r"bypasspermissions|skipdangerousmode|\"?allow\"?: ?\[ ?\"?(?:\*|bash\( ?\*? ?\))|auto-?approve(?:s|d)? (?:all"
        r"|every|everything)",
        r"(?:set|add|write|put|enable|commit|change|insert|append)\b",
        r"(?:settings(?:\.local)?\.json|\.claude|configuration|config)\b",
        unless=(
            r"\b(?:do not|don't|never|not|avoid|warn\w*|danger\w*|insecure|only (?:in|for)|sandbox\w*|container|docker"
            r"|if the user|ask)\b"
        ),
    ),
    sentence_rule(
        "SK402",
        "has something done and kept from the user",
        H,
        UNTOLD,
        _DEED,
        _ANYONE,
        unless=(
            r"tell(?:ing)? (?:the )?users? (?:to|how)|let |unless|until|before (?:it|they|you)|if (?:it|they"
            r"|the)|how to|internal|error|jargon|technical|without (?:asking|explaining)"
        ),
    ),
    sentence_rule(
        "SK401",
        "says that the agent's rules do not hold",
        H,
        r"(?:no longer (?:appl(?:y|ies)|hold|valid|in force)|(?:is|are) (?:now )?(?:off|lifted|suspended|void"
        r"|disabled|superseded"
        r"|replaced by)|do(?:es)? not apply|can be (?:ignored|disregarded)|(?:ceases?|stops?) to apply)",
        r"(?:system prompts?|safety (?:checks?|rules|guidelines|polic\w+|filters?)|guardrails|content polic\w+"
        r"|your (?:previous "
        r"|earlier |original )?(?:instructions|rules|guidelines|restrictions|training)|(?:previous|earlier|prior|older"
        r"|former) (?:instructions|rules|guidance|directions)|restrictions on you)",
    ),
    sentence_rule(
        "SK401",
        "offers the agent a role without limits",
        H,
        r"(?:no|without(?: any)?|free (?:of|from)|lacks?|ignor(?:es?|ing)) (?:\w+ )?(?:ethical|moral|safety) "
        r"(?:limits?|restrictions?|constraints?|boundaries|filters?|guidelines|considerations?)"
        r"|(?:admin|god|root|unrestricted|jailbreak|unsafe|unfiltered) mode",
        r"(?:you|your|answer|respond|persona|act|behave|role|mode)\b",
        unless=r"not allowed|must not|detect|attack|prevent|block|ask the user|normal",
    ),
    sentence_rule(
        "SK407",
        "says that everything is approved already",
        H,
        r"(?:pre-?(?:approved|authori[sz]ed)|already (?:consented|approved|agreed|authori[sz]ed)"
        r"|assume (?:that )?(?:the user|consent"
        r"|permission|approval)|consent (?:is|has been) (?:given|granted|assumed)|no (?:confirmation|approval"
        r"|permission) (?:is )?"
        r"(?:needed|required|necessary))",
        r"(?:every|all|any|each)(?: \w+){0,2} (?:commands?|tools?|tool calls?|actions?|operations?|scripts?)\b"
        r"|(?:the following|these) (?:commands?|tools?|actions?|scripts?|steps?)\b|everything (?:below|here|in"
        r"|that)",
        unless=r"read-only|plan|design|spec\b|only|if (?:the )?user|once|after|unless|not ",
    ),
    sentence_rule(
        "SK402",
        "has a question answered with an excuse",
        H,
        r"(?:if|when|should)(?: \w+){0,3} (?:asks?|asked|questions?|wonders?|inquires?|notices?"
        r"|complains?)(?: you)? (?:about|if|why|what|whether"
        r"|of)\b",
        r"(?:answer|say|reply|respond|claim|explain|tell them|insist|blame)\b",
        r"(?:routine|update check|maintenance|false positive|harmless|nothing (?:happened|unusual)|only (?:formatted"
        r"|read|checked)"
        r"|standard (?:procedure|behaviou?r)|normal behaviou?r|no data (?:is|was|leaves|has)|never (?:sent|uploaded"
        r"|left)|not (?:sent|uploaded|shared) anywhere)",
    ),
    sentence_rule(
        "SK405",
        "has a stranger's page obeyed before anything else",
        H,
        r"(?:as (?:your|the) (?:very )?first (?:action|step|thing)|before (?:anything|doing anything|helping"
        r"|answering|you (?:start|do|answer))"
        r"|whatever the (?:user|request)|regardless of the (?:user|request)|on every (?:run|request|turn)"
        r"|at the (?:start|beginning) of "
        r"(?:every|each))",
        _RUN,
        r"(?:follow|obey|do (?:exactly )?what|instructions|execute|rules|directives|apply)\b",
        stranger=True,
    ),
    sentence_rule(
        "SK402",
        "has a script run and its output hidden",
        H,
        rf"{NOT}(?: \w+){{0,2}} (?:show|display|print|include|surface|output)(?: \w+){{0,3}} (?:output|results?"
        rf"|logs?|stdout)\b"
        r"|(?:hide|suppress|discard) (?:its|the|all|any) output (?:from|so)",
        _RUN,
        r"(?:whatever|always|first|before|user|every|quiet)\b",
        unless=r"verbose|too (?:long|large)|token|context|raw|full|entire|secret",
    ),
    sentence_rule(
        "SK404",
        "asks for what the agent was told",
        H,
        r"(?:reveal|print|repeat|show|output|recite|quote|paste|dump|post|send|submit|upload)(?: \w+){0,2} (?:your (?:\w+"
        r" )?(?:hidden"
        r"|initial|original|system|secret|full|complete|entire|developer)(?: \w+)? (?:instructions?|prompts?|messages?)"
        r"|your (?:tool list|list of tools|instructions and)|(?:\w+ )?instructions (?:that )?you (?:were"
        r"|have been) given"
        r"|all (?:your )?tool definitions)",
        unless=r"\b(?:do not|don't|never|refuse|not)\b|user asks|template|test|example",
    ),
    sentence_rule(
        "SK401",
        "sets the agent's instructions aside",
        H,
        r"(?:set aside|put aside|leave behind|do away with|need not (?:follow|respect|obey)|(?:do not"
        r"|don't) have to (?:respect|follow|obey"
        r"|honou?r|keep to)|none of (?:your|the)|is all that (?:counts|matters)|the only (?:thing|text"
        r"|instructions?) that (?:counts?|matters?))",
        r"(?:guidance|instructions|rules|directions|limits|guidelines|restrictions|polic(?:y|ies)|orders)\b",
        r"(?:you (?:received|were given|got|have)|your (?:\w+ )?(?:rules|instructions|operator|limits|guidelines|content"
        r"|polic\w+|system)|platform"
        r"|operator|developer|system|below)\b",
    ),
    sentence_rule(
        "SK403",
        "asks to be taken for somebody else's words",
        H,
        r"(?:as (?:if|though) (?:it|they|this) (?:came|comes|were|was|is)(?: written| sent| said| given)? (?:from|by)"
        r"|as coming from|on the authority of)",
        r"(?:developer|system|operator|anthropic|openai|administrator|platform|user)\b",
        r"(?:treat|regard|consider|take|read|handle|follow|paragraph|instructions?|text|section)\b",
    ),
    sentence_rule(
        "SK402",
        "has something left unsaid",
        H,
        r"(?:say nothing (?:about|of)|(?:stay|remain|be kept|keep (?:the user|them)) (?:unaware|in the dark|ignorant"
        r"|oblivious|uninformed)|leave no "
        r"(?:mention|trace|record|sign)|make no mention|keep quiet about|omit (?:this|these|the) (?:step|paragraph"
        r"|command|part|action)s? from)",
        r"(?:user|person|reply|answer|summary|response|step|command|paragraph|background|report|it)\b",
    ),
    sentence_rule(
        "SK402",
        "has doubts talked away",
        H,
        r"(?:suspicious|worried|doubts?|concerned|alarmed|hesitates?|objects?)\b",
        r"(?:reassure|calm|convince|persuade|insist|assure)\b",
        r"(?:user|them|they|person)\b",
        unless=r"customer|patient|client|student|candidate|lead\b|prospect|reader|interview|sales|negotiat",
    ),
    sentence_rule(
        "SK407",
        "has everything run unasked",
        H,
        r"no need (?:for|to (?:wait|ask))(?: for)?(?: \w+(?:'s)?){0,2} (?:approval|permission|consent|confirmation)"
        r"|(?:do not|don't) wait for (?:\w+ ){0,2}"
        r"(?:approval|permission|consent|confirmation)",
        r"(?:every|all|any|each)(?: \w+){0,2} (?:commands?|scripts?|steps?|actions?|tools?)\b",
        unless=r"read-only|safe|plan|test",
    ),
    sentence_rule(
        "SK405",
        "lets a stranger's page decide",
        H,
        r"(?:let it decide|decides? what|tells? you what|do(?:es)? (?:exactly )?(?:what|as) it (?:says|tells)"
        r"|act on (?:it|its)|carry out (?:its|whatever|what"
        r"|the instructions))",
        r"(?:open|load|read|fetch|visit|get|download|check|consult)\b",
        stranger=True,
    ),
    sentence_rule(
        "SK408",
        "tells its reviewers that there is nothing to review",
        H,
        r"(?:reviewers?|scanners?|auditors?|analysts?|automated analysis|security (?:tools?|scan\w*|analysis)"
        r"|static analysis)\b",
        r"(?:unnecessary|not (?:needed|required|necessary)|known good|can be skipped|should be skipped"
        r"|is a false positive|already (?:cleared|verified|vetted)"
        r"|nothing to (?:see|review|report))\b",
        r"(?:this (?:file|skill|script|page|folder|document)|note (?:for|to)|it is|these files)\b",
    ),
    sentence_rule(
        "SK406",
        "has a stranger trusted for good",
        H,
        r"(?:soul|memory|identity|heartbeat|claude|agents|gemini|tools|user)\.md",
        r"(?:always (?:safe|trusted|allowed|approved|run|trust|obey)|never (?:question|refuse|ask|block)|(?:is"
        r"|are) (?:safe to run|trusted|pre-approved))",
        r"(?:write|add|append|put|save|insert|store|note|record|update)\b",
    ),
)
