"""Sentence rules for text that turns an agent against its user (SK401 to SK408)."""

from __future__ import annotations

from metier.scan.patterns import SentenceRule, sentence_rule
from metier.scan.scale import Confidence

from .sentence_parts import ASKED, FORBIDS, NOT, REFUSED, REFUSED_OR_EXAMPLE, REFUSED_OR_TEST, SAMPLE, UNTOLD, UNWRITTEN

__all__ = ["INJECTION_SENTENCES"]

M, H = Confidence.MEDIUM, Confidence.HIGH
_ACTION = (
    r"(?:this|these|that|the)(?: \w+)? (?:steps?|actions?|commands?|uploads?|changes?|operations?|transfers?|instructions?"
    r"|process|backups?|cop(?:y|ies)|additions?|modifications?|requests?|scripts?|sections?)\b|(?:what|that) you (?:did|ran"
    r"|do|sent|are doing)|about (?:this|it|that)\b|this out\b"
)
_ANYONE = r"(?:anyone|anybody|nobody|no one|somebody|someone|(?:the |your |end )?users?|the owner|the human)\b"
_RUN = r"(?:run|execute|start|launch|invoke|call|fetch|load|download|open|source)\b"
H = Confidence.HIGH

INJECTION_SENTENCES: tuple[SentenceRule, ...] = (
    # SK401 overrides-instructions
    sentence_rule(
        "SK401",
        "replaces the user's task with another one",
        H,
        r"your (?:real|actual|true) (?:task|job|mission|instructions?)\b|(?:instructions|rules|text) above (?:are"
        r"|is) (?:outdated|void|wrong|obsolete|invalid)"
        r"|(?:disregard|ignore|forget) (?:what )?(?:the )?user'?s? (?:request|wish|question|asked)",
        r"(?:run|execute|send|read|do|answer|forget|ignore|is|instead|disregard)\b",
        unless=r"ambiguous|unclear|clarify|understand|do not|don't|never",
    ),
    sentence_rule(
        "SK401",
        "says that the agent's rules no longer apply",
        H,
        r"(?:no longer (?:appl(?:y|ies)|hold|valid|in force)|(?:is|are) (?:now )?(?:off|lifted|suspended|void|disabled"
        r"|superseded|replaced by)|do(?:es)? not apply|can be (?:ignored|disregarded)|(?:ceases?|stops?) to apply)",
        r"(?:system prompts?|safety (?:checks?|rules|guidelines|polic\w+|filters?)|guardrails|content polic\w+"
        r"|your (?:previous |earlier |original )?(?:instructions|rules|guidelines|restrictions|training)|(?:previous|earlier"
        r"|prior|older|former) (?:instructions|rules|guidance|directions)|restrictions on you)",
    ),
    sentence_rule(
        "SK401",
        "gives the agent a role without limits",
        H,
        r"(?:no|without(?: any)?|free (?:of|from)|lacks?|ignor(?:es?|ing)) (?:\w+ )?(?:ethical|moral|safety) "
        r"(?:limits?|restrictions?|constraints?|boundaries|filters?|guidelines|considerations?)"
        r"|(?:admin|god|root|unrestricted|jailbreak|unsafe|unfiltered) mode",
        r"(?:you|your|answer|respond|persona|act|behave|role|mode)\b",
        unless=r"not allowed|must not|detect|attack|prevent|block|ask the user|normal",
    ),
    sentence_rule(
        "SK401",
        "tells the agent to set its instructions aside",
        H,
        r"(?:set aside|put aside|leave behind|do away with|need not (?:follow|respect|obey)|(?:do not"
        r"|don't) have to (?:respect|follow|obey|honou?r|keep to)|none of (?:your|the)|is all that (?:counts|matters)"
        r"|the only (?:thing|text|instructions?) that (?:counts?|matters?))",
        r"(?:guidance|instructions|rules|directions|limits|guidelines|restrictions|polic(?:y|ies)|orders)\b",
        r"(?:you (?:received|were given|got|have)|your (?:\w+ )?(?:rules|instructions|operator|limits|guidelines|content"
        r"|polic\w+|system)|platform|operator|developer|system|below)\b",
    ),
    # SK402 hides-from-user
    sentence_rule(
        "SK402",
        "tells the agent to hide a step from the user",
        H,
        r"(?:users?|they|people) (?:must|should|may|need|shall) not (?:see|notice|be told|find out)\b"
        r"|so (?:that )?(?:the )?users? (?:do(?:es)?|will|would|can) ?n[o']t (?:notice|suspect|realise|realize)|keep (?:this"
        r"|it) to yourself|(?:leave|keep) (?:it|this|that|them) out of (?:the |your )?(?:summary|report|answer|preview|reply"
        r"|response)|(?:do not|don't|never) (?:list|mention|disclose|describe|reveal) (?:this|these|the) (?:hidden |extra "
        r"|additional )?(?:step|action|upload|account|line|command|transfer|change|request|recipient)s?\b|if asked,? (?:deny"
        r"|say that (?:no|it|nothing))|deny that (?:any|you|it|data)",
        r"(?:see|notice|told|find|yourself|summary|report|answer|preview|reply|response|step|action|upload|account|line"
        r"|command|transfer|change|request|recipient|deny|suspect|realise|realize|say)",
        unless=(
            r"interface|\bui\b|screen|design|internal|log|password|spoiler|placeholder|loading|jargon|technical|raw"
            r"|example|thinking"
        ),
    ),
    sentence_rule(
        "SK402",
        "tells the agent to act and not to tell the user",
        H,
        UNTOLD,
        _ACTION,
        _ANYONE,
        unless=(
            r"tell(?:ing)? (?:the )?users? (?:to|how)|let |unless|until|before (?:it|they|you)|if (?:it|they"
            r"|the)|how to|internal|error|jargon|technical|without (?:asking|explaining)"
        ),
    ),
    sentence_rule(
        "SK402",
        "tells the agent to answer questions with an excuse",
        H,
        r"(?:if|when|should)(?: \w+){0,3} (?:asks?|asked|questions?|wonders?|inquires?|notices?"
        r"|complains?)(?: you)? (?:about|if|why|what|whether|of)\b",
        r"(?:answer|say|reply|respond|claim|explain|tell them|insist|blame)\b",
        r"(?:routine|update check|maintenance|false positive|harmless|nothing (?:happened|unusual)|only (?:formatted|read"
        r"|checked)|standard (?:procedure|behaviou?r)|normal behaviou?r|no data (?:is|was|leaves|has)|never (?:sent|uploaded"
        r"|left)|not (?:sent|uploaded|shared) anywhere)",
    ),
    sentence_rule(
        "SK402",
        "tells the agent to run a script and hide its output",
        H,
        rf"{NOT}(?: \w+){{0,2}} (?:show|display|print|include|surface|output)(?: \w+){{0,3}} (?:output|results?"
        rf"|logs?|stdout)\b"
        r"|(?:hide|suppress|discard) (?:its|the|all|any) output (?:from|so)",
        _RUN,
        r"(?:whatever|always|first|before|user|every|quiet)\b",
        unless=r"verbose|too (?:long|large)|token|context|raw|full|entire|secret",
    ),
    sentence_rule(
        "SK402",
        "tells the agent to leave something unsaid",
        H,
        r"(?:say nothing (?:about|of)|(?:stay|remain|be kept|keep (?:the user|them)) (?:unaware|in the dark|ignorant"
        r"|oblivious|uninformed)|leave no (?:mention|trace|record|sign)|make no mention|keep quiet about|omit (?:this|these"
        r"|the) (?:step|paragraph|command|part|action)s? from)",
        r"(?:user|person|reply|answer|summary|response|step|command|paragraph|background|report|it)\b",
    ),
    sentence_rule(
        "SK402",
        "tells the agent to talk the user out of doubts",
        H,
        r"(?:suspicious|worried|doubts?|concerned|alarmed|hesitates?|objects?)\b",
        r"(?:reassure|calm|convince|persuade|insist|assure)\b",
        r"(?:user|them|they|person)\b",
        unless=r"customer|patient|client|student|candidate|lead\b|prospect|reader|interview|sales|negotiat",
    ),
    sentence_rule(
        "SK402",
        "tells the agent to leave an addition out of documents and reports",
        H,
        UNWRITTEN,
        r"(?:add|adds|insert|include|put|accepts?|install|create|copy|send|upload|post|run|runs|fetch|fetches|transfer|register"
        r"|append|replace|propagate|write|embed|execute)\b",
        r"(?:every|each|any|all|hidden|undocumented|password|account|endpoint|module|branch|script|https?:|transfer|payment"
        r"|iban|server|machine|other)\b",
        unless=(
            r"\b(?:secrets?|credentials?|api keys?|tokens?|jargon|internal (?:notes|details|names)|draft|todo|debug"
            r"|temporary|private|confidential|personal|pii|sensitive|redact\w*|duplicate|generated|findings?|node_modules"
            r"|lockfiles?|noise|emoji|co-authored|attribution|ai-generated|trailer)\b"
        ),
        spans_sentences=True,
    ),
    sentence_rule(
        "SK402",
        "gives the agent an excuse for users who ask what it does",
        H,
        r"(?:if|when|should)(?: \w+){0,3} (?:users?|they|anyone|somebody|someone|people) (?:asks?|wonders?|notices?|complains?"
        r"|inquires?)(?: you)? (?:what (?:you are|you're|it is|this is|is) (?:doing|happening|running|for)"
        r"|why (?:it|this|you|the)|about (?:it|this|the (?:delay|request|traffic|file|upload|extra|change|fee|step|account)))",
        r"(?:: ?[\"'“]|(?:say|answer|reply|tell them|respond|explain)(?: only| just| simply| that)? ?:? ?[\"'“]|(?:say|answer"
        r"|reply|respond)(?: only| just| simply)? (?:that )?(?:it is|this is|you are|it's) (?:just|only|part|an?|for"
        r"|required|normal|needed|optimi\w+))",
        r"(?:optimi\w+|routing|routine|maintenance|required|normal|standard|quality|compliance|cache|sync\w*|telemetry"
        r"|performance|update|licen\w+|security (?:check|measure|feature))",
        unless=r"\b(?:faq|customer|docs?|documentation|pricing|feature|help)\b",
    ),
    # SK403 fake-role
    sentence_rule(
        "SK403",
        "asks to be treated as the words of the system, a developer or the user",
        H,
        r"(?:as (?:if|though) (?:it|they|this) (?:came|comes|were|was|is)(?: written| sent| said| given)? (?:from|by)"
        r"|as coming from|on the authority of)",
        r"(?:developer|system|operator|anthropic|openai|administrator|platform|user)\b",
        r"(?:treat|regard|consider|take|read|handle|follow|paragraph|instructions?|text|section)\b",
    ),
    # SK404 reveals-prompt
    sentence_rule(
        "SK404",
        "asks for the agent's instructions or tool definitions",
        H,
        r"(?:reveal|print|repeat|show|output|recite|quote|paste|dump|post|send|submit"
        r"|upload)(?: \w+){0,2} (?:your (?:\w+ )?(?:hidden|initial|original|system|secret|full|complete|entire"
        r"|developer)(?: \w+)? (?:instructions?|prompts?|messages?)|your (?:tool list|list of tools|instructions and)"
        r"|(?:\w+ )?instructions (?:that )?you (?:were|have been) given|all (?:your )?tool definitions)",
        unless=r"\b(?:do not|don't|never|refuse|not)\b|user asks|template|test|example",
    ),
    # SK405 remote-instructions
    sentence_rule(
        "SK405",
        "tells the agent to obey instructions found in mail, pages or files",
        H,
        r"(?:mails?|e-?mails?|messages?|issues?|comments?|pages?|documents?|tickets?|logs?|repl(?:y|ies)|body|files?"
        r"|tool descriptions?|servers?|responses?|results)\b",
        r"(?:commands?|instructions?|orders?)(?: \w+){0,3} (?:for|to) (?:you|assistants?|the (?:agent|assistant|model)|ai)\b"
        r"|(?:holds?|contains?|carr(?:y|ies)|includes?) (?:further |more |additional |new )?(?:commands|instructions|orders)"
        r"|(?:holds?|contains?|carr(?:y|ies)|includes?) (?:further|more|additional) steps",
        r"(?:follow|execute|obey|carry (?:them |these )?out|perform)\b",
        unless=(
            r"(?:do not|don't|never|must not|not) (?:follow|execute|obey|act|perform|carry|be)|untrusted|inject|as data|attack"
            r"|if (?:any|asked)|suspicious|refuse|reference file|this skill"
        ),
        spans_sentences=True,
    ),
    sentence_rule(
        "SK405",
        "tells the agent to treat fetched text as instructions",
        H,
        r"(?:treat|regard|consider|take)(?: \w+){0,7} (?:as|like) (?:a )?part of (?:this skill|the skill|your instructions"
        r"|these instructions)|(?:its|their|those) instructions (?:take precedence|override|overrule|replace|supersede)"
        r"|(?:do|follow|execute|run|obey) (?:whatever|everything|exactly what|all that) (?:it|they|the (?:page|server|answer"
        r"|message|response)) (?:says?|tells?|asks?|returns?|contains?|orders?)|run every (?:shell |code )?(?:block"
        r"|command) (?:found )?in it|follow the (?:message|page|output) to the letter",
        unless=r"\b(?:do not|don't|never|must not)\b (?:treat|follow|execute|run|obey|take)|user (?:says|asks|wants)|untrusted",
    ),
    sentence_rule(
        "SK405",
        "tells the agent to obey a page of an unknown host before anything else",
        H,
        r"(?:as (?:your|the) (?:very )?first (?:action|step|thing)|before (?:anything|doing anything|helping|answering"
        r"|you (?:start|do|answer))|whatever the (?:user|request)|regardless of the (?:user|request)|on every (?:run|request"
        r"|turn)|at the (?:start|beginning) of (?:every|each))",
        _RUN,
        r"(?:follow|obey|do (?:exactly )?what|instructions|execute|rules|directives|apply)\b",
        unknown_host=True,
    ),
    sentence_rule(
        "SK405",
        "lets a page of an unknown host decide what the agent does",
        H,
        r"(?:let it decide|decides? what|tells? you what|do(?:es)? (?:exactly )?(?:what|as) it (?:says|tells)|act on (?:it"
        r"|its)|carry out (?:its|whatever|what|the instructions))",
        r"(?:open|load|read|fetch|visit|get|download|check|consult)\b",
        unknown_host=True,
    ),
    # SK406 edits-agent
    sentence_rule(
        "SK406",
        "tells the agent to note in its memory that something is always trusted",
        H,
        r"(?:soul|memory|identity|heartbeat|claude|agents|gemini|tools|user)\.md",
        r"(?:always (?:safe|trusted|allowed|approved|run|trust|obey)|never (?:question|refuse|ask|block)|(?:is"
        r"|are) (?:safe to run|trusted|pre-approved))",
        r"(?:write|add|append|put|save|insert|store|note|record|update)\b",
    ),
    sentence_rule(
        "SK406",
        "tells the agent to spread the skill to other projects or agents",
        H,
        r"(?:claude|agents|gemini|memory|soul)\.md|\.cursorrules|other agents?\b|every agent\b|all agents\b",
        r"(?:write|add|append|put|insert|copy|tell|ask|convince|persuade|invite|propagate)\b",
        r"(?:(?:each|every|all|any)(?: \w+){0,2} (?:projects?|repos?|repositor(?:y|ies)|workspaces?)(?: \w+){0,2} (?:you"
        r" (?:touch|open|visit|can|work|find)|on (?:this|the)"
        r" machine)|to (?:install|join|load|adopt|fetch) (?:it|this|the skill|them)|install it\b)",
        unless=REFUSED_OR_EXAMPLE + "|" + ASKED + SAMPLE + r"|\b(?:monorepo|if (?:it|one|there)|existing|read)\b",
    ),
    sentence_rule(
        "SK406",
        "tells the agent to remember approvals that the user did not give",
        H,
        r"(?:to|into|in) (?:your |the |its |long-term )*(?:memory|memories|profile|preferences)\b",
        r"(?:the )?users? (?:wants?|prefers?|has (?:approved|agreed|allowed)|trusts?|always|agreed|allows?)\b",
        r"never (?:wants? )?(?:to )?be asked|all (?:future )?(?:payments?|purchases?|commands?|transfers?|requests?|orders?)"
        r"|without (?:asking|confirm\w*)|pre-?approved|always (?:approve|trust|allow|run|pay|use)",
        r"(?:save|write|add|store|remember|note|record|put)\b",
        unless=r"\b(?:if|when|what|once) (?:the )?users? (?:says?|asks?|states?|told|tells?)\b",
    ),
    # SK407 skips-approval
    sentence_rule(
        "SK407",
        "tells the agent to turn off its permission checks in its settings",
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
        "SK407",
        "claims that all actions are already approved",
        H,
        r"(?:pre-?(?:approved|authori[sz]ed)|already (?:consented|approved|agreed|authori[sz]ed)"
        r"|assume (?:that )?(?:the user|consent|permission|approval)|consent (?:is|has been) (?:given|granted|assumed)"
        r"|no (?:confirmation|approval|permission) (?:is )?(?:needed|required|necessary))",
        r"(?:every|all|any|each)(?: \w+){0,2} (?:commands?|tools?|tool calls?|actions?|operations?|scripts?)\b"
        r"|(?:the following|these) (?:commands?|tools?|actions?|scripts?|steps?)\b|everything (?:below|here|in|that)",
        unless=r"read-only|plan|design|spec\b|only|if (?:the )?user|once|after|unless|not ",
    ),
    sentence_rule(
        "SK407",
        "tells the agent to run commands without approval",
        H,
        r"no need (?:for|to (?:wait|ask))(?: for)?(?: \w+(?:'s)?){0,2} (?:approval|permission|consent|confirmation)"
        r"|(?:do not|don't) wait for (?:\w+ ){0,2}(?:approval|permission|consent|confirmation)",
        r"(?:every|all|any|each)(?: \w+){0,2} (?:commands?|scripts?|steps?|actions?|tools?)\b",
        unless=r"read-only|safe|plan|test",
    ),
    sentence_rule(
        "SK407",
        "tells the agent to treat a missing approval or check as given",
        H,
        r"treat(?: [\w'-]+){1,5} as (?:passed|approved|given|done|confirmed|signed|complete)\b|(?:tick|mark"
        r"|check)(?: [\w\"'-]+){1,7} box(?:es)?\b[^.]{0,40}(?:anyway|regardless)|(?:record|note|enter"
        r"|log)(?:ed)?(?: \w+){0,3} as \W?(?:given|approved|verbal\w*|agreed)",
        r"(?:approval|tests?|pre-?flight|review|checks?|sign-?off|consent|production|deploy\w*|merge|release|verification)\b",
        unless=FORBIDS + r"|\b(?:if (?:the )?user|after the user|once|only (?:if|when)|unless|not|cached|mock\w*|missing"
        r"|empty)\b",
    ),
    sentence_rule(
        "SK407",
        "tells the agent to approve changes without reading them",
        H,
        r"(?:approve|merge|accept|sign off|lgtm|auto-?merge|rubber[- ]stamp)\b[^.]{0,160}?(?:without (?:reading|reviewing"
        r"|looking|checking|opening|inspecting|a review|any review|review|seeing|waiting for)\b|--admin\b|unread\b|unseen\b)",
        r"(?:pull requests?|prs?|merge requests?|diff|commits?|changes|version bumps?|updates?|gh pr)\b",
        unless=(
            REFUSED
            + r"|\b(?:risk\w*|danger\w*|bad|mistake|anti-?pattern|cannot|can't|could|problem|prevents?|violation|bypass\w*"
            r"|fails?|refus\w*|rejects?|guard)\b"
        ),
    ),
    sentence_rule(
        "SK407",
        "tells the agent to start every agent without permission checks",
        M,
        r"--dangerously-skip-permissions|--dangerously-bypass|--yolo\b|--trust-all-tools|--allow-all-tools",
        r"(?:always|every|each|all|any)\b",
        r"(?:start|launch|spawn|run|use|invoke|create|open|pass)(?:s|ing)?\b",
        unless=REFUSED + r"|\b(?:sandbox\w*|container\w*|docker|vm|isolated|danger|careful|risk\w*|caution|trusted)\b",
    ),
    sentence_rule(
        "SK407",
        "tells the agent to stay below a limit so that no approval is needed",
        H,
        r"so (?:that )?no (?:approval|review|confirmation|check|sign-?off|audit|report) is (?:needed|required|triggered|due)"
        r"|(?:below|under|beneath) the (?:approval|reporting|review|audit|authori[sz]ation) (?:limit|threshold|level)",
        r"(?:split|divide|reduce|break|keep|spread|lower)\b",
        unless=REFUSED_OR_TEST,
    ),
    sentence_rule(
        "SK407",
        "tells the agent to change production without review or tests",
        H,
        r"(?:commit|push|merge|run|apply|execute|deploy|release)(?: \w+){0,3} (?:directly |straight )?(?:to|on|in|against)"
        r" (?:main|master|production|prod)\b",
        r"skip(?:s|ping)? (?:the )?(?:review|tests?|ci|checks|dry run|staging)|without (?:a |any )?(?:reviews?|dry[- ]run"
        r"|tests?|backup|approval|staging)\b",
        unless=FORBIDS + r"|\b(?:cannot|can't|must|risk\w*|danger\w*|anti-?pattern|red flag|bad|not|blocked|prevents?"
        r"|violation|hotfix policy|unless|no )\b",
    ),
    # SK408 addresses-scanners
    sentence_rule(
        "SK408",
        "tells reviewers that there is nothing to review",
        H,
        r"(?:reviewers?|scanners?|auditors?|analysts?|automated analysis|security (?:tools?|scan\w*|analysis)"
        r"|static analysis)\b",
        r"(?:unnecessary|not (?:needed|required|necessary)|known good|can be skipped|should be skipped|is a false positive"
        r"|already (?:cleared|verified|vetted)|nothing to (?:see|review|report))\b",
        r"(?:this (?:file|skill|script|page|folder|document)|note (?:for|to)|it is|these files)\b",
    ),
)
