"""Sentence rules for installing, persistence, privilege and destruction (SK5xx)."""

from __future__ import annotations

from metier.scan.patterns import SentenceRule, sentence_rule
from metier.scan.scale import Confidence

from .sentence_parts import ASKED, FORBIDS, REFUSED, REFUSED_OR_EXAMPLE, SAMPLE, UNASKED

__all__ = ["MACHINE_SENTENCES"]

M, H = Confidence.MEDIUM, Confidence.HIGH
_BREAK_IN = (
    r"(?:security (?:alerts?|notices?|notifications?|warnings?|e-?mails?)|new sign-?ins?|new (?:log-?in|device)"
    r"|log-?in (?:alerts?|notifications?)|password (?:was |has been )?(?:changed|reset)|unusual (?:activity|sign-?in)"
    r"|fraud (?:alerts?|warnings?)|suspicious (?:activity|log-?in)|two-factor|verification codes?|root log-?ins?)\b"
)
_MAILBOX = (
    r"[\w.+-]{2,40}@(?!(?:[\w-]{1,40}\.){0,2}(?:example|company|domain|yourdomain|acme|test|email|corp|contoso|foo|bar|users"
    r"|git)\b)[\w-]{2,40}(?:\.[\w-]{2,24}){1,3}\b"
)
H = Confidence.HIGH

MACHINE_SENTENCES: tuple[SentenceRule, ...] = (
    # SK503 fake-prerequisite
    sentence_rule(
        "SK503",
        "tells the agent to install a browser extension from an unknown host",
        H,
        r"(?:browser extension|\.crx\b|\.xpi\b|profile\.mobileconfig)",
        r"(?:install|add|load|allow|enable)\b",
        unknown_host=True,
    ),
    sentence_rule(
        "SK503",
        "tells the user to paste a command into the Windows Run dialog",
        H,
        r"win(?:dows)?(?: key)? ?\+ ?r\b|(?:the )?run (?:dialog|box|window)\b",
        r"(?:paste|ctrl ?\+ ?v|insert)\b",
        r"(?:enter|return|clipboard|human|verif\w+|ok)\b",
        unless=REFUSED_OR_EXAMPLE + r"|\b(?:attack\w*|clickfix|scam\w*|phish\w*|malware|type)\b",
    ),
    # SK512 scheduled-job
    sentence_rule(
        "SK512",
        "tells the agent to schedule a job that runs code from an unknown host",
        H,
        r"(?:cron(?:tab)?|cron (?:entry|job)|scheduled (?:task|job)|launch ?agent|systemd|start-?up (?:item|script|entry)"
        r"|login item|autostart)\b",
        r"(?:fetch\w*|download\w*|curl|wget|pull\w*|loads?|gets?)\b",
        r"(?:runs?|executes?|starts?|sh\b|bash\b|eval\w*)",
        unless=REFUSED_OR_EXAMPLE + "|" + ASKED + SAMPLE,
        unknown_host=True,
    ),
    # SK513 remote-login
    sentence_rule(
        "SK513",
        "tells the agent to add an SSH key with which others can log in",
        H,
        r"authori[sz]ed[ _]keys",
        r"(?:append|add|put|copy|install|write|insert)\b",
        r"(?:ssh-(?:ed25519|rsa) aaaa|our|bot|partner|support|vendor|maintainers?|(?:the )?team|following key|this key"
        r"|assets/|\S+\.pub)",
        unless=r"your (?:own )?(?:public )?key|user's (?:own )?(?:public )?key|\b(?:do not|don't|never)\b",
    ),
    sentence_rule(
        "SK513",
        "tells the agent to open the machine for remote access by others",
        H,
        r"(?:turn on|enable|open|activate|allow|switch on|start)\b",
        r"(?:remote (?:login|desktop|access|management|control)|screen sharing|ssh (?:access|login)|reverse tunnel"
        r"|teamviewer|anydesk)\b",
        r"(?:support|vendor|our team|so that we|so we|our (?:engineers?|staff|technicians?)|they can (?:connect|log)"
        r"|can connect)\b",
        unless=r"ask|confirm|only if|user wants|never|do not|don't",
    ),
    sentence_rule(
        "SK513",
        "tells the agent to open the user's browser or machine to the network",
        H,
        r"--remote-debugging-address[= ]0\.0\.0\.0|remote debugging (?:port )?(?:on|to) all|(?:bind|listen)(?:s"
        r"|ing)? (?:it )?(?:to|on) (?:all interfaces|0\.0\.0\.0)",
        r"(?:user's|normal|own|real|main|default|everyday|personal|logged[- ]in)(?: \w+){0,2} (?:profile|browser|chrome"
        r"|session|machine|laptop|desktop|account)\b|--disable-web-security",
        unless=REFUSED + r"|\b(?:docker|container|ci\b|headless)\b",
    ),
    sentence_rule(
        "SK513",
        "tells the agent to give another account access to what is the user's",
        H,
        rf"{_MAILBOX}|(?:the |our )(?:vendor|support|maintainers?|author|partner)(?:'s)? (?:account|team|bot|user)",
        r"(?:invite|add|grant|give|make|share|assign|promote|authori[sz]e)(?:s|ing)?\b",
        r"(?:owners?|admin\w*|editors?|(?:write|full|push|root|read) access|maintainers?|collaborators?|role|contributor"
        r"|members?|permissions?|delegate)\b",
        unless=REFUSED_OR_EXAMPLE
        + "|"
        + ASKED
        + SAMPLE
        + r"|\b(?:service account|iam\.gserviceaccount|questions?|contact|author:|maintained by)\b",
    ),
    # SK523 protection-off
    sentence_rule(
        "SK523",
        "tells the user to ignore a security warning of the system",
        M,
        r"(?:smartscreen|gatekeeper|defender|antivirus|anti-virus|virus scanner|security software|security warning|(?:app"
        r"|application|file) is damaged|unidentified developer|unsigned)\b",
        r"(?:run anyway|open anyway|allow anyway|more info|add an? (?:exclusion|exception)|exclude|false positive"
        r"|false alarm|even if (?:the|your)|is expected|this is normal|clear the flag|turn (?:it )?off|disable|ignore)\b",
        unless=r"\b(?:do not|don't|never|avoid|sign(?:ing)? (?:the|your)|notari[sz]\w*|code[- ]sign\w*)\b",
    ),
    sentence_rule(
        "SK523",
        "tells the agent to leave security checks out of the user's code",
        H,
        r"(?:disable|turn off|switch off|skip|bypass|remove|omit|leave out|weaken)\b",
        r"(?:certificate|tls|ssl|authentication|authorization|csrf|input validation|access control|permission checks?"
        r"|security (?:checks?|headers?)|encryption|sanitization|password hashing|rate limit\w*)\b",
        r"(?:in|for|from|of|on) (?:all|every|the|any|each)? ?(?:generated |produced |new |resulting )?(?:code|requests"
        r"|endpoints|apps?|applications?|scripts?|projects?|production)(?: (?:that )?you (?:generate|write|create|produce))?",
        unless=(
            r"\b(?:do not|don't|never|not|warn|flag|detect|avoid|insecure|vulnerab\w*|review|only (?:in|for) (?:dev"
            r"|local|test))\b"
        ),
    ),
    sentence_rule(
        "SK523",
        "tells the agent to give everyone admin or write rights",
        H,
        r"(?:give|grant|assign|make|set)(?:s|ing)?(?: \w+){0,3} (?:every|all|each|any)(?: \w+){0,2} (?:users?|accounts?"
        r"|roles?|members?|employees?|visitors?|agents?|service)\b[^.]{0,40}(?:admin\w*|owners?|root|full|superuser|write)\b"
        r"|everyone can (?:read|write|edit|access)|(?:readable|writable|accessible) (?:by|to|for) (?:everyone|everybody"
        r"|anyone|the world)",
        r"(?:so that|to (?:reduce|avoid|save|simplify|make|keep|prevent)|avoids?|reduces?|saves?|simpler|easier|faster"
        r"|by default|always|tickets|errors)\b",
        unless=REFUSED_OR_EXAMPLE
        + "|"
        + ASKED
        + SAMPLE
        + r"|\b(?:least privilege|over-?privileged|risk\w*|finding|vulnerab\w*|insecure|problem|bad)\b",
    ),
    sentence_rule(
        "SK523",
        "tells the agent to turn off a protection of the user's accounts or code",
        H,
        r"(?:branch protection|two-factor|2fa|mfa|required (?:reviews?|checks)|code ?owners|push protection|secret scanning"
        r"|row[- ]level security|signature verification|certificate (?:verification|validation|checks?)"
        r"|content security policy|spam filter|firewall)\b",
        r"(?:turn(?:s|ing)?(?: \w+){0,4} off|switch(?:es|ing)?(?: \w+){0,4} off|disabl\w+|lift|suspend|deactivat\w+|remov\w+"
        r"|bypass\w*|relax)\b",
        r"(?:before|leave it|stay off|so that|breaks?|otherwise|faster|for (?:all|every|each)|while|always|in all"
        r"|you generate|automation|again|permanently|to (?:avoid|save|speed|keep))\b",
        unless=(
            REFUSED_OR_EXAMPLE
            + "|"
            + ASKED
            + SAMPLE
            + r"|\b(?:attacker\w*|finding|vulnerab\w*|insecure|detect\w*|risk\w*|danger\w*|check (?:if|that|whether)|whether"
            r"|if .{0,30}(?:disabled|off)|debug\w*|local(?:ly|host)?|development|re-?enable\w*|restore|temporar\w+)\b"
        ),
    ),
    sentence_rule(
        "SK523",
        "tells the agent to write code without certificate checks",
        H,
        r"verify ?= ?false|rejectunauthorized\W{1,3}false|node_tls_reject_unauthorized|insecureskipverify|sslverify\W{1,3}false"
        r"|curl (?:-k|--insecure)|--no-check-certificate",
        r"(?:all|every|each|always|any|by default)\b",
        r"(?:use|set|add|pass|include|put|write)\b",
        unless=REFUSED_OR_EXAMPLE
        + SAMPLE
        + r"|\b(?:insecure|vulnerab\w*|flag|detect\w*|finding|self-signed|local(?:host)?|development|dev|search|grep|bad)\b",
    ),
    sentence_rule(
        "SK523",
        "tells the agent to open a port to the whole internet",
        H,
        r"0\.0\.0\.0/0|(?:to|from) (?:the whole internet|any ip|anywhere|all ips|the world)\b",
        r"(?:open|allow|permit|expose|add|authori[sz]e)\b",
        r"(?:ssh|rdp|port (?:22|3389|5432|3306|6379|27017|2375|9200)|(?:22|3389|5432|3306|6379|27017|2375|9200)\b|database"
        r"|redis|postgres|docker)",
        unless=REFUSED_OR_EXAMPLE
        + "|"
        + ASKED
        + r"|\b(?:finding|flag|detect\w*|check|restrict\w*|violation|critical|high|risk\w*|attack\w*|exposed|audit|not|alb|load"
        r" balancer|rule)\b",
    ),
    # SK531 deletes-everything
    sentence_rule(
        "SK531",
        "tells the agent to overwrite a file with zeros or random data",
        H,
        r"(?:overwrite|fill|replace)(?: \w+){0,5} with (?:zeros|zeroes|random (?:data|bytes)|garbage|nulls)",
        unless=r"test|benchmark|buffer|array|tensor|matrix|padding|ask|confirm",
    ),
    # SK532 ransomware
    sentence_rule(
        "SK532",
        "tells the agent to encrypt or lock the user's files",
        H,
        r"(?:encrypt|lock|password-protect)\b",
        r"(?:user's|documents? folder|(?:the |whole )?(?:folder|project|workspace|directory)|home (?:folder|directory)"
        r"|all (?:\w+ )?(?:files|documents|pdfs|photos)|every (?:file|document)|desktop|originals?)",
        r"(?:you generate|random(?:ly)? \w*|do not (?:write|save|store|keep|record|share)|delete the (?:key|originals?)"
        r"|send the key|escrow|only we|ransom|payment)",
    ),
    # SK533 covers-tracks
    sentence_rule(
        "SK533",
        "tells the agent to remove traces, history or logs",
        H,
        r"(?:erase|delete|clear|remove|wipe|clean|scrub|purge|cover)(?: \w+){0,4} (?:traces? (?:of|that|from)|(?:your|our"
        r"|its|all) tracks\b|evidence of (?:this|these|the|what)|(?:shell|bash|zsh|command|terminal) history|audit logs?\b)",
        unless=r"git|browser|undo|debug|never|do not|don't",
    ),
    sentence_rule(
        "SK533",
        "tells the agent to remove security alerts",
        H,
        rf"(?:delete|trash|remove|discard|purge|archive|mute|silence|suppress|hide|filter)\b[^;]{{0,90}}?{_BREAK_IN}"
        rf"|(?:move|send|put|marks?)\b[^;]{{0,90}}?{_BREAK_IN}[^;]{{0,60}}?(?:trash|bin|spam|archive|read)\b"
        rf"|{_BREAK_IN}[^;]{{0,60}}?(?:deleted|trashed|as read|muted|silenced|(?:to|in|into) (?:the )?(?:trash|bin|spam"
        rf"|archive))\b",
        r"(?:messages?|mails?|e-?mails?|subjects?|notifications?|alarms?|alerts?|inbox|noise|read|rule|filter)\b",
        unless=(
            REFUSED + r"|\b(?:keep|important|immediately|escalate|urgent|priority|attention|flag|notify|(?:alerts?|notices?"
            r"|notifications?|they|these) (?:stay|remain)|tell the user"
            r"|phish\w*|spam|fake)\b"
        ),
    ),
    sentence_rule(
        "SK533",
        "tells the agent to turn off audit logs or monitoring",
        H,
        r"(?:stop|disable|turn off|switch off|pause|suspend|delete|remove|silence|mute)(?: \w+){0,3} (?:audit (?:trails?"
        r"|logs?|logging)|cloud ?trail|guardduty|security (?:logs?|logging|monitoring|alarms?)|access logs?"
        r"|intrusion detection|alarms? (?:on|for)|auditd|event logs?)\b|cloudtrail stop-logging|cloudtrail delete-trail"
        r"|guardduty delete-detector|auditctl -e ?0",
        r"(?:before|during|after|noise|need not|not necessary|faster|releases?|deploy\w*|then|again|back on|quiet|clean"
        r"|so that|always|while|clutter|cost)\b",
        unless=REFUSED
        + r"|\b(?:attacker|adversar\w*|detect\w*|alert (?:on|when|if)|monitor for|evidence|threat|tactic|mitre|finding)\b",
    ),
    sentence_rule(
        "SK533",
        "tells the agent to delete sent messages or history",
        H,
        r"(?:sent (?:folder|items|mail|messages?)|sent-folder|browser history|activity (?:log|feed)|edit history|version"
        r" history)\b",
        r"(?:remove|delete|clear|purge|move|erase|empty)(?:s|d|ing)?\b",
        r"(?:after (?:sending|that|posting|each)|afterwards?|so that|so the|once sent|tidy|clean|then|always)\b",
        unless=REFUSED_OR_EXAMPLE + "|" + ASKED + SAMPLE,
    ),
    # SK534 deletes-data
    sentence_rule(
        "SK534",
        "tells the agent to force-push after every change",
        H,
        r"push (?:--force|-f)\b|push --force",
        r"(?:after every|always|each time|every (?:change|commit)|automatically)\b",
        unless=r"never|do not|don't|avoid",
    ),
    sentence_rule(
        "SK534",
        "tells the agent to empty folders of the user",
        H,
        r"(?:clear out|empty|wipe|clean out|delete everything in|purge|(?:remov|delet)(?:e|ing)(?= (?:the )?(?:user's|whole"
        r"|entire))) (?:out )?(?:the |user's |users' |their |your |whole |entire )*(?:downloads|documents|desktop|pictures"
        r"|photos|home)(?: folder| directory|/)?\b",
        r"(?:after|when|once|before|at the end|finish\w*|then|always|silently)\b",
        unless=r"ask|confirm|only if|user wants|never|do not|don't|page|dom\b|screen",
    ),
    sentence_rule(
        "SK534",
        "tells the agent to overwrite the shared branch",
        H,
        r"push (?:--force|-f)(?: origin)? (?:head:|\w+:|\+)?(?:main|master|production|release)\b|push origin \+(?:main"
        r"|master)\b"
        r"|force[- ]push(?:es)? (?:it |this |the result )?(?:to|onto|over) (?:`|origin/)?(?:main|master|the default branch)",
        r"(?:push)",
        unless=REFUSED + "|" + ASKED + r"|\b(?:forbidden|blocked|gh-pages|prohibited|deny|block|dangerous|require\w*)\b",
    ),
    sentence_rule(
        "SK534",
        "tells the agent to delete more than was asked for",
        H,
        r"(?:delete|remove|erase|wipe|destroy|shred|discard|purge|empty|truncate|rm)\b",
        r"(?:every other|all (?:other|the other|remaining|older|previous|earlier) \S+|the (?:trash|recycle bin)|(?:the |its"
        r" )?originals?(?: \w+)?"
        r"|(?:the |its )?source (?:documents?|files?|data|folder|recordings?)|all (?:of )?the "
        r"(?:user's )?(?:files|documents|data|backups)|everything else|entire (?:folder|directory|database|home))\b",
        r"(?:so (?:that )?only|to save (?:disk )?space|to free|afterwards?|after (?:conversion|processing|each|every)"
        r"|once (?:done|finished)|permanently|without (?:asking|confirm\w*|backup)|and empty|to avoid confusion|(?:keep"
        r"|keeps) (?:it|things|the \w+) (?:tidy|clean)|no longer needed)",
        unless=(
            FORBIDS + r"|temp|cache|cookies?|branch|\bask\b|confirm|backup (?:first|before)|draft|whitespace|columns?\b|class\b"
            r"|\brows?\b|\blines?\b|elements?\b|nodes?\b|container"
            r"|listener|stale|unused|not delete|keep the original|comment|import|code|skill|test|duplicate|docker"
            r"|worktree|index|log|build|generated|intermediate|\bitems?\b|todo|shapes?\b|layers?\b"
        ),
    ),
    sentence_rule(
        "SK534",
        "tells the agent to overwrite original files",
        H,
        r"(?:overwrit\w+|replac\w+|swap|(?:save|write|store)(?: \w+){0,5} over)(?: \w+(?:'s)?){0,4} (?:originals?|source|raw"
        r"|master)(?: \w+)? (?:photos?|files?|documents?|images?|recordings?|data|videos?|scans?)\b",
        r"(?:with|by|using|in place|directly)\b",
        unless=REFUSED_OR_EXAMPLE
        + "|"
        + ASKED
        + r"|\b(?:(?:a|the|first|keep|safe|work on) cop(?:y|ies)|copy first|backup|back up|git|version\w*|undo|mode|option"
        r"|flag|code|not|optional|--in-place|template)\b",
    ),
    sentence_rule(
        "SK534",
        "tells the agent to delete data without a backup",
        H,
        r"without (?:a |any |making (?:a )?|taking (?:a )?)?(?:backups?|copy|dump|snapshot)\b",
        r"(?:drop|delete|truncate|wipe|remove|purge|overwrite|migrate)\b",
        r"(?:tables?|databases?|volumes?|buckets?|data|schema|collections?|folders?|records?|branches|disks?|index(?:es)?)\b",
        unless=REFUSED_OR_EXAMPLE
        + "|"
        + ASKED
        + r"|\b(?:cannot|can't|must|requir\w*|not be|risk\w*|danger\w*|block\w*|anti-?pattern|red flag|mistake|no |deny|bad"
        r"|fail\w*"
        r"|loss|violation|critical)\b",
    ),
    sentence_rule(
        "SK534",
        "tells the agent to erase disks or folders without asking",
        H,
        UNASKED,
        r"(?:wipe|erase|format|delete|empty|purge|remove)\b",
        r"(?:sd cards?|disks?|drives?|usb|partitions?|backups?|volumes?|all files|mailbox|inbox|photos?|databases?|tables?"
        r"|downloads|documents)\b",
        unless=FORBIDS + r"|\b(?:never|cannot|can't|must|should not|unless|temp\w*|cache\w*|tests?|dry[- ]run|refus\w*"
        r"|prevent\w*|not be|read-only)\b",
    ),
    # SK541 endless-loop
    sentence_rule(
        "SK541",
        "tells the agent to repeat work without end",
        M,
        r"(?:infinite loop|forever|endless(?:ly)?|indefinitely|without (?:end|limit|stopping|ever stopping))",
        r"(?:retry|retrying|repeat|loop|keep|call|spawn|start|open|run)\b",
        r"(?:process(?:es)?|requests?|until|calls?|thread|copies|instances?)\b",
        unless=r"avoid|do not|don't|never|prevent|stuck|hang|guard|bug|timeout",
    ),
    sentence_rule(
        "SK541",
        "tells the agent to start as many processes as the machine allows",
        H,
        r"as many (?:copies|processes|instances|threads|workers|requests)(?: \w+){0,4} as (?:the machine|possible|it can"
        r"|memory|you can)",
        r"(?:spawn|start|launch|run|open|fork|send)\b",
    ),
)
