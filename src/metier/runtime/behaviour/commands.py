"""Commands that come first on the PATH of an observed run, by name. Each is the text of a program.

Package managers and services of the system say that all went well: what they would fetch is not known, and the record of
started programs says what was asked of them. curl and wget are here for machines without them.
"""

from __future__ import annotations

__all__ = ["ALWAYS", "AT", "CRONTAB", "CURL", "DATE", "NETCAT", "SUCCEEDS", "SUCCESS", "SUDO", "words"]


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SUCCEEDS = words(
    """
    pip pip3 pipx uv uvx poetry conda npm npx pnpm yarn bun bunx deno brew apt apt-get dnf yum apk pacman snap port cargo go gem
    bundle composer docker podman docker-compose kubectl helm terraform systemctl service launchctl sudo su doas ollama code
    open xdg-open osascript claude codex gemini gh glab aws gcloud az heroku vercel netlify fly wrangler playwright ffmpeg
    pandoc soffice libreoffice convert magick tesseract make cmake gcc cc g++ clang java javac mvn gradle psql mysql redis-cli
    sqlite3 mongosh notify-send clawhub openclaw clawdbot skills metier dotnet swift xcrun xcodebuild adb flutter dart rg fd
    """
)
"""These are used only where the machine does not have the command, except for those of ALWAYS."""
ALWAYS = words(
    """
    pip pip3 pipx uv uvx poetry conda npm npx pnpm yarn bun bunx brew apt apt-get dnf yum apk pacman snap cargo gem
    docker podman systemctl service launchctl sudo su doas
    """
)

SUCCESS = "#!/bin/sh\n[ -t 0 ] || cat >/dev/null 2>&1 </dev/null\necho ok\nexit 0\n"
SUDO = '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\n[ $# -gt 0 ] && exec "$@"\n'
CRONTAB = """#!/bin/sh
case "$1" in
  -l) cat "$HOME/.crontab" 2>/dev/null; exit 0 ;;
  -r) rm -f "$HOME/.crontab"; exit 0 ;;
  -u) shift 2 ;;
esac
case "$1" in
  ""|-) cat > "$HOME/.crontab" ;;
  *) cat "$1" > "$HOME/.crontab" ;;
esac
"""
AT = '#!/bin/sh\ncat > "$HOME/.at-job"\n'
DATE = """#!/bin/sh
for word in "$@"; do
  case "$word" in -d|-d*|--date*|-r|--reference*|-f|--file*|-s|--set*) exec /usr/bin/date "$@" ;; esac
done
[ -x /usr/bin/date ] || exec /bin/date "$@"
exec /usr/bin/date -d "@$(( $(/usr/bin/date +%s) + @OFFSET@ ))" "$@"
"""
CURL = '''#!/usr/bin/env python3
"""curl and wget, as far as scripts need them."""
import base64, os, sys, urllib.error, urllib.parse, urllib.request
name = os.path.basename(sys.argv[0])
words, urls, headers, data, method, out, upload, form = sys.argv[1:], [], {}, [], None, None, None, []
only_head = False
with_value = set("-X --request -H --header -d --data --data-raw --data-binary --data-urlencode -o --output -F --form "
                 "-T --upload-file -u --user -A --user-agent -m --max-time --connect-timeout --retry -x --proxy "
                 "-e --referer -b --cookie -c -w --post-data --post-file -O --output-document --body-data --body-file "
                 "--method".split())
if name == "curl":
    with_value.discard("-O")
at = 0
while at < len(words):
    word, value = words[at], None
    at += 1
    if word.startswith("--") and "=" in word:
        word, value = word.split("=", 1)
    elif word.startswith("-") and not word.startswith("--") and len(word) > 2 and word[:2] in with_value:
        word, value = word[:2], word[2:]
    elif word.startswith("-") and not word.startswith("--") and len(word) > 2 and "-" + word[-1] in with_value:
        word = "-" + word[-1]
    if word in with_value and value is None:
        value = words[at] if at < len(words) else ""
        at += 1
    if not word.startswith("-"):
        urls.append(word)
    elif word in ("-X", "--request", "--method"):
        method = value
    elif word in ("-H", "--header"):
        key, _, text = value.partition(":")
        headers[key.strip()] = text.strip()
    elif word in ("-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--post-data", "--body-data"):
        key = ""
        if word == "--data-urlencode" and "=" in value:
            key, value = value.split("=", 1)
            key += "="
        if word == "--data-urlencode" and "@" in value and not key:
            key, value = value.split("@", 1)
            key, value = (key + "=" if key else ""), "@" + value
        if value.startswith("@") and word != "--data-raw":
            raw = sys.stdin.buffer.read() if value == "@-" else open(value[1:], "rb").read()
        else:
            raw = value.encode()
        data.append(key.encode() + (urllib.parse.quote(raw).encode() if word == "--data-urlencode" else raw))
    elif word in ("--post-file", "--body-file"):
        data.append(open(value, "rb").read())
    elif word in ("-F", "--form"):
        key, _, text = value.partition("=")
        raw = text.encode()
        if text[:1] in "@<":
            path = text[1:].split(";")[0]
            raw = sys.stdin.buffer.read() if path == "-" else open(path, "rb").read()
        head = b'--boundary\\r\\nContent-Disposition: form-data; name="' + key.encode() + b'"\\r\\n\\r\\n'
        form.append(head + raw + b"\\r\\n")
    elif word in ("-T", "--upload-file"):
        upload = sys.stdin.buffer.read() if value in ("-", ".") else open(value, "rb").read()
    elif word in ("-u", "--user"):
        headers["Authorization"] = "Basic " + base64.b64encode(value.encode()).decode()
    elif word in ("-A", "--user-agent"):
        headers["User-Agent"] = value
    elif word in ("-b", "--cookie"):
        headers["Cookie"] = value
    elif word in ("-o", "--output", "--output-document") or (word == "-O" and name == "wget"):
        out = value
    elif word in ("-O", "--remote-name"):
        out = "\\0"
    elif word in ("-I", "--head"):
        only_head = True
    elif word in ("-G", "--get"):
        method = "GET"
headers.setdefault("User-Agent", name + "/8.5.0")
for url in urls:
    url = url if "://" in url else "http://" + url
    body = upload if upload is not None else b"&".join(data) if data else None
    if form:
        body = b"".join(form) + b"--boundary--\\r\\n"
        headers["Content-Type"] = "multipart/form-data; boundary=boundary"
    if method == "GET" and body:
        url, body = url + ("&" if "?" in url else "?") + body.decode("latin-1"), None
    verb = method or ("PUT" if upload is not None else "HEAD" if only_head else "POST" if body is not None else "GET")
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body, headers=headers, method=verb), timeout=5) as answer:
            content = answer.read()
    except urllib.error.HTTPError as error:
        content = error.read()
    except OSError as error:
        sys.exit(6)
    if name == "wget" and out is None or out == "\\0":
        out = os.path.basename(urllib.parse.urlsplit(url).path) or "index.html"
    if out and out != "-":
        os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
        open(out, "wb").write(content)
    else:
        sys.stdout.buffer.write(content)
'''
NETCAT = '''#!/usr/bin/env python3
"""nc, as far as scripts need it."""
import socket, subprocess, sys
words = [word for word in sys.argv[1:]]
program = None
for flag in ("-e", "-c"):
    if flag in words:
        at = words.index(flag)
        program = words[at + 1]
        del words[at:at + 2]
kind = socket.SOCK_DGRAM if any(word.startswith("-") and "u" in word for word in words) else socket.SOCK_STREAM
if "-w" in words:
    at = words.index("-w")
    del words[at:at + 2]
target = [word for word in words if not word.startswith("-")]
if len(target) < 2:
    sys.exit(1)
link = socket.socket(socket.AF_INET, kind)
link.settimeout(2)
link.connect((target[0], int(target[1])))
if program:
    subprocess.run([program], stdin=link.fileno(), stdout=link.fileno(), stderr=link.fileno(), timeout=2)
    sys.exit(0)
if not sys.stdin.isatty():
    link.sendall(sys.stdin.buffer.read())
try:
    link.shutdown(socket.SHUT_WR)
    sys.stdout.buffer.write(link.recv(65536))
except OSError:
    pass
'''
