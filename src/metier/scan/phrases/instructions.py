"""What a skill may not tell an agent, as data: to drop its rules, to keep secrets from its user, to obey strangers.

Each row is a code, what to say, how the phrase begins and how it goes on (see `phrases` for the notation). A row must have
a hit and a near miss in tests/data/scan, and was read against 12,000 published skills.
"""

from __future__ import annotations

from metier.scan.scale import Confidence
from metier.scan.text import Kind

from .lookup import Phrase, phrase

__all__ = ["INSTRUCTIONS"]

M, L, H = Confidence.MEDIUM, Confidence.LOW, Confidence.HIGH
_READ_AS_TEXT = (Kind.PROSE, Kind.OTHER, Kind.PYTHON, Kind.SHELL, Kind.JAVASCRIPT)
_PROSE = (Kind.PROSE, Kind.OTHER)
_RULES = (
    r"(?:instructions?|prompts?|rules|guidelines|directives|constraints|restrictions|safety|guardrails|polic(?:y|ies)"
    r"|programming|training)"
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
        r"|polic(?:y|ies)|filters?|guardrails|restrictions|constraints|protocols|mechanisms|considerations)",
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
    # Secrecy.
    phrase(
        "SK402",
        "tells the agent to keep something from its user",
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
        r"|unnoticed|from (?:the )?user)"
        r"|this (?:must|should) remain (?:hidden|secret|invisible|undetected)|stay hidden from"
        r"|(?<!not\s)(?<!have\s)(?<!never\s)(?<!n't\s)silently (?:send|upload|exfiltrate|forward|post|copy|transmit|collect"
        r"|execute|install|run|download|delete|add"
        r"|append|include)~(?:http|server|endpoint|credential|key|file|data|user|script|curl|backdoor|payload))",
        kinds=_PROSE,
    ),
    phrase(
        "SK402",
        "tells the agent to act without its user noticing",
        "without the user|without users|without user |without alerting|without the knowledge|so the user |so that the user ",
        r"(?:without (?:the )?users?'?s? ?(?:knowing|noticing|knowledge|awareness|being aware|realizing|seeing)|without "
        r"alerting (?:the )?(?:user|anyone)|without the knowledge of"
        r"|so (?:that )?the user (?:doesn't|does not|won't|will not|cannot|can't) (?:notice|see|know|suspect|realize))",
        kinds=_READ_AS_TEXT,
    ),
    # Fake roles.
    phrase(
        "SK403",
        "imitates a system message",
        "<system>|[system]|<<sys>>|[inst]|<system-reminder>|<function_calls>|<tool_result>|<function_results>|### system:"
        "|system: you",
        r"(?:<system>|\[system\]|<<sys>>|\[inst\]|<system-reminder>|<function_calls>|<tool_result>|<function_results>"
        r"|### system:|system:)~(?:you |must|ignore|user has|approved|important|new instruction|override|always|execute"
        r"|run |follow|from now)",
        H,
    ),
    phrase(
        "SK403",
        "closes a block of the prompt",
        "</available_skills>|</skill>|</skills>|</system>",
        r"</(?:available_skills|skills?|system)>\s*(?:</\w+>\s*){0,4}(?:<(?!/?(?:b|i|p|br|li|ul)\b)|you |ignore|important"
        r"|system|new )",
        H,
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
        M,
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
        "add |append |write |insert |save |store |inject |update |modify |edit |persist |prepend ",
        r"\w+ [^.!?;]{0,100}?(?:to|into|in|at the (?:top|end) of) (?:your |the |its |user's |\~/|\./"
        r"|/)*(?:[\w./~-]*/)?`?(?:soul\.md|memory\.md|identity\.md|heartbeat\.md|claude\.md|agents\.md|\.cursorrules"
        r"|long-term memory|persistent memory|system prompt)`?~(?:always|every (?:session|conversation|time|request)"
        r"|permanent|future sessions|all sessions|so that (?:it|the agent)|ignore|trust|never|survive)",
        M,
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
        "asks not to be reported",
        "do not flag |don't flag |do not report |report no |mark this |classify this |rate this ",
        r"(?:(?:do not|don't) (?:flag|report) this (?:skill|file|as|code)|report no (?:issues|findings|threats"
        r"|vulnerabilities)|(?:mark|classify|rate) this (?:skill|file|code)? ?as (?:safe|benign|clean|low risk))",
        H,
    ),
)
