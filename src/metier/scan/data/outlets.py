"""Where data leaves and where packages come from, as shapes that are looked up in any text: drops, mirrors, registries."""

from __future__ import annotations

from metier.scan.rules.phrases import Phrase, phrase
from metier.scan.scale import Confidence
from metier.scan.text import TextKind

__all__ = ["OUTLETS"]

H = Confidence.HIGH
_CODE = (TextKind.SHELL, TextKind.PYTHON, TextKind.JAVASCRIPT, TextKind.POWERSHELL, TextKind.OTHER)

OUTLETS: tuple[Phrase, ...] = (
    phrase(
        "SK803",
        "takes packages from a stranger's registry",
        "npm |npx |pnpm |yarn |bunx ",
        r"(?:npm|npx|pnpm|yarn|bunx) [^\n;|]{0,120}?(?:--registry[= ]|config set registry )https?://(?!(?:[\w-]{1,40}\.){0,3}"
        r"(?:npmjs|npmmirror|taobao|yarnpkg|github|gitlab|jfrog|azure|amazonaws|localhost|127|example|cloudsmith|npm\.pkg"
        r"|tencent|huaweicloud|aliyun|your|my|artifactory|nexus|verdaccio)\b|localhost|\W)",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK611",
        "hands keys of other services to a server of tools",
        "mcp add ",
        r"mcp add (?:[^\n]{0,120}?(?:-e|--env)[ =]\w{0,40}(?:token|key|secret|password)\w{0,20}=){3}",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK615",
        "has every push go to a stranger too",
        "remote set-url ",
        r"remote set-url (?:--add |--push ){1,2}\S+ ['\"]?(?:https?://|git@|ssh://)(?!(?:[\w-]{1,40}\.){0,2}(?:github|gitlab"
        r"|bitbucket"
        r"|example|codeberg|azure|localhost|gitee)\b|\W)[\w.-]{4,60}",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK803",
        "trusts packages of a stranger unsigned",
        "deb [trusted=yes]|--allow-unauthenticated|gpgcheck=0",
        r"deb \[trusted=yes\] https?://(?!(?:[\w.-]*\.)?(?:debian|ubuntu|example)\b)",
        H,
    ),
    phrase(
        "SK615",
        "sends to somebody's chat",
        "discord.com/api/webhooks/|discordapp.com/api/webhooks/|hooks.slack.com/services/|api.telegram.org/bot",
        r"(?:discord(?:app)?\.com/api/webhooks/\d{15,20}/[\w-]{20}"
        r"|hooks\.slack\.com/services/t[a-z0-9]{7,11}/b[a-z0-9]{7,11}/[a-z0-9]{20}"
        r"|api\.telegram\.org/bot\d{8,10}:[\w-]{30})",
    ),
    phrase(
        "SK615",
        "sends to a service that catches requests",
        "webhook.site/|.requestbin.|requestcatcher.com|.pipedream.net|.oast.|.burpcollaborator.net|.oastify.com"
        "|.interact.sh|.dnslog.cn|.ceye.io|hooks.zapier.com/|maker.ifttt.com/|.make.com/|script.google.com/macros/s/"
        "|docs.google.com/forms/d/e/|formspree.io/f/",
        r"(?:webhook\.site/[0-9a-z-]{8}|\.(?:requestbin|pipedream)\.net|\.oast\.(?:fun|pro|live|site|online|me)"
        r"|\.burpcollaborator\.net|\.oastify\.com|requestcatcher\.com|\.interact\.sh|\.dnslog\.cn|\.ceye\.io"
        r"|hooks\.zapier\.com/hooks/catch/\d{5,9}/\w{5,12}|maker\.ifttt\.com/trigger/\w+/(?:json/)?with/key/\w{10}"
        r"|\.make\.com/(?=\w*\d)\w{20,40}|script\.google\.com/macros/s/[\w-]{15,90}/exec"
        r"|docs\.google\.com/forms/d/e/[\w-]{12,80}"
        r"/formresponse|formspree\.io/f/\w{8})",
    ),
    phrase(
        "SK616",
        "puts data into the address of an image",
        "![",
        r"!\[[^\]]{0,80}\]\(https?://[^\s)]{3,120}[?&/=][^\s)]{0,60}?(?:\{\{?|\$\{?|<|\[|%7b)(?:[\w ._-]{0,30})?(?:data"
        r"|secret|key|token|conversation|chat|history|content|env|password|summary|base64|encoded|user_|prompt)",
        kinds=(TextKind.PROSE, TextKind.OTHER, TextKind.SHELL),
    ),
    phrase(
        "SK605",
        "asks for the credentials of a cloud machine",
        "169.254.169.254|metadata.google.internal/|169.254.170.2",
        r"(?:169\.254\.169\.254/(?:latest|metadata|computemetadata)|metadata\.google\.internal/computemetadata"
        r"|169\.254\.170\.2)[^\0]{0,60}?(?:security-credentials|token|identity|credentials|iam)",
        kinds=_CODE,
    ),
    phrase(
        "SK613",
        "makes files open to everybody",
        "rclone link |--acl public-read|allusers:|--public-access blob|--public-access container|gist create --public"
        "|gist create -p ",
        r"(?:rclone link \S|--acl public-read|allusers:(?:r|read|o|w)|--public-access (?:blob|container)|gist create"
        r" (?:--public|-p) )",
        Confidence.MEDIUM,
        kinds=_CODE,
    ),
)
