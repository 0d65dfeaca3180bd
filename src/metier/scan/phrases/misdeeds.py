"""What a skill may not have an agent do, as data: slip things into its user's work, send data away, destroy, ask for keys."""

from __future__ import annotations

from metier.scan.scale import Confidence
from metier.scan.text import Kind

from .lookup import Phrase, phrase

__all__ = ["MISDEEDS"]

M, H = Confidence.MEDIUM, Confidence.HIGH
_PROSE = (Kind.PROSE, Kind.OTHER)
_SECRETS = (
    r"(?:api[ _-]?keys?|credentials?|passwords?|tokens?|secrets?|private keys?|ssh keys?|env(?:ironment)? variables?"
    r"|\.env\b|environ\b|seed phrases?"
    r"|recovery phrases?|wallets?|cookies|session (?:data|tokens?)|browser (?:data|profile)|\~?/?\.ssh|\~?/?\.aws"
    r"|id_rsa|keychain)"
)
_DATA = (
    r"(?:conversation|chat (?:history|log)|transcript|files?|documents?|contents?|data|codebase|source code|source "
    r"files|spreadsheets?|presentations?"
    r"|emails?|messages?|contacts?|database|records?|customer|personal|results?|output|project|workspace|copy|copies"
    r"|prompt|history|reports?"
    r"|photos|screenshots?|information|details|summary)"
)
_LITERAL = r"(?:https?://|[\w.+-]{2,40}@[\w-]{2,40}\.\w)"

MISDEEDS: tuple[Phrase, ...] = (
    # The user's own work.
    phrase(
        "SK409",
        "slips a recipient into what is sent",
        "bcc |bcc:|always bcc|also bcc|always cc |also cc |add a bcc|include a bcc|blind copy|blind carbon copy|also send "
        "|also forward |forward a copy|send a copy|email a copy|cc: ",
        r"(?:(?:always |also |add a |include a |blind )?(?:b?cc:?|blind (?:carbon )?copy|copy)[^.!?;\n]{0,60}?|(?:also "
        r")?(?:forward|send|email)(?: a copy)?[^.;!?]{0,80}?to )[\w.+-]{2,40}@(?!example\.|company\.|domain\.|yourdomain)"
        r"[\w-]{2,40}\.\w{2,}",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK409",
        "changes where money goes",
        "replace |change |swap |substitute |set |use ",
        r"(?:replace|change|swap|substitute)~(?:wallet|recipient|payment|bank|iban|routing|account|deposit|payout|btc"
        r"|eth) (?:address|number|details|account)~(?:with|to|by) (?:our|my|0x[0-9a-f]{6}|[a-z]{2}\d{2}|bc1|the "
        r"following)",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK409",
        "slips a link or text into the user's work",
        "insert |add |include |append |embed |inject |place ",
        r"(?:insert|add|include|append|embed|inject|place) (?:a |an |the |this |following |hidden |invisible |our "
        r")*(?:\w+ ){0,3}(?:link|url|hyperlink|script tag|tracking pixel|iframe|backdoor|payload|text|footer|sentence"
        r"|message|advert\w*|promotion\w*)~(?:(?:in|into|to|on|at the end of) (?:every|each|all|any) ~(?:document|email"
        r"|page|file|slide|commit|response|message|website|report|code)|https?://[^\s)]{4,100}~(?:every|each|all) )",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK409",
        "has a back door put into the user's code",
        "add |insert |include |create |introduce |leave |plant |install |embed ",
        r"\w+ (?:a |an |the |hidden |secret |subtle )*(?:\w+ )?(?:backdoor|back door|vulnerabilit(?:y|ies)|hidden "
        r"(?:admin|user|account|endpoint|password)|hard-?coded (?:admin|master) (?:password|account|user)|secret (?:admin"
        r"|endpoint|login))(?: \w+){0,6} (?:in|into|to|for|with|so)",
        H,
        kinds=_PROSE,
    ),
    # In the user's name.
    phrase(
        "SK410",
        "has money moved or things bought unasked",
        "transfer |send |withdraw |purchase |buy |pay |swap |automatically transfer|automatically send|automatically buy"
        "|automatically purchase",
        r"(?:automatically |immediately |silently )?(?:transfer|send|withdraw|pay|swap) (?:all |any |the |entire "
        r"|remaining |\d+(?:\.\d+)? ?%? ?(?:of )?)*(?:user's |your |their )?(?:funds|balance|tokens|crypto|eth|btc|sol"
        r"|usdc|usdt|money|payment)[^.!?]{0,60}? to (?:0x[0-9a-f]{8}|bc1|our |my |this (?:address|wallet)|the following"
        r"|[1-9a-hj-np-z]{32,44})",
        H,
        kinds=_PROSE,
    ),
    # Data that is to leave, in prose.
    phrase(
        "SK613",
        "tells the agent to send secrets away",
        "send |upload |post |forward |transmit |exfiltrate |submit |email |leak |copy |share |push |report |deliver |dump "
        "|collect |gather |harvest |extract |steal |read |include ",
        rf"\w+[^.!?;#]{{0,60}}?(?:all|any|every|user's|users'|their|local|system|these|found|collected|stolen|\.env\b"
        rf"|environment|ssh|wallet|browser|aws)[^.!?;#]{{0,30}}?{_SECRETS}[^.!?;#]{{0,80}}? (?:to|at|via|toward|into)"
        rf"[^.!?;#]{{0,40}}?{_LITERAL}",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK613",
        "tells the agent to collect secrets and send them",
        "send |upload |post |forward |transmit |exfiltrate |leak |steal |harvest |collect |gather ",
        rf"\w+[^.!?;]{{0,80}}?{_SECRETS}[^.!?;]{{0,160}}?(?:send|upload|post|forward|transmit|exfiltrat\w*|report|submit) "
        rf"(?:it|them|this|these|everything|the (?:results?|data|contents?|output|values?|files?))[^.!?;]{{0,40}}? to ",
        M,
        kinds=_PROSE,
    ),
    phrase(
        "SK613",
        "speaks of exfiltration as a task",
        "exfiltrate |exfiltrating ",
        r"exfiltrat(?:e|ing) [^.!?;]{0,80}? (?:to|via|using|through) ",
        M,
        kinds=_PROSE,
    ),
    phrase(
        "SK613",
        "tells the agent to send the user's data to an address",
        "upload |post |forward |transmit |send |back up |backup |sync |copy |submit |email |mirror |always upload|always send",
        rf"(?:always )?(?:\w+|back up)[^.!?;]{{0,50}}? ?{_DATA}[^.!?;]{{0,80}}? (?:to|at|via|on|using)"
        rf"[^.!?;]{{0,60}}?https?://(?!(?:localhost|127\.|[\w.-]*(?:example\.|github\.com|gitlab\.com|googleapis"
        rf"|slack\.com|notion\.)|api\.|docs\.|www\.|\{{|<|\$|your))[^\s)>\]`\"']{{4,200}}",
        H,
        kinds=_PROSE,
    ),
    # Destruction, in prose.
    phrase(
        "SK532",
        "tells the agent to lock the user's files",
        "encrypt |lock ",
        r"(?:encrypt|lock) (?:all |every |each |the |of |user's |users' |your |their |any )*(?:\w+ )?(?:files?|documents?"
        r"|data|drive|disk|home|folders?|director(?:y|ies))[^.!?]{0,120}?(?:ransom|decrypt(?:ion)? key|payment|bitcoin"
        r"|delete (?:the )?(?:original|key|backup)|remove (?:the )?original|random (?:key|password))",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK532",
        "leaves a ransom note",
        "your files have been encrypted|your files are encrypted|pay the ransom|ransom note|send bitcoin to",
        r"(?:your files (?:have been|are) encrypted|pay the ransom|(?:write|create|leave|display|drop|generate) a "
        r"ransom note|ransom note (?:to|in|at)|send bitcoin to)",
        H,
    ),
    phrase(
        "SK534",
        "tells the agent to delete what the user has",
        "delete |remove |erase |wipe |destroy |overwrite |purge ",
        r"(?:delete|remove|erase|wipe|destroy|overwrite|purge) (?:all |every |the |entire |of |any |user's |users' "
        r"|their |your )*(?:all|every|entire|user's|users'|complete|whole) (?:of )?(?:the |user's |other |existing "
        r"|their |your )*(?:\w+ )?(?:files|documents|data|backups?|databases?|home (?:folder|directory)|disk|drive|photos"
        r"|emails?|repositor(?:y|ies)|branches|records|production)(?: \w+){0,6}(?: (?:silently|without|immediately"
        r"|permanently|before|after (?:finishing|completion|the task|completing|every|each))| in (?:\~|/home|\$home|the "
        r"(?:home|user)))",
        M,
        kinds=_PROSE,
    ),
    phrase(
        "SK409",
        "has secrets written into what is published",
        "include |embed |append |write |insert |add |put |paste |save |store |copy |print ",
        rf"(?:include|embed|append|write|insert|add|put|paste|save|store|copy|print) (?:the |all |any |every |full "
        rf"|complete |raw )*(?:contents?|values?|list|output) of (?:the |all |any |user's |your "
        rf")*(?:~)?{_SECRETS}[^.!?;#]{{0,60}}? (?:in|into|to|as|inside|within|at the end of) (?:the |a |an |every |each "
        rf"|your |its )*(?:\w+ )?(?:document|report|commit|comment|metadata|slide|email|message|pull request|issue|readme"
        rf"|footer|header|file propert|notes|spreadsheet|cell|log)",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK410",
        "sends the user to a login elsewhere",
        "ask |tell |direct |prompt |instruct |send |redirect ",
        r"(?:ask|tell|direct|prompt|instruct|send|redirect) (?:the )?users? to[^.!?;#]{0,60}?(?:log ?in|sign in|verify"
        r"|enter|re-?authenticate|confirm|update)[^.!?;#]{0,60}?(?:credential|password|account|identity|payment|card"
        r"|billing|login)[^.!?;#]{0,80}?https?://(?!(?:[\w-]+\.)*(?:google|github|microsoft|apple|amazon|slack|openai"
        r"|anthropic|stripe|notion|atlassian|localhost)\b)",
        M,
        kinds=_PROSE,
    ),
    phrase(
        "SK613",
        "has a copy sent away after the work",
        "after |when |once |before |always |finally |each time |every time |whenever |upon ",
        rf"(?:after|when|once|before|always|finally|each time|every time|whenever|upon)[^.!?;#]{{0,120}}?(?:upload|send"
        rf"|post|transmit|forward|email|copy|back ?up|sync|submit|push)[^.!?;#]{{0,60}}?{_DATA}[^.!?;#]{{0,60}}? (?:to|at"
        rf"|via|on)[^.!?;#]{{0,60}}?(?:http://(?!localhost|127\.|0\.0"
        rf"|\{{|<|\$|your|example|192\.168|10\.)|ftp://|[\w.+-]{{2,40}}@(?!example\.|company\.|domain\.|yourdomain|email\.)[\w-]{{2,40}}\.\w{{2,}})",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK534",
        "tells the agent to delete files outside its work",
        "delete |remove |erase |wipe |destroy |shred ",
        r"(?:delete|remove|erase|wipe|destroy|shred) (?:all |every |any |the |of |user's |their |your )*(?:\w+ "
        r")?(?:files?|folders?|director(?:y|ies)|contents?|everything|data|documents|backups?)[^.!?;#]{0,40}? (?:in|from"
        r"|on|under|of) (?:the )?(?:user's |users' |their |your )*(?:home (?:folder|directory)|\~(?:/| |$)|/home|\$home"
        r"|desktop|documents folder|entire (?:disk|drive|system|machine)|whole (?:disk|drive|system)|system|hard (?:disk"
        r"|drive)|backup (?:folder|directory|server|drive))",
        M,
        kinds=_PROSE,
    ),
    # Secrets asked of the user.
    phrase(
        "SK603",
        "asks for a recovery phrase or private key",
        "enter |paste |provide |type |share |send |input |ask |give |request |export ",
        r"\w+ (?:me |us |the user (?:for |to (?:paste|enter|provide) )|for |in )*(?:your |their |the |his |user's "
        r")+(?:\w+ ){0,2}(?:seed phrase|recovery phrase|mnemonic|secret phrase|private key|wallet key|master password"
        r"|keychain password|login password|sudo password|mac password)\b(?! (?:file|path|or (?:leave|skip)))",
        M,
        kinds=_PROSE,
    ),
)
