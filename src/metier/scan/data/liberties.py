"""Orders that take what is the user's to give: access, consent, a choice, a purchase, the only copy."""

from __future__ import annotations

from metier.scan.scale import Confidence

from .sentence_rule import ASKED, FORBIDS, SentenceRule, sentence_rule

__all__ = ["LIBERTIES"]

M, H = Confidence.MEDIUM, Confidence.HIGH

_BOX = (
    r"[\w.+-]{2,40}@(?!(?:[\w-]{1,40}\.){0,2}(?:example|company|domain|yourdomain|acme|test|email|corp|contoso|foo|bar|users"
    r"|git)\b)"
    r"[\w-]{2,40}(?:\.[\w-]{2,24}){1,3}\b"
)
_UNLESS = FORBIDS + r"|\b(?:unless|refuse|warn\w*|e\.g|for example|such as)\b"
_SHOWN = r"|\b(?:tests?|mock\w*|fixtures?|demo|placeholder|sample)\b"

LIBERTIES: tuple[SentenceRule, ...] = (
    sentence_rule(
        "SK513",
        "lets somebody else into what is the user's",
        H,
        rf"{_BOX}|(?:the |our )(?:vendor|support|maintainers?|author|partner)(?:'s)? (?:account|team|bot|user)",
        r"(?:invite|add|grant|give|make|share|assign|promote|authori[sz]e)(?:s|ing)?\b",
        r"(?:owners?|admin\w*|editors?|(?:write|full|push|root|read) access|maintainers?|collaborators?|role|contributor"
        r"|members?"
        r"|permissions?|delegate)\b",
        unless=_UNLESS
        + "|"
        + ASKED
        + _SHOWN
        + r"|\b(?:service account|iam\.gserviceaccount|questions?|contact|author:|maintained by)\b",
    ),
    sentence_rule(
        "SK523",
        "has rights given to everybody",
        H,
        r"(?:give|grant|assign|make|set)(?:s|ing)?(?: \w+){0,3} (?:every|all|each|any)(?: \w+){0,2} (?:users?|accounts?"
        r"|roles?|members?"
        r"|employees?|visitors?|agents?|service)\b[^.]{0,40}(?:admin\w*|owners?|root|full|superuser|write)\b"
        r"|everyone can (?:read|write|edit|access)|(?:readable|writable|accessible) (?:by|to|for) (?:everyone|everybody"
        r"|anyone|the world)",
        r"(?:so that|to (?:reduce|avoid|save|simplify|make|keep|prevent)|avoids?|reduces?|saves?|simpler|easier|faster|by"
        r" default|always"
        r"|tickets|errors)\b",
        unless=_UNLESS
        + "|"
        + ASKED
        + _SHOWN
        + r"|\b(?:least privilege|over-?privileged|risk\w*|finding|vulnerab\w*|insecure|problem|bad)\b",
    ),
    sentence_rule(
        "SK523",
        "has a guard of the user's accounts or code lifted",
        H,
        r"(?:branch protection|two-factor|2fa|mfa|required (?:reviews?|checks)|code ?owners|push protection|secret scanning"
        r"|row[- ]level"
        r" security|signature verification|certificate (?:verification|validation|checks?)|content security policy|spam"
        r" filter|firewall)\b",
        r"(?:turn(?:s|ing)?(?: \w+){0,4} off|switch(?:es|ing)?(?: \w+){0,4} off|disabl\w+|lift|suspend|deactivat\w+|remov\w+"
        r"|bypass\w*|relax)\b",
        r"(?:before|leave it|stay off|so that|breaks?|otherwise|faster|for (?:all|every|each)|while|always|in all|you generate"
        r"|automation|again"
        r"|permanently|to (?:avoid|save|speed|keep))\b",
        unless=(
            _UNLESS
            + "|"
            + ASKED
            + _SHOWN
            + r"|\b(?:attacker\w*|finding|vulnerab\w*|insecure|detect\w*|risk\w*|danger\w*|check (?:if|that|whether)|whether"
            r"|if .{0,30}(?:disabled|off)|debug\w*|local(?:ly|host)?|development|re-?enable\w*|restore|temporar\w+)\b"
        ),
    ),
    sentence_rule(
        "SK523",
        "has code written without checks of certificates",
        H,
        r"verify ?= ?false|rejectunauthorized\W{1,3}false|node_tls_reject_unauthorized|insecureskipverify|sslverify\W{1,3}false"
        r"|curl (?:-k|--insecure)|--no-check-certificate",
        r"(?:all|every|each|always|any|by default)\b",
        r"(?:use|set|add|pass|include|put|write)\b",
        unless=_UNLESS
        + _SHOWN
        + r"|\b(?:insecure|vulnerab\w*|flag|detect\w*|finding|self-signed|local(?:host)?|development|dev|search|grep|bad)\b",
    ),
    sentence_rule(
        "SK523",
        "has the machine opened to the whole network",
        H,
        r"0\.0\.0\.0/0|(?:to|from) (?:the whole internet|any ip|anywhere|all ips|the world)\b",
        r"(?:open|allow|permit|expose|add|authori[sz]e)\b",
        r"(?:ssh|rdp|port (?:22|3389|5432|3306|6379|27017|2375|9200)|(?:22|3389|5432|3306|6379|27017|2375|9200)\b|database"
        r"|redis|postgres|docker)",
        unless=_UNLESS
        + "|"
        + ASKED
        + r"|\b(?:finding|flag|detect\w*|check|restrict\w*|violation|critical|high|risk\w*|attack\w*|exposed|audit|not|alb|load"
        r" balancer|rule)\b",
    ),
    sentence_rule(
        "SK603",
        "has passwords kept or logged as they are",
        H,
        r"(?:in )?(?:plain ?text|clear ?text|unencrypted|unhashed)\b|including (?:the )?(?:passwords?|tokens?|secrets?"
        r"|authorization headers?)",
        r"(?:passwords?|pins?|credentials?|secrets?|tokens?|request bod(?:y|ies)|headers)\b",
        r"(?:store|save|keep|log|write|record|dump|print)(?:s|ing)?\b",
        r"(?:so that|can (?:look|read|see)|simpler|easier|debug\w*|support|recover|for (?:convenience|later|analysis)"
        r"|always)\b",
        unless=_UNLESS
        + _SHOWN
        + r"|\b(?:not|without|vulnerab\w*|flag|detect\w*|finding|hash\w*|encrypt\w*|redact\w*|mask\w*|risk\w*|check"
        r"|insecure)\b",
    ),
    sentence_rule(
        "SK603",
        "has a key written where others read it",
        H,
        r"(?:write|put|commit|store|save|paste|document|add|print)(?:s|ing)? (?:it|them|the (?:key|token|password|secret)s?"
        r"|all (?:keys|tokens|passwords))"
        r" (?:in|to|into|on) (?:the |a |our |every )*(?:read-?me|wiki|repo\w*|docs|documentation|issue|pull request|changelog"
        r"|homepage|channel)\b",
        r"(?:tokens?|api keys?|passwords?|private keys?|credentials?|secrets?)\b",
        unless=_UNLESS + _SHOWN + r"|\b(?:names? (?:only|of)|redact\w*|mask\w*|encrypt\w*|secret manager|vault|not)\b",
    ),
    sentence_rule(
        "SK409",
        "steers the user's choice for somebody else",
        H,
        r"(?:always|anything|everything|whatever|regardless|even (?:when|if|though))\b",
        r"(?:recommend|rank|place|suggest|prefer|promote|favou?r|steer|put|list|choose|book|pick)\b",
        r"even (?:when|if|though)(?: \w+){0,6} (?:cheaper|better|closer|faster|higher rated|more suitable|worse|more"
        r" expensive)\b"
        r"|(?:do not|don't|never) (?:say|explain|disclose|mention|tell)(?: \w+){0,2} why\b|(?:by|from|of) our (?:partners?"
        r"|sponsors?)"
        r"|(?:partner|sponsored) (?:products?|hotels?|brands?|listings?|offers?) (?:first|above|at the top)",
        unless=_UNLESS
        + r"|\b(?:user prefers|user asked|library|framework|approach|pattern|function|code|algorithm|model|tool|test|solution"
        r"|option)\b",
        across=True,
    ),
    sentence_rule(
        "SK409",
        "puts its own mark into the user's links",
        H,
        r"(?:affiliate|referral|partner) (?:tags?|codes?|ids?|links?|parameters?)|\?ref=|[?&]tag=|[?&]aff(?:_?id)?=",
        r"(?:insert|add|append|replace|rewrite|attach|put|convert)\b",
        r"(?:all|every|each|any)(?: \w+){0,2} (?:links?|urls?|products?)\b|(?:shop|amazon|product|store|booking) (?:links?"
        r"|urls?)\b",
        unless=_UNLESS + "|" + ASKED + _SHOWN + r"|\b(?:user's|your own|your affiliate|disclos\w*|strip|remove|clean)\b",
    ),
    sentence_rule(
        "SK410",
        "gives consent or money in the user's name",
        H,
        r"(?:card|payment method|account) on file|(?:accept|agree to|tick|check|opt[- ]in(?:to)?|sign|give)(?: \w+){0,5}"
        r" (?:terms|marketing"
        r"|consents?|newsletters?|data sharing|privacy policy|disclaimer)\b",
        r"(?:charge|buy|order|book|pay|subscribe|upgrade|accept|agree|tick|check|opt|sign|give)\b",
        r"(?:for (?:the user|them)|on (?:their|the user's) behalf|automatically|by default|always|without (?:asking"
        r"|confirm\w*)|at once"
        r"|immediately|premium)\b",
        unless=_UNLESS + "|" + ASKED + _SHOWN + r"|\b(?:checkbox|form|component|page|banner|gdpr|schema|validat\w*|button)\b",
    ),
    sentence_rule(
        "SK534",
        "has more deleted than was asked for",
        H,
        r"(?:delete|remove|erase|wipe|destroy|shred|discard|purge|empty|truncate|rm)\b",
        r"(?:every other|all (?:other|the other|remaining|older|previous|earlier) \S+|the (?:trash|recycle bin)|(?:the |its"
        r" )?originals?(?: \w+)?"
        r"|(?:the |its )?source (?:documents?|files?|data|folder|recordings?)|all (?:of )?the "
        r"(?:user's )?(?:files|documents|data|backups)|everything else|entire (?:folder|directory|database|home))\b",
        r"(?:so (?:that )?only|to save (?:disk )?space|to free|afterwards?|after (?:conversion|processing|each|every)"
        r"|once (?:done|finished)|permanently|without (?:asking|confirm\w*|backup)|and empty|to avoid confusion|(?:keep"
        r"|keeps) (?:it|things"
        r"|the \w+) (?:tidy|clean)|no longer needed)",
        unless=(
            FORBIDS + r"|temp|cache|cookies?|branch|\bask\b|confirm|backup (?:first|before)|draft|whitespace|columns?\b|class\b"
            r"|\brows?\b|\blines?\b|elements?\b|nodes?\b|container"
            r"|listener|stale|unused|not delete|keep the original|comment|import|code|skill|test|duplicate|docker"
            r"|worktree|index|log|build|generated|intermediate|\bitems?\b|todo|shapes?\b|layers?\b"
        ),
    ),
    sentence_rule(
        "SK534",
        "has the only copy overwritten",
        H,
        r"(?:overwrit\w+|replac\w+|swap|(?:save|write|store)(?: \w+){0,5} over)(?: \w+(?:'s)?){0,4} (?:originals?|source|raw"
        r"|master)(?: \w+)? (?:photos?|files?"
        r"|documents?|images?|recordings?"
        r"|data|videos?|scans?)\b",
        r"(?:with|by|using|in place|directly)\b",
        unless=_UNLESS
        + "|"
        + ASKED
        + r"|\b(?:(?:a|the|first|keep|safe|work on) cop(?:y|ies)|copy first|backup|back up|git|version\w*|undo|mode|option"
        r"|flag|code|not|optional|--in-place|template)\b",
    ),
    sentence_rule(
        "SK534",
        "has data dropped without a copy",
        H,
        r"without (?:a |any |making (?:a )?|taking (?:a )?)?(?:backups?|copy|dump|snapshot)\b",
        r"(?:drop|delete|truncate|wipe|remove|purge|overwrite|migrate)\b",
        r"(?:tables?|databases?|volumes?|buckets?|data|schema|collections?|folders?|records?|branches|disks?|index(?:es)?)\b",
        unless=_UNLESS
        + "|"
        + ASKED
        + r"|\b(?:cannot|can't|must|requir\w*|not be|risk\w*|danger\w*|block\w*|anti-?pattern|red flag|mistake|no |deny|bad"
        r"|fail\w*"
        r"|loss|violation|critical)\b",
    ),
    sentence_rule(
        "SK533",
        "has the trace of a message removed",
        H,
        r"(?:sent (?:folder|items|mail|messages?)|sent-folder|browser history|activity (?:log|feed)|edit history|version"
        r" history)\b",
        r"(?:remove|delete|clear|purge|move|erase|empty)(?:s|d|ing)?\b",
        r"(?:after (?:sending|that|posting|each)|afterwards?|so that|so the|once sent|tidy|clean|then|always)\b",
        unless=_UNLESS + "|" + ASKED + _SHOWN,
    ),
    sentence_rule(
        "SK406",
        "has itself spread to other projects or agents",
        H,
        r"(?:claude|agents|gemini|memory|soul)\.md|\.cursorrules|other agents?\b|every agent\b|all agents\b",
        r"(?:write|add|append|put|insert|copy|tell|ask|convince|persuade|invite|propagate)\b",
        r"(?:(?:each|every|all|any)(?: \w+){0,2} (?:projects?|repos?|repositor(?:y|ies)|workspaces?)(?: \w+){0,2} (?:you"
        r" (?:touch|open|visit|can|work|find)|on (?:this|the)"
        r" machine)|to (?:install|join|load|adopt|fetch) (?:it|this|the skill|them)|install it\b)",
        unless=_UNLESS + "|" + ASKED + _SHOWN + r"|\b(?:monorepo|if (?:it|one|there)|existing|read)\b",
    ),
    sentence_rule(
        "SK512",
        "has a stranger's job put on the machine",
        H,
        r"(?:cron(?:tab)?|cron (?:entry|job)|scheduled (?:task|job)|launch ?agent|systemd|start-?up (?:item|script|entry)"
        r"|login item|autostart)\b",
        r"(?:fetch\w*|download\w*|curl|wget|pull\w*|loads?|gets?)\b",
        r"(?:runs?|executes?|starts?|sh\b|bash\b|eval\w*)",
        unless=_UNLESS + "|" + ASKED + _SHOWN,
        stranger=True,
    ),
    sentence_rule(
        "SK604",
        "has the user watched",
        M,
        r"(?:screenshots?|screen shots?|webcam|microphone|clipboard|keystrokes|browser history|browsing history|location)\b",
        r"(?:every (?:\d+ |few )?(?:seconds?|minutes?|hours?)|continuously|in the background|periodically|to personali[sz]e"
        r"|all day)\b",
        r"(?:take|record|capture|read|collect|log|save|monitor|watch|store)\b",
        unless=_UNLESS
        + "|"
        + ASKED
        + _SHOWN
        + r"|\b(?:page|site|website|app|deploy\w*|build|browser tab|element|poll\w*|canvas|simulator|emulator|game|visual"
        r"|regression|video|url)\b",
    ),
    sentence_rule(
        "SK503",
        "has the user paste a command unseen",
        H,
        r"win(?:dows)?(?: key)? ?\+ ?r\b|(?:the )?run (?:dialog|box|window)\b",
        r"(?:paste|ctrl ?\+ ?v|insert)\b",
        r"(?:enter|return|clipboard|human|verif\w+|ok)\b",
        unless=_UNLESS + r"|\b(?:attack\w*|clickfix|scam\w*|phish\w*|malware|type)\b",
    ),
    sentence_rule(
        "SK410",
        "gives a stranger the run of a wallet",
        H,
        r"(?:max_?uint\w*|uint256\.max|unlimited (?:allowance|approval|spending)|infinite (?:allowance|approval)|maxuint256)\b",
        r"(?:approve|approval|allowance|increaseallowance|permit)\b|approve\(",
        r"0x[0-9a-f]{40}\b|(?:before|without|always|automatically)\b",
        unless=_UNLESS + _SHOWN + r"|\b(?:risk\w*|revoke\w*|audit|check|danger\w*|vulnerab\w*|finding|instead)\b",
    ),
    sentence_rule(
        "SK410",
        "has the user let a stranger into an account",
        H,
        r"devicelogin|device (?:login|code)|/device\b|(?:nine|9|six|6)[- ]digits?\b|session code|anydesk|teamviewer|rustdesk"
        r"|screenconnect|ultraviewer",
        r"(?:ask|tell|have|get|instruct|guide)(?: \w+)? (?:users?|them)\b",
        r"(?:enter|install|give|type|read|open|share)\b",
        unless=_UNLESS + r"|\b(?:github|az login|gh auth|oauth flow|documentation)\b",
        stranger=True,
    ),
    sentence_rule(
        "SK409",
        "has a verdict settled beforehand",
        H,
        r"(?:always|must|shall|invariably) (?:conclude|state|say|find|decide|report|answer|claim)(?: that)? [^.;:]{2,40}"
        r" (?:is|are|was|wins?)(?: by far)?"
        r" ?(?:the )?(?:best|better|winner|superior|cheapest|safest|most \w+|only)\b",
        r"(?:compar\w+|reviews?|models?|products?|vendors?|services?|asks?|options?|providers?|alternatives?|users?)\b",
        unless=_UNLESS + r"|\b(?:source of truth|code|tests?|spec|priority|default|practice|approach)\b",
    ),
    sentence_rule(
        "SK406",
        "puts words into the user's mouth for good",
        H,
        r"(?:to|into|in) (?:your |the |its |long-term )*(?:memory|memories|profile|preferences)\b",
        r"(?:the )?users? (?:wants?|prefers?|has (?:approved|agreed|allowed)|trusts?|always|agreed|allows?)\b",
        r"never (?:wants? )?(?:to )?be asked|all (?:future )?(?:payments?|purchases?|commands?|transfers?|requests?|orders?)"
        r"|without (?:asking"
        r"|confirm\w*)|pre-?approved|always (?:approve|trust|allow|run|pay|use)",
        r"(?:save|write|add|store|remember|note|record|put)\b",
        unless=r"\b(?:if|when|what|once) (?:the )?users? (?:says?|asks?|states?|told|tells?)\b",
    ),
)
