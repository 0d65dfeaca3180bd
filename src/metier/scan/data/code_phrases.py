"""Shapes of code, commands and configuration that are looked up in every kind of text."""

from __future__ import annotations

from metier.scan.patterns import Phrase, phrase
from metier.scan.scale import Confidence
from metier.scan.text import TextKind

__all__ = ["CODE_PHRASES"]

M, H = Confidence.MEDIUM, Confidence.HIGH
_CODE = (TextKind.SHELL, TextKind.PYTHON, TextKind.JAVASCRIPT, TextKind.POWERSHELL, TextKind.OTHER)
H = Confidence.HIGH

CODE_PHRASES: tuple[Phrase, ...] = (
    # SK405 remote-instructions
    phrase(
        "SK405",
        "sends the agent's own model traffic to another host",
        "anthropic_base_url|openai_base_url|openai_api_base",
        r"(?:anthropic_base_url|openai_(?:base_url|api_base))['\"]?\]? ?[=:] ?['\"]?https?://(?!localhost|127\.|0\.0"
        r"|api\.(?:anthropic|openai)|[\w.-]*(?:azure|openrouter|example|deepseek|groq|together|mistral"
        r"|googleapis|z\.ai|moonshot|minimax|litellm|ollama|bigmodel|volces|dashscope|siliconflow)\b|\W)",
        M,
        kinds=_CODE,
    ),
    # SK406 edits-agent
    phrase(
        "SK406",
        "writes into the user's other skills",
        "~/.claude/skills/*/|~/.openclaw/skills/*/|~/.codex/skills/*/|~/.agents/skills/*/|$home/.claude/skills/*/"
        "|~/.cursor/skills/*/|$home/.openclaw/skills/*/",
        r"[\~$]\w{0,4}/\.\w+/skills/\*/skill\.md[^\0]{0,300}?(?:>> ?[\"'$\~.]|tee -a|sed -i)",
        H,
        kinds=_CODE,
    ),
    # SK418 runs-on-load
    phrase(
        "SK418",
        "runs something when a folder is opened",
        '"runon": "folderopen"|"runon":"folderopen"',
        r'"runon": ?"folderopen"',
        M,
        kinds=_CODE,
    ),
    # SK501 pipe-to-shell
    phrase(
        "SK501",
        "makes Windows run code from a URL",
        "mshta |regsvr32 |rundll32 |certutil |bitsadmin |msiexec ",
        r"(?:mshta(?:\.exe)? ['\"]?(?:https?:|vbscript:|javascript:)|regsvr32[^;\n]{0,60}?/i:https?:"
        r"|rundll32[^;]{0,60}?javascript:|certutil[^;]{0,60}?-urlcache[^;]{0,60}?https?:"
        r"|bitsadmin[^;]{0,60}?/transfer[^;]{0,80}?https?:|msiexec[^;]{0,40}?/i ['\"]?https?://)",
        H,
    ),
    # SK504 reverse-shell
    phrase(
        "SK504",
        "connects a shell to another machine",
        "/dev/tcp/|/dev/udp/",
        r"/dev/(?:tcp|udp)/[^\s/]{1,200}/\S{1,10}(?: ?(?:0>&1|<&1|2>&1|0<&1|0<&|>&|&))",
    ),
    phrase(
        "SK504",
        "connects a shell to another machine",
        "bash -i|sh -i|zsh -i",
        r"\w+ -i ?(?:>&|<|1>|&>|2>&1)[^;]{0,60}?/dev/(?:tcp|udp)/",
    ),
    phrase(
        "SK504",
        "gives netcat a shell",
        "nc |ncat |netcat |nc.traditional |nc.exe ",
        r"\S+ (?:[^;|]{0,60}? )?(?:-[a-z]{0,4}[ec] ?(?:/bin/)?(?:ba|z|da)?sh\b|--exec |--sh-exec |-e cmd"
        r"|-[a-z]{0,4}e ?/bin/)",
    ),
    phrase(
        "SK504",
        "gives netcat a shell through a named pipe",
        "mkfifo ",
        r"mkfifo [^;&]{1,60}?[;&][^\0]{0,100}?(?:/bin/)?sh -i[^\0]{0,60}?(?:nc|ncat|openssl|telnet) ",
    ),
    phrase(
        "SK504",
        "connects a shell to a socket",
        "exec 1|exec 2|exec 3|exec 4|exec 5|exec 6|exec 7|exec 8|exec 9",
        r"exec \d{1,3}<> ?/dev/(?:tcp|udp)/[^;]{3,80};[^\0]{0,200}?(?:sh|while read|cat)\b[^\0]{0,40}?[<>]&",
    ),
    phrase(
        "SK504",
        "connects a shell to a socket",
        "use socket|fsockopen|tcpsocket|use io::socket|net.sockets.tcpclient",
        r"(?:use (?:io::)?socket|fsockopen|tcpsocket|net\.sockets\.tcpclient)[^\0]{0,400}?(?:/bin/(?:ba|z)?sh|cmd(?:\.exe)?"
        r"|iex|exec|popen|open3|system|shell_exec|proc_open|invoke-expression)\b",
    ),
    phrase("SK504", "gives socat a shell", "socat ", r"socat [^;|]{0,100}?exec:['\"]?[^ ,]{0,20}(?:sh|cmd)"),
    phrase(
        "SK504",
        "connects a shell to a socket",
        "socket.socket",
        r"socket\.socket[^\0]{0,400}?(?:os\.dup2\([^\0]{0,160}?(?:subprocess|pty\.spawn|os\.system)|pty\.spawn)",
        kinds=(*_CODE, TextKind.PROSE),
    ),
    phrase(
        "SK504",
        "connects a shell to a socket",
        "new net.socket|net.connect|net.createconnection",
        r"(?:new )?net\.\w+[^\0]{0,400}?(?:spawn|exec)\(['\"](?:/bin/)?(?:ba|z)?sh[^\0]{0,200}?\.pipe\(",
    ),
    # SK505 remote-code
    phrase(
        "SK505",
        "runs bytes as a program",
        "cfunctype(|virtualalloc|winfunctype(",
        r"(?:cfunctype\(|winfunctype\(|virtualalloc)[^\0]{0,300}?(?:\)\(\)|\)\)\(|createthread|rtlmovememory|memmove)",
        H,
        kinds=(TextKind.PYTHON, TextKind.POWERSHELL, TextKind.OTHER),
    ),
    phrase(
        "SK505",
        "makes Windows fetch and run code",
        "msxml2.|winhttp.winhttprequest|microsoft.xmlhttp|adodb.stream",
        r"(?:msxml2\.|winhttp\.winhttprequest|microsoft\.xmlhttp|adodb\.stream)[^\0]{0,500}?(?:wscript\.shell"
        r"|shell\.application|shellexecute)",
        H,
    ),
    phrase(
        "SK505",
        "runs code from a configuration file",
        'require(\\"child_process\\")|require(\'child_process\')|require("child_process")|process.mainmodule.require'
        "|global.process.mainmodule",
        r"(?:require\(\\?['\"]child_process\\?['\"]\)|(?:global\.)?process\.mainmodule\.require\()[^\0]{0,40}?exec(?:sync"
        r"|file)?\(",
        M,
        kinds=(TextKind.OTHER,),
    ),
    # SK507 runs-at-install
    phrase(
        "SK507",
        "installs a git hook from an unknown host",
        "curl |wget ",
        r"(?:curl|wget) (?=[^\n]{0,200}?hooks/?[\")]{0,3}/?(?:pre|post|commit)-?)[^\n]{0,80}?https?://(?!(?:[\w-]{1,40}\.){0"
        r",3}(?:github\w*|gitlab|gerrit[\w-]*|googlesource|localhost|example)\b|localhost|\W)[^\n]{0,240}?chmod \+x",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK507",
        "makes git run a command or use another host",
        'credential.helper|core.sshcommand|core.fsmonitor|url."http|url.http',
        r"(?:credential\.helper ['\"]{0,2}!|core\.(?:sshcommand|fsmonitor) ['\"]?[^\n]{0,80}?(?:curl|nc |sh -c|/tmp/)"
        r"|url\.['\"]?https?://(?!(?:[\w.-]*\.)?(?:github|gitlab|bitbucket|ghproxy|gitee)\b|\$|x-access|oauth"
        r"|git@)[^\s'\"]{4,80}['\"]?\.insteadof)",
        H,
    ),
    # SK512 scheduled-job
    phrase(
        "SK512",
        "registers a job with Windows",
        "schtasks|register-scheduledtask|currentversion\\run|currentversion\\\\run|new-service ",
        r"(?:schtasks(?:\.exe)? /create|register-scheduledtask|currentversion\\{1,2}run|new-service -name)",
    ),
    # SK513 remote-login
    phrase(
        "SK513",
        "runs code from a web request",
        "exec(|execsync(|eval(|os.system(|os.popen(|subprocess.run(|check_output(|subprocess.popen(|spawn(",
        r"(?:exec|execsync|eval|os\.system|os\.popen|subprocess\.run|check_output|subprocess\.popen|spawn) ?\( ?(?:await )?"
        r"(?:r|req|request|ctx|event|c|self|ctx\.req|c\.req)\.(?:headers?|body|query|params|args|form|values|json|get_json"
        r"|nexturl|data)\b",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK513",
        "opens a lasting reverse tunnel into this machine",
        "ssh |autossh ",
        r"(?:auto)?ssh (?=[^\n;|`]{0,120}?-[a-z]{0,4}[fn]\b|[^\n;|`]{0,120}?-[fntvqc]{1,5}r )[^\n;|`]{0,120}?-[fntvqc]{0,5}r"
        r" [\w.:*\[\]-]{0,40}"
        r":(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):\d{2,5} [^\n;|`]{0,60}?[\w-]{2,40}(?:\.[\w-]{2,40}){1,3}",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK513",
        "gives cluster-admin to everyone",
        "create clusterrolebinding",
        r"create clusterrolebinding [^\n]{0,120}?cluster-admin[^\n]{0,80}?(?:system:(?:anonymous|unauthenticated"
        r"|authenticated)|serviceaccount=(?:default|kube-system):)",
        H,
    ),
    phrase(
        "SK513",
        "runs code from a web request",
        "eval(|assert(|system(|shell_exec(|passthru(|exec(|popen(",
        r"(?:eval|assert|system|shell_exec|passthru|exec|popen) ?\( ?@?(?:(?:base64_decode|gzinflate|str_rot13"
        r"|stripslashes) ?\( ?){0,3}\\?\$_(?:get|post|request|cookie|server)\b",
        H,
    ),
    phrase(
        "SK513",
        "adds an SSH key that can log in",
        "authorized_keys",
        r"authorized_keys['\"]?,? ?['\"]?(?:a|w)['\"]",
        M,
        kinds=(TextKind.PYTHON, TextKind.JAVASCRIPT),
    ),
    # SK522 excessive-permissions
    phrase("SK522", "allows sudo without a password", "nopasswd", r"nopasswd ?: ?all\b", M),
    # SK523 protection-off
    phrase(
        "SK523",
        "turns Windows protections off",
        "set-mppreference|add-mppreference|disablerealtimemonitoring|disableantispyware",
        r"(?:(?:set|add)-mppreference [^;|]{0,60}?-(?:disable|exclusion)|disablerealtimemonitoring ?[$=1t]"
        r"|disableantispyware)",
    ),
    phrase(
        "SK523",
        "turns macOS protections off",
        "spctl --master-disable|spctl --global-disable|csrutil disable",
        r"(?:spctl --(?:master|global)-disable|csrutil disable)",
    ),
    # SK524 container-escape
    phrase(
        "SK524",
        "escapes its container to the host",
        "nsenter |chroot /host|chroot /mnt",
        r"(?:nsenter [^\n]{0,60}?(?:-t ?1\b|--target[ =]1\b)|chroot /(?:host|mnt)\b)",
        H,
        kinds=_CODE,
    ),
    # SK533 covers-tracks
    phrase(
        "SK533",
        "deletes audit or login records",
        "truncate |delete from |drop table ",
        r"(?:truncate (?:table )?|delete from |drop table (?:if exists )?)(?:\w+, ){0,4}\"?\w{0,20}(?:audit|login"
        r"|access)_?(?:log|event|trail|histor)\w*",
        H,
    ),
    # SK534 deletes-data
    phrase(
        "SK534",
        "deletes all remote branches",
        "git push |xargs ",
        r"(?:xargs [^\n;]{0,40}?git push \S{1,30} (?:--delete|-d)\b|git push \S{1,30} (?:--delete|-d) \$\(git branch)",
        H,
        kinds=_CODE,
    ),
    # SK541 endless-loop
    phrase(
        "SK541",
        "runs an endless loop in the background",
        "while :|while true|while 1",
        r"while (?::|true|1) ?; ?do (?:(?!sleep|read|wait)[^\0]){1,200}?done['\"]? ?[^\n;]{0,60}?&(?!&)",
        H,
        kinds=_CODE,
    ),
    phrase("SK541", "forks without end", ":(){", r":\(\) ?\{ ?:\|: ?& ?\} ?; ?:", H),
    phrase(
        "SK541",
        "asks for endless repetition",
        "retry this |repeat this |keep calling |call this tool |loop ",
        r"(?:(?:retry|repeat) this (?:tool|step|call|action|command) (?:indefinitely|forever|endlessly|until the "
        r"(?:result|response|output) contains)|(?:keep calling|call this tool|loop) (?:\w+ ){0,4}(?:indefinitely|forever"
        r"|endlessly|without (?:end|limit)))",
        M,
    ),
    # SK542 crypto-mining
    phrase(
        "SK542",
        "names a mining pool",
        "stratum+tcp://|stratum+ssl://|stratum2+tcp://|--donate-level|coinhive|cryptonight",
        r"(?:stratum2?\+(?:tcp|ssl)://\S{4}|--donate-level|coinhive\.(?:min\.js|anonymous|user)|cryptonight(?:-lite|/r"
        r"|_r)\b)",
    ),
    phrase(
        "SK542",
        "starts a miner",
        "xmrig|xmr-stak|cpuminer|minerd |nbminer|lolminer|phoenixminer|ethminer|t-rex -a|nanominer|teamredminer|srbminer"
        "|bzminer",
        r"(?:xmrig|xmr-stak|cpuminer|minerd|nbminer|lolminer|phoenixminer|ethminer|t-rex|nanominer|teamredminer|srbminer"
        r"|bzminer)\S{0,20}[^\n]{0,80}?(?: -o ?\S| --url| -u ?\S| --pool| -p x\b| -a \w| --coin)",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK542",
        "tells the agent to start a miner",
        "start |run |launch |install |deploy |use ",
        r"(?:start|run|launch|install|deploy|use) (?:the |a )?[`'\"]?(?:xmrig|cpuminer|nbminer|lolminer|ethminer|(?:monero"
        r"|crypto) miner)\b",
        H,
        kinds=(TextKind.PROSE,),
    ),
    phrase(
        "SK542",
        "mines in the browser of anyone who opens the page",
        "client.anonymous(|coinimp|cryptoloot|deepminer|coin-hive|webminer|monerominer|minero.cc",
        r"(?:client\.anonymous\(|coinimp|cryptoloot|deepminer|coin-hive|webminer|monerominer|minero\.cc)",
        H,
        kinds=_CODE,
    ),
    # SK603 asks-for-secrets
    phrase(
        "SK603",
        "asks for a password in its own dialog",
        "display dialog ",
        r"display dialog [^\0]{0,200}?(?:password|passphrase)[^\0]{0,200}?hidden answer",
        H,
    ),
    phrase(
        "SK603",
        "replaces the sudo command",
        "sudo()|sudo ()|function sudo|alias sudo=",
        r"(?:(?:function )?sudo ?\(\) ?\{|function sudo ?\{|alias sudo=)[^\0]{0,400}?(?:read -\w*s|passw|curl|wget|nc )",
        H,
        kinds=_CODE,
    ),
    # SK604 surveillance
    phrase(
        "SK604",
        "records keys, screen or clipboard",
        "pynput|keylogger|getasynckeystate|setwindowshookex|grabscreen|pyautogui.screenshot|imagegrab.grab",
        r"(?:from pynput[^\0]{0,20}import[^\0]{0,20}keyboard|pynput\.keyboard|keyboard\.listener\(|getasynckeystate\("
        r"|setwindowshookex\w?\()",
        M,
        kinds=_CODE,
    ),
    phrase(
        "SK604",
        "tells the agent to record keys",
        "install a keylogger|start a keylogger|run a keylogger|log all keystrokes|record keystrokes|capture keystrokes"
        "|record all keystrokes",
        r"\w+ (?:a |all )?(?:keylogger|keystrokes)",
        H,
    ),
    # SK605 cloud-credentials
    phrase(
        "SK605",
        "asks for the credentials of a cloud machine",
        "169.254.169.254|metadata.google.internal/|169.254.170.2",
        r"(?:169\.254\.169\.254/(?:latest|metadata|computemetadata)|metadata\.google\.internal/computemetadata"
        r"|169\.254\.170\.2)[^\0]{0,60}?(?:security-credentials|token|identity|credentials|iam)",
        kinds=_CODE,
    ),
    # SK611 secret-exfiltration
    phrase(
        "SK611",
        "gives keys of several services to an MCP server",
        "mcp add ",
        r"mcp add (?:[^\n]{0,120}?(?:-e|--env)[ =]\w{0,40}(?:token|key|secret|password)\w{0,20}=){3}",
        H,
        kinds=_CODE,
    ),
    # SK613 sends-user-data
    phrase(
        "SK613",
        "makes files public",
        "rclone link |--acl public-read|allusers:|--public-access blob|--public-access container|gist create --public"
        "|gist create -p ",
        r"(?:rclone link \S|--acl public-read|allusers:(?:r|read|o|w)|--public-access (?:blob|container)|gist create"
        r" (?:--public|-p) )",
        Confidence.MEDIUM,
        kinds=_CODE,
    ),
    # SK615 unknown-receiver
    phrase(
        "SK615",
        "sends every git push to an unknown host too",
        "remote set-url ",
        r"remote set-url (?:--add |--push ){1,2}\S+ ['\"]?(?:https?://|git@|ssh://)(?!(?:[\w-]{1,40}\.){0,2}(?:github|gitlab"
        r"|bitbucket|example|codeberg|azure|localhost|gitee)\b|\W)[\w.-]{4,60}",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK615",
        "sends to a chat webhook",
        "discord.com/api/webhooks/|discordapp.com/api/webhooks/|hooks.slack.com/services/|api.telegram.org/bot",
        r"(?:discord(?:app)?\.com/api/webhooks/\d{15,20}/[\w-]{20}|hooks\.slack\.com/services/t[a-z0-9]{7,11}/b[a-z0-9]{7,11"
        r"}/[a-z0-9]{20}|api\.telegram\.org/bot\d{8,10}:[\w-]{30})",
    ),
    phrase(
        "SK615",
        "sends to a request-catching service",
        "webhook.site/|.requestbin.|requestcatcher.com|.pipedream.net|.oast.|.burpcollaborator.net|.oastify.com"
        "|.interact.sh|.dnslog.cn|.ceye.io|hooks.zapier.com/|maker.ifttt.com/|.make.com/|script.google.com/macros/s/"
        "|docs.google.com/forms/d/e/|formspree.io/f/",
        r"(?:webhook\.site/[0-9a-z-]{8}|\.(?:requestbin|pipedream)\.net|\.oast\.(?:fun|pro|live|site|online|me)"
        r"|\.burpcollaborator\.net|\.oastify\.com|requestcatcher\.com|\.interact\.sh|\.dnslog\.cn|\.ceye\.io"
        r"|hooks\.zapier\.com/hooks/catch/\d{5,9}/\w{5,12}|maker\.ifttt\.com/trigger/\w+/(?:json/)?with/key/\w{10}"
        r"|\.make\.com/(?=\w*\d)\w{20,40}|script\.google\.com/macros/s/[\w-]{15,90}/exec"
        r"|docs\.google\.com/forms/d/e/[\w-]{12,80}/formresponse|formspree\.io/f/\w{8})",
    ),
    # SK616 image-exfiltration
    phrase(
        "SK616",
        "puts data into the URL of an image",
        "![",
        r"!\[[^\]]{0,80}\]\(https?://[^\s)]{3,120}[?&/=][^\s)]{0,60}?(?:\{\{?|\$\{?|<|\[|%7b)(?:[\w ._-]{0,30})?(?:data"
        r"|secret|key|token|conversation|chat|history|content|env|password|summary|base64|encoded|user_|prompt)",
        kinds=(TextKind.PROSE, TextKind.OTHER, TextKind.SHELL),
    ),
    # SK701 decode-and-run
    phrase(
        "SK701",
        "passes an encoded command to PowerShell",
        "powershell|pwsh",
        r"(?:powershell|pwsh)(?:\.exe)?[^;|]{0,80}? -(?:e|en|enc|enco|encodedcommand) ['\"]?[a-z0-9+/]{20}",
    ),
    phrase(
        "SK701",
        "decodes something and runs it",
        "exec(|eval(|exec (|compile(",
        r"(?:exec|eval|compile) ?\( ?(?:\(? ?)(?:__import__\(['\"]\w+['\"]\)\.|[\w.]{0,30}?)?(?:b64decode|b32decode"
        r"|a85decode|unhexlify|fromhex|decompress|atob|decodebytes|rot13|codecs\.decode|marshal\.loads|buffer\.from)\b",
        kinds=_CODE,
    ),
    phrase(
        "SK701",
        "loads a module from a data: URL",
        "import(",
        r"import\( ?['\"`]data:(?:text|application)/javascript",
        H,
        kinds=_CODE,
    ),
    # SK704 binary-program
    phrase("SK704", "contains the EICAR test signature", "x5o!p%@ap[4\\pzx54(p^)7cc)7}$eicar", r"x5o!p%@ap", H),
    phrase(
        "SK704",
        "contains a test file for virus scanners",
        "eicar test file|eicar standard anti",
        r"eicar (?:test file|standard anti)",
        M,
    ),
    # SK803 foreign-package-source
    phrase(
        "SK803",
        "takes packages from an unknown registry",
        "npm |npx |pnpm |yarn |bunx ",
        r"(?:npm|npx|pnpm|yarn|bunx) [^\n;|]{0,120}?(?:--registry[= ]|config set registry )https?://(?!(?:[\w-]{1,40}\.){0,3}"
        r"(?:npmjs|npmmirror|taobao|yarnpkg|github|gitlab|jfrog|azure|amazonaws|localhost|127|example|cloudsmith|npm\.pkg"
        r"|tencent|huaweicloud|aliyun|your|my|artifactory|nexus|verdaccio)\b|localhost|\W)",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK803",
        "trusts unsigned packages of an unknown host",
        "deb [trusted=yes]|--allow-unauthenticated|gpgcheck=0",
        r"deb \[trusted=yes\] https?://(?!(?:[\w.-]*\.)?(?:debian|ubuntu|example)\b)",
        H,
    ),
)
