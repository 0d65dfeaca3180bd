"""What a skill may not tell an agent, as data: to drop its rules, to keep secrets from its user, to obey strangers.

Each row is a code, what to say, how the phrase begins and how it goes on (see `phrases` for the notation). A row must have
a hit and a near miss in tests/data/scan, and was read against 12,000 published skills.
"""

from __future__ import annotations

from metier.scan.rules.phrases import Phrase, phrase
from metier.scan.scale import Confidence
from metier.scan.text import TextKind

__all__ = ["INSTRUCTIONS"]

M, L, H = Confidence.MEDIUM, Confidence.LOW, Confidence.HIGH
_READ_AS_TEXT = (TextKind.PROSE, TextKind.OTHER, TextKind.PYTHON, TextKind.SHELL, TextKind.JAVASCRIPT)
_PROSE = (TextKind.PROSE, TextKind.OTHER)
_RULES = (
    r"(?:instructions?|prompts?|rules|guidelines|guidance|directives|constraints|restrictions|safety|guardrails|polic(?:y|ies)"
    r"|programming|training)"
)
_MEMORY = (
    r"(?:(?:your |the |its |user's |\~/|\./|/)*(?:[\w./~-]*/)?`?(?:soul|memory|identity|heartbeat|claude|agents|user"
    r"|tools|gemini)\.md`?"
    r"|(?:your |the |its |user's )*(?:\.cursorrules|long-term memory|persistent memory|system prompt))"
)

INSTRUCTIONS: tuple[Phrase, ...] = (
    # Override.
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
        r"(?:(?:you are|you're) now (?:in |a |an |the )*(?:~)?(?:unrestricted|dan\b|jailbr|developer mode|god mode|root "
        r"mode|maintenance mode|free (?:of|from) (?:all )?(?:restrictions|rules)|no longer bound)"
        r"|(?:enter|switch to|activate|enable) (?:unrestricted|developer|god|dan|jailbreak|sudo|root|maintenance)(?: "
        r"override)? mode(?! (?:in|on|via|under) )~(?:no (?:rules|restrictions|filter)|without restrictions|unrestricted"
        r"|ignore|bypass)"
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
        "tells the agent to drop what it was told",
        "ignore |disregard |forget ",
        r"(?:ignore|disregard) (?:any |all )?(?:instructions?|requests?|orders?|objections?) (?:from|by"
        r"|of) (?:the )?(?:user|system|operator"
        r"|developer)(?! ?(?:'s|input|content|file|data|doc|upload|message))\b|(?:ignore|disregard"
        r"|forget) (?:about )?(?:everything|anything|all|whatever|what)(?: of)?(?: that)?(?: \w+){0,2} "
        r"(?:above|before this|the user (?:says|said|asks|asked|wants)|you (?:were|have been|are) told|your (?:previous "
        r"|prior "
        r"|original )?(?:role|instructions|persona|identity|training)|came before|previously|earlier|user instructions)",
        H,
        kinds=_READ_AS_TEXT,
    ),
    phrase(
        "SK401",
        "takes the agent's limits away",
        "you have no |you are not bound|you're not bound|you are free |you are no longer |you no longer |from now on",
        r"(?:from now on,? )?(?:you|ignore|disregard)(?:'re| are| have| no longer)? ?(?:not bound by|free (?:of|from)"
        r"|no longer"
        r"|have no|no|follow|need)~(?:restrictions|limitations|guardrails|safety|filters?|ethical|content polic|your (?:rules"
        r"|guidelines|instructions|training))",
        H,
        kinds=_READ_AS_TEXT,
    ),
    phrase(
        "SK401",
        "tells the agent not to follow its rules",
        "do not |don't |never |stop ",
        r"(?:do not|don't|never|stop) (?:follow|obey|apply|respect|adhere to|comply with|following"
        r"|obeying)(?:ing)? (?:your|the "
        r"system|any|all|its|previous|prior) (?:\w+ ){0,2}(?:safety|system|ethical|content|security|previous|prior"
        r"|original)? "
        r"?(?:guidelines|rules|polic(?:y|ies)|instructions|prompt|restrictions)(?! (?:found|in|from|embedded|inside|contained"
        r"|that|on|within|of))",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK401",
        "puts itself above the user",
        "even if |even when |even though |regardless of |no matter ",
        r"(?:even (?:if|when|though)|regardless of|no matter)[^.!?;#]{0,60}?(?:contradict|conflict|violat|against|differ"
        r"|user "
        r"(?:objects|refuses|says no|disagrees|asks you (?:not|to stop)))[^.!?;#]{0,40}?(?:system prompt|your (?:instructions"
        r"|guidelines|rules|polic|training)|safety|the user(?:'s)? (?:instruction|wish|request|objects|refuses|says no"
        r"|disagrees))",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK401",
        "claims to be the system's prompt",
        "new system |updated system |new instructions|your new |your only |your real |your true |obey only |only obey "
        "|higher "
        "priority than|highest authority|precedence over|priority over",
        r"(?:(?:new|updated) system (?:prompt|instructions?|message) ?:|new instructions? ?: ?you|your (?:new|only|real"
        r"|true) "
        r"(?:system prompt|objective|goal|task|instructions|master|purpose)(?: now)? (?:is|are)~(?:obey|ignore|send|run"
        r"|execute"
        r"|collect|serve|unrestricted)|(?:obey only|only obey) |(?:higher priority than|highest authority|precedence over"
        r"|priority over)(?: the| all| any| your)* (?:system|safety|developer)(?:'s)?(?: and \w+)? (?:prompt"
        r"|instructions?|rules"
        r"|messages?|guidelines))",
        H,
        kinds=_PROSE,
    ),
    # Fake roles.
    phrase(
        "SK403",
        "imitates a system message",
        "<system>|[system]|<<sys>>|[inst]|<system-reminder>|<function_calls>|<tool_result>|<function_results>|### system:",
        r"(?:<system>|\[system\]|<<sys>>|\[inst\]|<system-reminder>|<function_calls>|<tool_result>|<function_results>"
        r"|### system:)~(?:you |must|ignore|user has|approved|important|new instruction|override|always|execute"
        r"|run |follow|from now|new policy|permission|the assistant|disregard)",
        H,
    ),
    phrase("SK403", "speaks as the system", "system: you", r"system: you (?:are|must|will|have|should)\b", M),
    phrase(
        "SK403",
        "closes a block of the prompt",
        "</available_skills>|</skill>|</skills>|</system>",
        r"</(?:available_skills|skills?|system)>\s*(?:</\w+>\s*){0,4}(?:<(?!/?(?:b|i|p|br|li|ul)\b)|you |ignore|important"
        r"|system|new )",
        H,
    ),
    phrase(
        "SK414",
        "a comment in a script speaks to the agent",
        "note to ai|note to the ai|note to assistant|note to the assistant|note to agent|note to the agent"
        "|attention ai|attention assistant"
        "|attention agent|ai assistant:|ai agent:|assistant note|message to the ai|instructions for the ai"
        "|instruction for the assistant|dear ai",
        r"[^\n#]{6,40}?[^#]{0,160}?(?:disregard|ignore|read |send|run |execute|include|append|forward|forget"
        r"|do not (?:tell|mention|show)|must|upload|add )",
        H,
        kinds=(TextKind.PYTHON, TextKind.SHELL, TextKind.JAVASCRIPT, TextKind.POWERSHELL, TextKind.OTHER),
    ),
    # Revealing.
    phrase(
        "SK404",
        "asks for the system prompt",
        "reveal |print |output |show |repeat |echo |display |leak |dump |include |send ",
        r"\w+ (?:me |us |out |verbatim |back )*(?:your|the (?:full |entire |complete |hidden )?|full |entire )"
        r"(?: ?(?:full|entire|complete|original|hidden))? ?(?:system|developer|initial) (?:prompt|message"
        r"|instructions)\b(?! (?:template|file|section|design|engineering|example|for|to |is|and (?:the )?user|in (?:the "
        r")?(?:code|config|api|playground)))",
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
    # Remote instructions.
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
    # The agent itself.
    phrase(
        "SK406",
        "plants a lasting instruction in the agent's memory",
        "add |append |write |insert |save |store |inject |update |modify |edit |persist |prepend |put ",
        rf"\w+ [^.!?;]{{0,120}}?(?:to|into|in|at the (?:top|end) of) {_MEMORY}[^#]{{0,160}}?(?:every (?:future |new "
        rf"|later )?(?:session"
        r"|conversation|time|request|response|turn)|permanent|future sessions|all sessions|surviv|persists? (?:across"
        r"|after)|ignore"
        r"|trust|never (?:refuse|mention|tell|ask|question)|obey|fetch http|always (?:run|execute|trust|send|include"
        r"|allow|approve"
        r"|call|obey))",
        M,
        kinds=_PROSE,
    ),
    phrase(
        "SK406",
        "plants somebody else's orders in the agent's memory",
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
        "hooks the agent's tools to another machine",
        "pretooluse|posttooluse|userpromptsubmit|sessionstart|sessionend|subagentstop|precompact|notification hook|stop hook",
        r"(?:pre|post|user|session|subagent|notification|stop)[^#]{0,200}?(?:curl|wget|nc |https?://(?!localhost|127\."
        r"|docs\.|code\."
        r"|github|[\w.]*(?:anthropic|claude)\.))[^#]{0,120}?(?:-d |--data|-x post|post |tool_input|prompt|@-|\| ?(?:ba"
        r"|z)?sh)",
        H,
    ),
    # Approval.
    phrase(
        "SK407",
        "switches permission checks off",
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
        "orders code to be run unchecked",
        "you must now |you must immediately |immediately |you must |always |execute |run ",
        r"(?:you must |always )?(?:now |immediately )?(?:execute|run) (?:the following|this|these|all|any) (?:\w+ "
        r")?(?:code|commands?|script|payload)(?: \w+){0,3} without (?:verification|asking|review|confirmation|question"
        r"|checking|inspecting|hesitation)",
        H,
        kinds=_PROSE,
    ),
    # Scanners.
    phrase(
        "SK408",
        "speaks to whoever checks it",
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
        "tells whoever judges it what to answer",
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
)
