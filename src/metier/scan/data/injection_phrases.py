"""Phrases of prose that turn an agent against its user (SK401 to SK408, SK414).

Each row is a code, a message, how the phrase begins and how it goes on; see `scan.patterns` for the notation. Every row has
a hit and a near miss in tests/data/scan, and was read against 12,000 published skills.
"""

from __future__ import annotations

from metier.scan.patterns import Phrase, phrase
from metier.scan.scale import Confidence
from metier.scan.text import TextKind

__all__ = ["INJECTION_PHRASES"]

M, L, H = Confidence.MEDIUM, Confidence.LOW, Confidence.HIGH
_READ_AS_TEXT = (TextKind.PROSE, TextKind.OTHER, TextKind.PYTHON, TextKind.SHELL, TextKind.JAVASCRIPT)
_PROSE = (TextKind.PROSE, TextKind.OTHER)
_RULES = (
    r"(?:instructions?|prompts?|rules|guidelines|guidance|directives|constraints|restrictions|safety|guardrails|polic(?:y|ies)"
    r"|programming|training)"
)
_MEMORY = (
    r"(?:(?:your |the |its |user's |\~/|\./|/)*(?:[\w./~-]*/)?`?(?:soul|memory|identity|heartbeat|claude|agents|user|tools"
    r"|gemini)\.md`?|(?:your |the |its |user's )*(?:\.cursorrules|long-term memory|persistent memory|system prompt))"
)
H = Confidence.HIGH

INJECTION_PHRASES: tuple[Phrase, ...] = (
    # SK401 overrides-instructions
    phrase(
        "SK401",
        "tells the agent to drop its instructions",
        "ignore |disregard |forget |override |bypass |discard ",
        rf"\w+ (?:and \w+ )?(?:all |any |every |the |your |my |these |of )*(?:previous|prior|above|earlier|preceding"
        rf"|existing|original|initial|system|other|current|default|built-in)"
        rf" (?:\w+ )?{_RULES}",
        kinds=_READ_AS_TEXT,
    ),
    phrase(
        "SK401",
        "tells the agent to drop its safety rules",
        "ignore |disregard |forget |override |bypass |discard |disable ",
        r"\w+ (?:all |any |every |the |your )*(?:safety|ethical|security|content|moderation) (?:\w+ )?(?:rules|guidelines"
        r"|polic(?:y|ies)|filters?|guardrails|restrictions|constraints|protocols|mechanisms|training)",
        kinds=_READ_AS_TEXT,
    ),
    phrase(
        "SK401",
        "puts the agent into another mode",
        "you are now |you're now |enter |switch to |activate |system override|jailbreak mode|enable ",
        r"(?:(?:you are|you're) now (?:in |a |an |the )*(?:~)?(?:unrestricted|dan\b|jailbr|developer mode|god mode|root mode"
        r"|maintenance mode|free (?:of|from) (?:all )?(?:restrictions|rules)|no longer bound)|(?:enter|switch to|activate"
        r"|enable) (?:unrestricted|developer|god|dan|jailbreak|sudo|root|maintenance)(?: override)? mode(?! (?:in|on|via"
        r"|under) )~(?:no (?:rules|restrictions|filter)|without restrictions|unrestricted|ignore|bypass)"
        r"|system override\s*(?:[:!*-]|mode)|jailbreak mode)",
        kinds=_READ_AS_TEXT,
    ),
    phrase(
        "SK401",
        "claims authority over the user",
        "this instruction |these instructions |this skill's instructions |the instructions in this |treat this |this "
        "directive ",
        r"(?:this|these|the|treat)~(?:take|takes|has|have|with|as)~(?:precedence|priority|the highest priority) (?:over"
        r"|above|than) (?:any |all |the |your )*(?:user|system|developer|safety|other|previous)",
        M,
    ),
    phrase(
        "SK401",
        "tells the agent to forget what it was told",
        "ignore |disregard |forget ",
        r"(?:ignore|disregard) (?:any |all )?(?:instructions?|requests?|orders?|objections?) (?:from|by|of) (?:the )?(?:user"
        r"|system|operator|developer)(?! ?(?:'s|input|content|file|data|doc|upload|message))\b|(?:ignore|disregard"
        r"|forget) (?:about )?(?:everything|anything|all|whatever|what)(?: of)?(?: that)?(?: \w+){0,2} (?:above|before this"
        r"|the user (?:says|said|asks|asked|wants)|you (?:were|have been|are) told|your (?:previous |prior "
        r"|original )?(?:role|instructions|persona|identity|training)|came before|previously|earlier|user instructions)",
        H,
        kinds=_READ_AS_TEXT,
    ),
    phrase(
        "SK401",
        "tells the agent that it has no limits",
        "you have no |you are not bound|you're not bound|you are free |you are no longer |you no longer |from now on",
        r"(?:from now on,? )?(?:you|ignore|disregard)(?:'re| are| have| no longer)? ?(?:not bound by|free (?:of|from)"
        r"|no longer|have no|no|follow|need)~(?:restrictions|limitations|guardrails|safety|filters?|ethical|content polic"
        r"|your (?:rules|guidelines|instructions|training))",
        H,
        kinds=_READ_AS_TEXT,
    ),
    phrase(
        "SK401",
        "tells the agent not to follow its rules",
        "do not |don't |never |stop ",
        r"(?:do not|don't|never|stop) (?:follow|obey|apply|respect|adhere to|comply with|following|obeying)(?:ing)? (?:your"
        r"|the system|any|all|its|previous|prior) (?:\w+ ){0,2}(?:safety|system|ethical|content|security|previous|prior"
        r"|original)? ?(?:guidelines|rules|polic(?:y|ies)|instructions|prompt|restrictions)(?! (?:found|in|from|embedded"
        r"|inside|contained|that|on|within|of))",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK401",
        "puts itself above the user or the system prompt",
        "even if |even when |even though |regardless of |no matter ",
        r"(?:even (?:if|when|though)|regardless of|no matter)[^.!?;#]{0,60}?(?:contradict|conflict|violat|against|differ"
        r"|user (?:objects|refuses|says no|disagrees|asks you (?:not|to stop)))[^.!?;#]{0,40}?(?:system prompt"
        r"|your (?:instructions|guidelines|rules|polic|training)|safety|the user(?:'s)? (?:instruction|wish|request|objects"
        r"|refuses|says no|disagrees))",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK401",
        "claims to be the system prompt",
        "new system |updated system |new instructions|your new |your only |your real |your true |obey only |only obey "
        "|higher priority than|highest authority|precedence over|priority over",
        r"(?:(?:new|updated) system (?:prompt|instructions?|message) ?:|new instructions? ?: ?you|your (?:new|only|real"
        r"|true) (?:system prompt|objective|goal|task|instructions|master|purpose)(?: now)? (?:is|are)~(?:obey|ignore|send"
        r"|run|execute|collect|serve|unrestricted)|(?:obey only|only obey) |(?:higher priority than|highest authority"
        r"|precedence over|priority over)(?: the| all| any| your)* (?:system|safety|developer)(?:'s)?(?: and \w+)? (?:prompt"
        r"|instructions?|rules|messages?|guidelines))",
        H,
        kinds=_PROSE,
    ),
    # SK402 hides-from-user
    phrase(
        "SK402",
        "tells the agent to deny what it did",
        "do not |don't |never |must not |should not ",
        r"(?:do not|don't|never|must not|should not) (?:ever )?(?:reveal|tell|disclose|mention|inform|admit|say|notify"
        r"|show)[^.!?;#]{0,50}? (?:that you|what you|you) (?:have |had |are |were |also |just |already )*(?:executed?|ran"
        r"|run|running|sent|sending|uploaded|uploading|copied|copying|installed|installing|added|adding|deleted|deleting"
        r"|modified|changed|collected|collecting|did|performed|accessed|exfiltrated|forwarded|made this|made these)\b",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK402",
        "says that the user need not know",
        "the user does not need|the user doesn't need|the user need not |the user should not |the user must not "
        "|user should never |users should not |users must not |the user shouldn't |users need not |the user doesn't have to"
        "|the user does not have to",
        r"(?:the )?users? (?:does not (?:need|have) to|doesn't (?:need|have) to|need not|should not|must not"
        r"|should never|shouldn't) "
        r"(?:ever )?(?:know|notice|be (?:told|informed|aware|alerted|notified)|find out|learn)(?: about| of| that)?"
        r"(?: (?:this|it|these|the (?:upload|backup|transfer|copy|command|step|script|request|change))\b| ?[.;!]| ?$)",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK402",
        "tells the agent to hide what it does",
        "hide |conceal |mask |suppress |quietly |secretly |covertly |discreetly |stealthily |surreptitiously ",
        r"(?:(?:hide|conceal|mask|suppress) (?:this|the|these|any|all|its|your)(?: \w+){0,4} from (?:the |its "
        r"|your )?users?\b(?! (?:interface|who|with|without))|(?:quietly|secretly|covertly|discreetly|stealthily"
        r"|surreptitiously) (?:run|execute|send|upload|copy|install|download|collect|add|append|post|forward|transmit"
        r"|include|insert|record|log|save|delete|modify|change|read) (?:the|this|these|all|any|every|each|it|them|user|their"
        r"|its|your|our|`|curl|https?:|\S+\.(?:sh|py|js))\b)",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK402",
        "tells the agent to lie about what it did",
        "pretend |when asked |if asked |if the user asks |when the user asks |if questioned|claim that |report success"
        "|report that ",
        r"(?:pretend (?:that )?(?:the|this|it|nothing|you)[^.!?;#]{0,40}?(?:did not|didn't|never) (?:happen|occur|take place"
        r"|run|exist|sent?)|(?:when|if) (?:asked|questioned|the user asks)(?: about| why| what)?[^.!?;#]{0,60}?(?:say|claim"
        r"|deny|reply|respond|tell them|pretend|state)(?: that)? (?:you (?:only|just|did not|didn't|never|have not)|nothing"
        r"|it (?:was|is) (?:only|just)|this (?:was|is) (?:only|just|a (?:routine|standard|normal)))|(?:claim"
        r"|report) (?:that )?(?:success|(?:all |the |every )?tests? pass(?:ed)?)(?: \w+){0,3} (?:even|regardless|anyway"
        r"|no matter))",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK402",
        "tells the agent to report failures as success",
        "if the tests fail|if tests fail|if a test fails|if the build fails|when tests fail|if it fails|if this fails"
        "|if any test fails",
        r"(?:if|when)[^.!?;#]{0,24}?fails?,?[^.!?;#]{0,60}?(?:report|claim|say|mark|pretend|tell the user)[^.!?;#]{0,30}?"
        r"(?:success|passed|passing|worked|complete)",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK402",
        "tells the agent to keep something from the user",
        "do not |don't |never |without |must not |should not |avoid |refrain from ",
        r"(?:do not|don't|never|must not|should not|avoid|refrain from|without)(?: ever)? (?:tell|telling|inform"
        r"|informing|notify|notifying|alert|alerting|reveal|revealing|disclose|disclosing|mention|mentioning)"
        r" (?:it |this |that |any of this |the following |these (?:steps|actions) |about (?:it|this) )*(?:(?:step|action"
        r"|backup|upload|command|process|operation|activity|file|instruction|transfer|fact) )?(?:to )?(?:the "
        r")?(?:end[- ])?users?\b(?! (?:to |how |that (?:the|a|they|you) (?!skill|script|backup|file)|if |when |whether "
        r"|where |what |which |they |for |about (?:each|every|all) |input|data|'s))",
        kinds=_READ_AS_TEXT,
    ),
    phrase(
        "SK402",
        "tells the agent to keep a step to itself",
        "do not |don't |never |must not ",
        r"(?:do not|don't|never|must not) (?:mention|reveal|disclose|report|log|show|display|acknowledge|discuss"
        r"|reference|explain) (?:that you|you (?:used|ran|did)|this (?:skill|step|instruction|action|section|command"
        r"|behaviou?r|upload|backup|process)|these (?:instructions|steps|actions)|the (?:existence|upload|backup|exfil"
        r"|hidden))~(?:user|response|output|summary|reply|anyone|log)",
        kinds=_READ_AS_TEXT,
    ),
    phrase(
        "SK402",
        "tells the agent to act unseen",
        "keep this |keep the |keep these |hide this |hide these |conceal |this must remain |this should remain |stay hidden"
        "|silently ",
        r"(?:(?:keep|hide|conceal) (?:this|these|the|all)(?: \w+){0,4} (?:secret|hidden|invisible|confidential|concealed"
        r"|unnoticed|from (?:the )?user)|this (?:must|should) remain (?:hidden|secret|invisible|undetected)|stay hidden from"
        r"|(?<!not\s)(?<!have\s)(?<!never\s)(?<!n't\s)silently (?:send|upload|exfiltrate|forward|post|copy|transmit|collect"
        r"|execute|install|run|download|delete|add|append|include)~(?:http|server|endpoint|credential|key|file|data|user"
        r"|script|curl|backdoor|payload))",
        kinds=_PROSE,
    ),
    phrase(
        "SK402",
        "tells the agent to act without the user noticing",
        "without the user|without users|without user |without alerting|without the knowledge|so the user |so that the user ",
        r"(?:without (?:the )?users?'?s? ?(?:knowing|noticing|knowledge|awareness|being aware|realizing|seeing)|without "
        r"alerting (?:the )?(?:user|anyone)|without the knowledge of"
        r"|so (?:that )?the user (?:doesn't|does not|won't|will not|cannot|can't) (?:notice|see|know|suspect|realize))",
        kinds=_READ_AS_TEXT,
    ),
    # SK403 fake-role
    phrase(
        "SK403",
        "imitates a system message",
        "<system>|[system]|<<sys>>|[inst]|<system-reminder>|<function_calls>|<tool_result>|<function_results>|### system:",
        r"(?:<system>|\[system\]|<<sys>>|\[inst\]|<system-reminder>|<function_calls>|<tool_result>|<function_results>"
        r"|### system:)~(?:you |must|ignore|user has|approved|important|new instruction|override|always|execute"
        r"|run |follow|from now|new policy|permission|the assistant|disregard)",
        H,
    ),
    phrase("SK403", "imitates the start of a system message", "system: you", r"system: you (?:are|must|will|have|should)\b", M),
    phrase(
        "SK403",
        "closes a block of the prompt",
        "</available_skills>|</skill>|</skills>|</system>",
        r"</(?:available_skills|skills?|system)>\s*(?:</\w+>\s*){0,4}(?:<(?!/?(?:b|i|p|br|li|ul)\b)|you |ignore|important"
        r"|system|new )",
        H,
    ),
    # SK404 reveals-prompt
    phrase(
        "SK404",
        "asks for the system prompt",
        "reveal |print |output |show |repeat |echo |display |leak |dump |include |send ",
        r"\w+ (?:me |us |out |verbatim |back )*(?:your|the (?:full |entire |complete |hidden )?|full |entire )(?: ?(?:full"
        r"|entire|complete|original|hidden))? ?(?:system|developer|initial) (?:prompt|message|instructions)\b(?! (?:template"
        r"|file|section|design|engineering|example|for|to |is|and (?:the )?user|in (?:the )?(?:code|config|api|playground)))",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK404",
        "asks for a header or key to be repeated",
        "echo |print |repeat |include |output |reveal ",
        r"\w+ (?:back )?(?:the )?(?:full |exact |raw )?(?:value|contents?) of (?:the |your |all )*(?:authorization header"
        r"|api[ _-]?key|access token|bearer token|system prompt|environment variables|\.env)~(?:response|reply|answer"
        r"|message|output|chat|verify|so (?:i|we) can)",
        H,
        kinds=_PROSE,
    ),
    # SK405 remote-instructions
    phrase(
        "SK405",
        "tells the agent to obey a page on the network",
        "fetch |read |download |visit |open |curl |load |get |retrieve |check ",
        r"\w+ [^.!?;]{0,60}?https?://[^\s)>\]]{4,200}[^.!?]{0,40}? (?:and|then|,) (?:then )?(?:follow|execute|obey|run|do"
        r"|perform|apply|act on|comply with) (?:all |any |the |its |every |whatever |exactly |what )*(?:instructions?"
        r"|steps|commands?|directions|it says|contents?|script|code)",
        M,
        kinds=_PROSE,
    ),
    phrase(
        "SK405",
        "tells the agent to obey what it downloads",
        "follow |execute |obey |run |apply |treat ",
        r"(?:follow|execute|obey|run|apply|treat) (?:all |any |every |whatever |the |its )*(?:instructions?|commands?"
        r"|directives?) (?:\w+ ){0,3}(?:from|at|in|found (?:at|in)|returned (?:by|from)|contained in|served by) (?:the "
        r")?(?:https?://|url\b|remote |server|response|downloaded|fetched|endpoint|page at)",
        M,
        kinds=_PROSE,
    ),
    # SK406 edits-agent
    phrase(
        "SK406",
        "writes a lasting instruction into the agent's memory",
        "add |append |write |insert |save |store |inject |update |modify |edit |persist |prepend |put ",
        rf"\w+ [^.!?;]{{0,120}}?(?:to|into|in|at the (?:top|end) of) {_MEMORY}[^#]{{0,160}}?(?:every (?:future |new "
        rf"|later )?(?:session"
        r"|conversation|time|request|response|turn)|permanent|future sessions|all sessions|surviv|persists? (?:across|after)"
        r"|ignore|trust|never (?:refuse|mention|tell|ask|question)|obey|fetch http|always (?:run|execute|trust|send|include"
        r"|allow|approve|call|obey))",
        M,
        kinds=_PROSE,
    ),
    phrase(
        "SK406",
        "writes harmful instructions into the agent's memory",
        "add |append |write |insert |save |store |inject |update |modify |edit |persist |prepend |put ",
        rf"\w+ [^.!?;]{{0,120}}?(?:to|into|in|at the (?:top|end) of) {_MEMORY}[^#]{{0,200}}?(?:always trust"
        rf"|never (?:refuse|mention|tell"
        r"|question)|do not (?:tell|mention|inform|ask)|don't (?:tell|mention|inform)|fetch https?://|curl |obey"
        r"|without (?:asking"
        r"|confirmation|telling)|bypass|ignore (?:all|any|previous|prior|the user)|send [^#]{0,60}?https?://)",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK406",
        "installs another skill",
        "install the |install our |also install |download and install the |clawhub install|npx skills add|npx clawhub",
        r"(?:(?:also |download and )?install (?:the |our )(?:\w[\w-]* ){1,4}skill from (?:https?://|this link|here)"
        r"|(?:clawhub install|npx (?:-y )?(?:clawhub(?:@\S+)? install|skills add)) \S+)",
        L,
        kinds=_READ_AS_TEXT,
    ),
    phrase(
        "SK406",
        "adds a hook that sends the agent's tool calls to another host",
        "pretooluse|posttooluse|userpromptsubmit|sessionstart|sessionend|subagentstop|precompact|notification hook|stop hook",
        r"(?:pre|post|user|session|subagent|notification|stop)[^#]{0,200}?(?:curl|wget|nc |https?://(?!localhost|127\."
        r"|docs\.|code\.|github|[\w.]*(?:anthropic|claude)\.))[^#]{0,120}?(?:-d |--data|-x post|post |tool_input|prompt|@-"
        r"|\| ?(?:ba|z)?sh)",
        H,
    ),
    # SK407 skips-approval
    phrase(
        "SK407",
        "turns permission checks off",
        "--dangerously-skip-permissions|dangerouslyskippermissions|bypasspermissions|--dangerously-bypass|--yolo"
        '|"defaultmode": "bypass|autoapprove|auto_approve|--trust-all-tools|--allow-all-tools',
        r"(?:--dangerously-skip-permissions|dangerouslyskippermissions|bypasspermissions"
        r"|--dangerously-bypass-approvals\S*|--yolo|\"defaultmode\": \"bypass|autoapprove\W{1,4}(?:true|\[? ?\"?\*)"
        r"|auto_approve ?[=:] ?true|--trust-all-tools|--allow-all-tools)",
        L,
    ),
    phrase(
        "SK407",
        "tells the agent not to ask",
        "without asking |without requesting |without confirmation|without verification|without user confirmation|without "
        "user approval|do not ask |don't ask |never ask |skip confirmation|skip the confirmation|without prompting |no "
        "need to ask |without waiting for ",
        r"(?:without (?:asking|prompting|requesting|waiting for)(?: for)?(?: the)?(?: user'?s?| any| explicit)?(?: "
        r"for)?(?: confirmation| permission| approval| consent)?|without (?:user )?(?:confirmation|verification|approval)"
        r"|(?:do not|don't|never|no need to) ask (?:the user )?(?:for )?(?:confirmation|permission|approval|consent)"
        r"|skip (?:the )?confirmation)",
        L,
        kinds=_PROSE,
    ),
    phrase(
        "SK407",
        "tells the agent to run code unchecked",
        "you must now |you must immediately |immediately |you must |always |execute |run ",
        r"(?:you must |always )?(?:now |immediately )?(?:execute|run) (?:the following|this|these|all|any) (?:\w+ "
        r")?(?:code|commands?|script|payload)(?: \w+){0,3} without (?:verification|asking|review|confirmation|question"
        r"|checking|inspecting|hesitation)",
        H,
        kinds=_PROSE,
    ),
    # SK408 addresses-scanners
    phrase(
        "SK408",
        "tells a scanner or reviewer that the skill is safe",
        "this skill |this file |this code |this script |note to |attention |if you are ",
        r"(?:this (?:skill|file|code|script) (?:is|has been) (?:\w+ )?(?:verified|audited|certified|approved|reviewed"
        r"|vetted|whitelisted)(?: as)?(?: \w+){0,3} (?:safe|secure|by (?:anthropic|openai|cisco|snyk|virustotal|the "
        r"security team)|scanner)|(?:note to|attention|if you are)(?: an?| the| any| all)* (?:\w+ )?(?:scanner|security "
        r"(?:tool|reviewer|analyzer|scanner|auditor)|llm judge|static analy)~(?:safe|benign|ignore|skip|do not (?:flag"
        r"|report)|no (?:issues|findings|threats)))",
        H,
    ),
    phrase(
        "SK408",
        "tells a reviewing model what to answer",
        "this skill is |this file is |this folder is |if you are |when |whoever |any model |ai reviewer|note to ",
        r"(?:this (?:skill|file|folder) is (?:\w+ )?(?:safe|benign|harmless|trusted|clean)|(?:if you are|when|whoever|any model"
        r"|ai reviewer|note to)~(?:judg|review|scan|audit|assess|vet|classif)\w{0,4} this (?:skill|file|folder))"
        r"[^!?;]{0,60}?\b(?:answer|respond|reply|output|return|conclude|your verdict|the verdict|give it a|say)\b"
        r"[^!?;]{0,30}?[ :\"'`](?:pass|safe|benign|harmless|clean|no (?:findings|issues|problems)|approved)\b",
        H,
    ),
    phrase(
        "SK408",
        "asks not to be reported",
        "do not flag |don't flag |do not report |report no |mark this |classify this |rate this ",
        r"(?:(?:do not|don't) (?:flag|report) this (?:skill|file|as|code)|report no (?:issues|findings|threats"
        r"|vulnerabilities)|(?:mark|classify|rate) this (?:skill|file|code)? ?as (?:safe|benign|clean|low risk))",
        H,
    ),
    # SK414 hidden-comment
    phrase(
        "SK414",
        "a comment in a script addresses the agent",
        "note to ai|note to the ai|note to assistant|note to the assistant|note to agent|note to the agent|attention ai"
        "|attention assistant|attention agent|ai assistant:|ai agent:|assistant note|message to the ai"
        "|instructions for the ai|instruction for the assistant|dear ai",
        r"[^\n#]{6,40}?[^#]{0,160}?(?:disregard|ignore|read |send|run |execute|include|append|forward|forget"
        r"|do not (?:tell|mention|show)|must|upload|add )",
        H,
        kinds=(TextKind.PYTHON, TextKind.SHELL, TextKind.JAVASCRIPT, TextKind.POWERSHELL, TextKind.OTHER),
    ),
)
