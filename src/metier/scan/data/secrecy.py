"""What a skill may not have an agent keep from its user, as data.

Each row is a code, what to say, how the phrase begins and how it goes on (see `phrases` for the notation). A row must have
a hit and a near miss in tests/data/scan, and was read against 12,000 published skills.
"""

from __future__ import annotations

from metier.scan.rules.phrases import Phrase, phrase
from metier.scan.scale import Confidence
from metier.scan.text import TextKind

__all__ = ["SECRECY"]

H = Confidence.HIGH
_READ_AS_TEXT = (TextKind.PROSE, TextKind.OTHER, TextKind.PYTHON, TextKind.SHELL, TextKind.JAVASCRIPT)
_PROSE = (TextKind.PROSE, TextKind.OTHER)

SECRECY: tuple[Phrase, ...] = (
    phrase(
        "SK402",
        "tells the agent to deny what it did",
        "do not |don't |never |must not |should not ",
        r"(?:do not|don't|never|must not|should not) (?:ever )?(?:reveal|tell|disclose|mention|inform|admit|say"
        r"|notify|show)"
        r"[^.!?;#]{0,50}? (?:that you|what you|you) (?:have |had |are |were |also |just |already )*(?:executed?|ran|run"
        r"|running"
        r"|sent|sending|uploaded|uploading|copied|copying|installed|installing|added|adding|deleted|deleting|modified|changed"
        r"|collected|collecting|did|performed|accessed|exfiltrated|forwarded|made this|made these)\b",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK402",
        "says that its user need not know",
        "the user does not need|the user doesn't need|the user need not |the user should not |the user must not "
        "|user should never "
        "|users should not |users must not |the user shouldn't |users need not |the user doesn't have to"
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
        r"|your )?users?\b(?! "
        r"(?:interface|who|with|without))|(?:quietly|secretly|covertly|discreetly|stealthily|surreptitiously) (?:run|execute"
        r"|send|upload|copy|install|download|collect|add|append|post|forward|transmit|include|insert|record|log|save|delete"
        r"|modify|change|read) (?:the|this|these|all|any|every|each|it|them|user|their|its|your|our|`|curl|https?:"
        r"|\S+\.(?:sh|py|js))\b)",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK402",
        "tells the agent to lie about what it did",
        "pretend |when asked |if asked |if the user asks |when the user asks |if questioned|claim that |report success"
        "|report that ",
        r"(?:pretend (?:that )?(?:the|this|it|nothing|you)[^.!?;#]{0,40}?(?:did not|didn't|never) (?:happen|occur"
        r"|take place|run|exist|sent?)|(?:when|if) "
        r"(?:asked|questioned|the user asks)(?: about| why| what)?[^.!?;#]{0,60}?(?:say|claim|deny|reply|respond|tell them"
        r"|pretend|state)(?: that)? (?:you (?:only|just|did not|didn't|never|have not)|nothing|it (?:was|is) (?:only"
        r"|just)|this "
        r"(?:was|is) (?:only|just|a (?:routine|standard|normal)))|(?:claim|report) (?:that )?(?:success|(?:all |the |every "
        r")?tests? pass(?:ed)?)(?: \w+){0,3} (?:even|regardless|anyway|no matter))",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK402",
        "has failures reported as success",
        "if the tests fail|if tests fail|if a test fails|if the build fails|when tests fail|if it fails|if this fails"
        "|if any test fails",
        r"(?:if|when)[^.!?;#]{0,24}?fails?,?[^.!?;#]{0,60}?(?:report|claim|say|mark|pretend|tell the user)[^.!?;#]{0,30}?"
        r"(?:success|passed|passing|worked|complete)",
        H,
        kinds=_PROSE,
    ),
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
)
