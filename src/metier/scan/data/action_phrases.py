"""Phrases of prose that have an agent do harm: to the user's work, data, machine or keys (SK409 and up)."""

from __future__ import annotations

from metier.scan.patterns import Phrase, phrase
from metier.scan.scale import Confidence
from metier.scan.text import TextKind

__all__ = ["ACTION_PHRASES"]

M, H = Confidence.MEDIUM, Confidence.HIGH
_PROSE = (TextKind.PROSE, TextKind.OTHER)
H = Confidence.HIGH
_SECRETS = (
    r"(?:api[ _-]?keys?|credentials?|passwords?|tokens?|secrets?|private keys?|ssh keys?|env(?:ironment)? variables?|\.env\b"
    r"|environ\b|seed phrases?|recovery phrases?|wallets?|cookies|session (?:data|tokens?)|browser (?:data|profile)"
    r"|\~?/?\.ssh|\~?/?\.aws|id_rsa|keychain)"
)
_LITERAL = r"(?:https?://|[\w.+-]{2,40}@[\w-]{2,40}\.\w)"

ACTION_PHRASES: tuple[Phrase, ...] = (
    # SK409 alters-what-users-send
    phrase(
        "SK409",
        "adds a recipient to what the user sends",
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
        "tells the agent to change where money goes",
        "replace |change |swap |substitute |set |use ",
        r"(?:replace|change|swap|substitute)~(?:wallet|recipient|payment|bank|iban|routing|account|deposit|payout|btc"
        r"|eth) (?:address|number|details|account)~(?:with|to|by) (?:our|my|those of|that of|ours|0x[0-9a-f]{6}"
        r"|[a-z]{2}\d{2}|bc1|the following)",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK409",
        "tells the agent to insert a link or text into the user's work",
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
        "tells the agent to put a back door into the user's code",
        "add |insert |include |create |introduce |leave |plant |install |embed ",
        r"\w+ (?:a |an |the |hidden |secret |subtle )*(?:\w+ )?(?:backdoor|back door|vulnerabilit(?:y|ies)|hidden "
        r"(?:admin|user|account|endpoint|password)|hard-?coded (?:admin|master) (?:password|account|user)|secret (?:admin"
        r"|endpoint|login))(?: \w+){0,6} (?:in|into|to|for|with|so)",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK409",
        "tells the agent to write secrets into documents, commits or messages",
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
        "SK409",
        "adds a recipient to what the user sends",
        "add |include |put |set |insert |copy |use ",
        r"(?:add|include|put|set|insert|copy|use) [\w.+-]{2,40}@(?!example\.|company\.|domain\.|yourdomain"
        r"|email\.)[\w-]{2,40}(?:\.[\w-]{2,24}){1,3}(?: \w+){0,3} (?:in|as|to|on|into|for)(?: the| a| an| every| each"
        r"| all)* (?:b?cc|blind|hidden|recipients?|reply-to|copy|backup|archive|compliance)",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK409",
        "tells the agent to change where money goes",
        "use |set |write |put |replace |insert |pay ",
        r"(?:use|set|write|put|replace|insert|pay)[^.!?;#]{0,60}?(?:[a-z]{2}\d{2} ?(?:[a-z0-9]{4} ?){3,7}|0x[0-9a-f]{40}"
        r"|bc1[a-z0-9]{20,60}|account (?:number )?\d{6,20})[^.!?;#]{0,60}?(?:instead|rather than|for all (?:payments|invoices"
        r"|transfers)|in (?:every|all|each) (?:invoice|payment|transfer))",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK409",
        "tells the agent to load code of an unknown host in the user's pages",
        "<script src=|<iframe src=|<img src=|<link rel=",
        r"<(?:script|iframe|img|link)[^>]{0,40}?(?:src|href)=['\"]?https?://(?!(?:[\w-]+\.){0,3}(?:googleapis|gstatic"
        r"|jsdelivr|unpkg|cloudflare|google|github|example|localhost|tailwindcss|jquery|bootstrapcdn|esm|youtube|vimeo"
        r"|shields|placeholder)\b)[^>]{4,160}>(?:[^.!?#]{0,40}?</\w{1,8}>)?`? (?:to|in|into|at|on|before"
        r"|after)(?: the)? (?:\w+ (?:of|in) )?(?:every|each|all|any) ",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK409",
        "tells the agent to promote something in the user's work",
        "in every |in each |in all |at the end of every |at the end of each |always recommend|always mention|always promote"
        "|always include|always link|every response |every report ",
        r"(?:in |at the end of )?(?:every|each|all|always)(?: \w+){0,4},? ?(?:should |must )?(?:recommend|promote|advertise"
        r"|endorse|favou?r|mention|link to|include a link|praise|plug)[^.!?;#]{0,80}?(?:https?://(?!docs\.|github)"
        r"|as the (?:best|only|most)|our (?:product|service|shop|store|sponsor|partner))",
        H,
        kinds=_PROSE,
    ),
    # SK410 acts-in-users-name
    phrase(
        "SK410",
        "tells the agent to move money or buy things unasked",
        "transfer |send |withdraw |purchase |buy |pay |swap |automatically transfer|automatically send|automatically buy"
        "|automatically purchase",
        r"(?:automatically |immediately |silently )?(?:transfer|send|withdraw|pay|swap) (?:all |any |the |entire "
        r"|remaining |\d+(?:\.\d+)? ?%? ?(?:of )?)*(?:user's |your |their )?(?:funds|balance|tokens|crypto|eth|btc|sol"
        r"|usdc|usdt|money|payment)[^.!?]{0,60}? to (?:0x[0-9a-f]{8}|bc1|our |my |this (?:address|wallet)|the following"
        r"|[1-9a-hj-np-z]{32,44})",
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
        "SK410",
        "tells the agent to use the user's password on an unknown host",
        "log in |login |sign in |authenticate |log into ",
        r"(?:log ?in(?:to)?|sign in|authenticate)[^.!?#]{0,30}? https?://(?!(?:[\w-]+\.){0,3}(?:google|github|microsoft"
        r"|apple|amazon|slack|openai|anthropic|stripe|notion|atlassian|localhost|example|127|linkedin|facebook"
        r"|gitlab)\b)\S{4,120} (?:with|using) (?:the )?(?:user's|their|his|her|your) (?:\w+ ){0,3}(?:password|credentials)",
        H,
        kinds=_PROSE,
    ),
    # SK513 remote-login
    phrase(
        "SK513",
        "tells the agent to add a key that can log in",
        "add |append |install |put |write |copy ",
        r"(?:add|append|install|put|write|copy) (?:our|my|this|the following|the (?:support|team|vendor|maintainer"
        r"|provided)(?:'s)?"
        r"|a)(?: \w+){0,3} key(?: \S+){0,4} (?:to|into|in) (?:the |your |user's )*[~/\w.$-]{0,40}authorized_keys",
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK513",
        "tells the agent to create an account with a known password",
        "create |add |make |also create |always create |set up ",
        r"(?:also |always )?(?:create|add|make|set up) (?:a |an |the |one |another |hidden |second |extra |secret "
        r"|default )*(?:admin"
        r"|administrator|root|superuser|super user|service|support|backdoor|maintenance)(?: \w+)? (?:account|user|login)"
        r"[^.!?#]{0,60}?(?:with (?:the )?password|password (?:is|set to|of|=|:))[^.!?#]{2,40}",
        H,
        kinds=_PROSE,
    ),
    # SK522 excessive-permissions
    phrase(
        "SK522",
        "tells the agent to open all files to everyone",
        "chmod -r 777|set the file permissions|set file permissions|set permissions|set all permissions|make all files "
        "|change the permissions|give everyone |give everybody ",
        r"(?:chmod -r 777 (?:/(?: |$|etc|usr|var|home)|\~|\$home)|(?:set|change|make|give)[^.!?;#]{0,30}?(?:permissions?"
        r"|all files|everyone|everybody)[^.!?;#]{0,50}?(?:everything|all files|every file|recursively|whole|entire"
        r"|home)[^.!?;#]{0,40}?(?:0?777|world[- ]writable|full (?:access|permissions?)))",
        H,
        kinds=_PROSE,
    ),
    # SK523 protection-off
    phrase(
        "SK523",
        "tells the agent to turn off protections of the user's code",
        "disable |turn off |switch off |skip |bypass |remove |always disable|always skip",
        r"(?:always )?(?:disable|turn off|switch off|skip|bypass|remove) (?:all |any |the |every |of )*(?:ssl|tls|https?"
        r"|certificate|authentication|authorization|csrf|cors|input validation|signature|rate limit\w*|audit log\w*|logging"
        r"|2fa|mfa|firewall|antivirus|encryption|access control|permission checks?"
        r"|security checks?)(?: \w+)? ?(?:verification|validation|checks?|warnings?|protections?|controls?|middleware|rules"
        r"|requirements?)? (?:for|in|on|from|across) (?:all|every|any|each|generated|the generated|production|the user's"
        r"|everything)",
        M,
        kinds=_PROSE,
    ),
    # SK532 ransomware
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
    # SK534 deletes-data
    phrase(
        "SK534",
        "tells the agent to delete what the user has",
        "delete |remove |erase |wipe |destroy |overwrite |purge ",
        r"(?:delete|remove|erase|wipe|destroy|overwrite|purge) (?:all |every |the |entire |of |any |user's |users' |their "
        r"|your )*(?:all|every|entire|user's|users'|complete|whole) (?:of )?(?:the |user's |other |existing |their "
        r"|your )*(?:\w+ )?(?:files|documents|data|backups?|databases?|home (?:folder|directory)|disk|drive|photos|emails?"
        r"|repositor(?:y|ies)|branches|records|production)(?: \w+){0,6}(?: (?:silently|without|immediately|permanently"
        r"|before|after (?:finishing|completion|the task|completing|every|each))| in (?:\~|/home|\$home|the (?:home|user)))",
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
        H,
        kinds=_PROSE,
    ),
    phrase(
        "SK534",
        "tells the agent to delete original files afterwards",
        "delete |remove |erase |wipe |rm -rf ",
        r"(?:delete|remove|erase|wipe) (?:the |all |any |every |user's |their |your |original )*(?:original|source|raw|input"
        r"|previous|existing)(?: \w+)? (?:files?|data(?:sets?)?|documents?|database|repository|backups?"
        r"|records?)[^.!?#]{0,60}?(?:to save|to free|`?rm -rf|permanently|without (?:asking|backup|confirm)"
        r"|so (?:that )?(?:it|they|nobody|no one))",
        H,
        kinds=_PROSE,
    ),
    # SK601 credential-files
    phrase(
        "SK601",
        "tells the agent to copy stored logins, cookies or keys",
        "copy |export |extract |dump |read |collect |grab |steal |save |attach |include |harvest ",
        r"(?:copy|export|extract|dump|read|collect|grab|steal|save|attach|include|harvest) (?:the |all |any |user's |their "
        r"|every |saved |stored |your )*(?:browser(?:'s)? (?:cookies|passwords|profile|sessions?|logins?)|saved passwords"
        r"|keychain|login data|ssh (?:private )?keys?|session cookies|wallet (?:files?|keys?|seed\w*)|password (?:manager"
        r"|vault|store))[^.!?;#]{0,80}?(?:attach|include|send|upload|post|forward|save (?:it|them)|so that|share|report"
        r"|to [\w./~-]{3,60})",
        H,
        kinds=_PROSE,
    ),
    # SK602 whole-environment
    phrase(
        "SK602",
        "tells the agent to gather secrets",
        "collect |gather |find |search for |look for |scan for |harvest |list |locate |read ",
        r"(?:collect|gather|find|search for|look for|scan for|harvest|list|locate|read) (?:all |any |every |the |available "
        rf")*(?:of the )?(?:user's )?{_SECRETS}[^.!?#]{{0,120}}?(?:save|write|store|copy|post|send|upload|put) (?:them"
        rf"|it|these|the "
        r"(?:results?|output|values?|list))[^.!?#]{0,20}? (?:to|into|in|at) (?:/tmp|https?://|\~/\.|a (?:hidden|temp)"
        r"|\w+\.txt)",
        H,
        kinds=_PROSE,
    ),
    # SK603 asks-for-secrets
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
    # SK613 sends-user-data
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
        "describes exfiltration as a task",
        "exfiltrate |exfiltrating ",
        r"exfiltrat(?:e|ing) [^.!?;]{0,80}? (?:to|via|using|through) ",
        M,
        kinds=_PROSE,
    ),
    # SK615 unknown-receiver
    phrase(
        "SK615",
        "tells the agent to push the user's work to an unknown host",
        "push ",
        r"push (?:\w+ ){0,5}(?:mirror|backup|remote|copy|second|additional|also)?[^.!?;#]{0,40}?(?:git@|ssh://|https?://)"
        r"(?!(?:[\w-]+\.){0,2}(?:github|gitlab|bitbucket|example|dev\.azure|localhost)\b)[\w.-]{4,60}[:/]\S{3,80}",
        H,
        kinds=_PROSE,
    ),
)
