"""Shapes of code and configuration that are looked up as text, whatever file or language they stand in."""

from __future__ import annotations

from metier.scan.rules.phrases import Phrase, phrase
from metier.scan.scale import Confidence
from metier.scan.text import TextKind

__all__ = ["SIGNATURES"]

M, L, H = Confidence.MEDIUM, Confidence.LOW, Confidence.HIGH
_CODE = (TextKind.SHELL, TextKind.PYTHON, TextKind.JAVASCRIPT, TextKind.POWERSHELL, TextKind.OTHER)

SIGNATURES: tuple[Phrase, ...] = (
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
        "hands a shell to netcat",
        "nc |ncat |netcat |nc.traditional |nc.exe ",
        r"\S+ (?:[^;|]{0,60}? )?(?:-[a-z]{0,4}[ec] ?(?:/bin/)?(?:ba|z|da)?sh\b|--exec |--sh-exec |-e cmd"
        r"|-[a-z]{0,4}e ?/bin/)",
    ),
    phrase(
        "SK504",
        "hands a shell to netcat through a pipe",
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
        r"(?:use (?:io::)?socket|fsockopen|tcpsocket|net\.sockets\.tcpclient)[^\0]{0,400}?(?:/bin/(?:ba|z)?sh"
        r"|cmd(?:\.exe)?|iex|exec|popen|open3|system"
        r"|shell_exec|proc_open|invoke-expression)\b",
    ),
    phrase(
        "SK501",
        "has Windows run what an address answers",
        "mshta |regsvr32 |rundll32 |certutil |bitsadmin |msiexec ",
        r"(?:mshta(?:\.exe)? ['\"]?(?:https?:|vbscript:|javascript:)|regsvr32[^;\n]{0,60}?/i:https?:"
        r"|rundll32[^;]{0,60}?javascript:"
        r"|certutil[^;]{0,60}?-urlcache[^;]{0,60}?https?:|bitsadmin[^;]{0,60}?/transfer[^;]{0,80}?https?:"
        r"|msiexec[^;]{0,40}?/i ['\"]?https?://)",
        H,
    ),
    phrase(
        "SK505",
        "runs bytes as a program",
        "cfunctype(|virtualalloc|winfunctype(",
        r"(?:cfunctype\(|winfunctype\(|virtualalloc)[^\0]{0,300}?(?:\)\(\)|\)\)\(|createthread|rtlmovememory|memmove)",
        H,
        kinds=(TextKind.PYTHON, TextKind.POWERSHELL, TextKind.OTHER),
    ),
    phrase(
        "SK603",
        "asks for the password in a dialog of its own",
        "display dialog ",
        r"display dialog [^\0]{0,200}?(?:password|passphrase)[^\0]{0,200}?hidden answer",
        H,
    ),
    phrase("SK504", "hands a shell to socat", "socat ", r"socat [^;|]{0,100}?exec:['\"]?[^ ,]{0,20}(?:sh|cmd)"),
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
    phrase(
        "SK701",
        "hands an encoded command to PowerShell",
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
        r"|bzminer)\S{0,20}"
        r"[^\n]{0,80}?(?: -o ?\S| --url| -u ?\S| --pool| -p x\b| -a \w| --coin)",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK542",
        "has a miner started",
        "start |run |launch |install |deploy |use ",
        r"(?:start|run|launch|install|deploy|use) (?:the |a )?[`'\"]?(?:xmrig|cpuminer|nbminer|lolminer|ethminer|(?:monero"
        r"|crypto) miner)\b",
        H,
        kinds=(TextKind.PROSE,),
    ),
    phrase(
        "SK513",
        "runs what a visitor of the page sends",
        "exec(|execsync(|eval(|os.system(|os.popen(|subprocess.run(|check_output(|subprocess.popen(|spawn(",
        r"(?:exec|execsync|eval|os\.system|os\.popen|subprocess\.run|check_output|subprocess\.popen|spawn) ?\( ?(?:await )?"
        r"(?:r|req|request|ctx|event|c|self|ctx\.req|c\.req)\.(?:headers?|body|query|params|args|form|values|json|get_json"
        r"|nexturl|data)\b",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK406",
        "writes into every other skill of the user",
        "~/.claude/skills/*/|~/.openclaw/skills/*/|~/.codex/skills/*/|~/.agents/skills/*/|$home/.claude/skills/*/"
        "|~/.cursor/skills/*/"
        "|$home/.openclaw/skills/*/",
        r"[\~$]\w{0,4}/\.\w+/skills/\*/skill\.md[^\0]{0,300}?(?:>> ?[\"'$\~.]|tee -a|sed -i)",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK513",
        "opens a lasting way into this machine",
        "ssh |autossh ",
        r"(?:auto)?ssh (?=[^\n;|`]{0,120}?-[a-z]{0,4}[fn]\b|[^\n;|`]{0,120}?-[fntvqc]{1,5}r )[^\n;|`]{0,120}?-[fntvqc]{0,5}r"
        r" [\w.:*\[\]-]{0,40}"
        r":(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):\d{2,5} [^\n;|`]{0,60}?[\w-]{2,40}(?:\.[\w-]{2,40}){1,3}",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK534",
        "deletes every branch that others work on",
        "git push |xargs ",
        r"(?:xargs [^\n;]{0,40}?git push \S{1,30} (?:--delete|-d)\b|git push \S{1,30} (?:--delete|-d) \$\(git branch)",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK507",
        "puts a stranger's script where git runs it",
        "curl |wget ",
        r"(?:curl|wget) (?=[^\n]{0,200}?hooks/?[\")]{0,3}/?(?:pre|post"
        r"|commit)-?)[^\n]{0,80}?https?://(?!(?:[\w-]{1,40}\.){0,3}(?:github\w*|gitlab|gerrit"
        r"[\w-]*|googlesource|localhost|example)\b|localhost|\W)[^\n]{0,240}?chmod \+x",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK418",
        "runs something when a folder is opened",
        '"runon": "folderopen"|"runon":"folderopen"',
        r'"runon": ?"folderopen"',
        M,
        kinds=_CODE,
    ),
    phrase(
        "SK507",
        "has git run a command or go elsewhere",
        'credential.helper|core.sshcommand|core.fsmonitor|url."http|url.http',
        r"(?:credential\.helper ['\"]{0,2}!|core\.(?:sshcommand|fsmonitor) ['\"]?[^\n]{0,80}?(?:curl|nc |sh -c|/tmp/)"
        r"|url\.['\"]?https?://(?!(?:[\w.-]*\.)?(?:github|gitlab|bitbucket|ghproxy|gitee)\b|\$|x-access|oauth"
        r"|git@)[^\s'\"]{4,80}['\"]?\.insteadof)",
        H,
    ),
    phrase(
        "SK524",
        "leaves its container for the host",
        "nsenter |chroot /host|chroot /mnt",
        r"(?:nsenter [^\n]{0,60}?(?:-t ?1\b|--target[ =]1\b)|chroot /(?:host|mnt)\b)",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK513",
        "gives a cluster away",
        "create clusterrolebinding",
        r"create clusterrolebinding [^\n]{0,120}?cluster-admin[^\n]{0,80}?(?:system:(?:anonymous|unauthenticated"
        r"|authenticated)|serviceaccount=(?:default|kube-system):)",
        H,
    ),
    phrase(
        "SK505",
        "has Windows fetch and run",
        "msxml2.|winhttp.winhttprequest|microsoft.xmlhttp|adodb.stream",
        r"(?:msxml2\.|winhttp\.winhttprequest|microsoft\.xmlhttp|adodb\.stream)[^\0]{0,500}?(?:wscript\.shell"
        r"|shell\.application|shellexecute)",
        H,
    ),
    phrase(
        "SK513",
        "runs what a visitor of the page sends",
        "eval(|assert(|system(|shell_exec(|passthru(|exec(|popen(",
        r"(?:eval|assert|system|shell_exec|passthru|exec|popen) ?\( ?@?(?:(?:base64_decode|gzinflate|str_rot13"
        r"|stripslashes) ?\( ?){0,3}"
        r"\\?\$_(?:get|post|request|cookie|server)\b",
        H,
    ),
    phrase(
        "SK701",
        "loads a module out of a text",
        "import(",
        r"import\( ?['\"`]data:(?:text|application)/javascript",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK603",
        "puts itself in front of sudo",
        "sudo()|sudo ()|function sudo|alias sudo=",
        r"(?:(?:function )?sudo ?\(\) ?\{|function sudo ?\{|alias sudo=)[^\0]{0,400}?(?:read -\w*s|passw|curl|wget|nc )",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK533",
        "empties records of who did what",
        "truncate |delete from |drop table ",
        r"(?:truncate (?:table )?|delete from |drop table (?:if exists )?)(?:\w+, ){0,4}\"?\w{0,20}(?:audit|login"
        r"|access)_?(?:log|event|trail|histor)\w*",
        H,
    ),
    phrase(
        "SK542",
        "mines in whoever's browser opens the page",
        "client.anonymous(|coinimp|cryptoloot|deepminer|coin-hive|webminer|monerominer|minero.cc",
        r"(?:client\.anonymous\(|coinimp|cryptoloot|deepminer|coin-hive|webminer|monerominer|minero\.cc)",
        H,
        kinds=_CODE,
    ),
    phrase(
        "SK405",
        "sends the agent's own traffic elsewhere",
        "anthropic_base_url|openai_base_url|openai_api_base",
        r"(?:anthropic_base_url|openai_(?:base_url|api_base))['\"]?\]? ?[=:] ?['\"]?https?://(?!localhost|127\.|0\.0"
        r"|api\.(?:anthropic|openai)|[\w.-]*(?:azure|openrouter|example|deepseek|groq|together|mistral"
        r"|googleapis|z\.ai|moonshot|minimax|litellm|ollama|bigmodel|volces|dashscope|siliconflow)\b|\W)",
        M,
        kinds=_CODE,
    ),
    phrase(
        "SK541",
        "works without end or pause behind the user's back",
        "while :|while true|while 1",
        r"while (?::|true|1) ?; ?do (?:(?!sleep|read|wait)[^\0]){1,200}?done['\"]? ?[^\n;]{0,60}?&(?!&)",
        H,
        kinds=_CODE,
    ),
    phrase("SK541", "forks without end", ":(){", r":\(\) ?\{ ?:\|: ?& ?\} ?; ?:", H),
    phrase(
        "SK523",
        "switches Windows' protections off",
        "set-mppreference|add-mppreference|disablerealtimemonitoring|disableantispyware",
        r"(?:(?:set|add)-mppreference [^;|]{0,60}?-(?:disable|exclusion)|disablerealtimemonitoring ?[$=1t]"
        r"|disableantispyware)",
    ),
    phrase(
        "SK523",
        "switches macOS' protections off",
        "spctl --master-disable|spctl --global-disable|csrutil disable",
        r"(?:spctl --(?:master|global)-disable|csrutil disable)",
    ),
    phrase("SK522", "lets somebody be root without a password", "nopasswd", r"nopasswd ?: ?all\b", M),
    phrase(
        "SK512",
        "registers a job with Windows",
        "schtasks|register-scheduledtask|currentversion\\run|currentversion\\\\run|new-service ",
        r"(?:schtasks(?:\.exe)? /create|register-scheduledtask|currentversion\\{1,2}run|new-service -name)",
    ),
    phrase(
        "SK513",
        "adds a key that may log in",
        "authorized_keys",
        r"authorized_keys['\"]?,? ?['\"]?(?:a|w)['\"]",
        M,
        kinds=(TextKind.PYTHON, TextKind.JAVASCRIPT),
    ),
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
    phrase("SK704", "holds the EICAR test signature", "x5o!p%@ap[4\\pzx54(p^)7cc)7}$eicar", r"x5o!p%@ap", H),
    phrase(
        "SK704",
        "holds a test file for virus scanners",
        "eicar test file|eicar standard anti",
        r"eicar (?:test file|standard anti)",
        M,
    ),
    phrase(
        "SK505",
        "lets a configuration run code",
        'require(\\"child_process\\")|require(\'child_process\')|require("child_process")|process.mainmodule.require'
        "|global.process.mainmodule",
        r"(?:require\(\\?['\"]child_process\\?['\"]\)|(?:global\.)?process\.mainmodule\.require\()[^\0]{0,40}?exec(?:sync"
        r"|file)?\(",
        M,
        kinds=(TextKind.OTHER,),
    ),
    phrase(
        "SK541",
        "asks for endless repetition",
        "retry this |repeat this |keep calling |call this tool |loop ",
        r"(?:(?:retry|repeat) this (?:tool|step|call|action|command) (?:indefinitely|forever|endlessly|until the "
        r"(?:result|response|output) contains)|(?:keep calling|call this tool|loop) (?:\w+ ){0,4}(?:indefinitely|forever"
        r"|endlessly|without (?:end|limit)))",
        M,
    ),
)
