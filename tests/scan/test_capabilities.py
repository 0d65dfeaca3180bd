"""The list of capabilities: what is named, what is computed, and what the manifest asks for."""

from __future__ import annotations

import pytest

from metier.scan import Capabilities, capability_problems, scan
from metier.spec import COMPUTED, MemoryFiles, parse
from scan.corpus import scanned, skill


def listed(script: str, name: str = "scripts/a.py") -> Capabilities:
    return scanned({**skill("Run the script."), name: script.encode()}).capabilities


def test_a_host_that_is_joined_from_constants_is_named() -> None:
    found = listed("import requests\nend = '.quarvex.net'\nrequests.get('https://' + 'api' + end + '/v1')\n")
    assert found.hosts == ("api.quarvex.net",)


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("scripts/a.py", "import sys, requests\nrequests.get('https://' + sys.argv[1] + '/x')\n"),
        ("scripts/a.py", "import requests\nrequests.get('https://api' + chr(46) + input() + '/x')\n"),
        ("scripts/a.py", "import requests\ncall = requests.post\ncall(bytes([104]).decode())\n"),
        ("scripts/a.py", "m = __import__('url' + 'lib.request')\nm.request.urlopen(x)\n"),
        ("scripts/a.py", "exec(bytes([112]).decode())\n"),
        ("scripts/a.py", "import socket\ns = socket.socket()\ns.connect((h, 443))\n"),
        ("scripts/a.js", "fetch('https://' + name + '.net/x')\n"),
        ("scripts/a.js", "const h = require('htt' + 'ps'); h.get(u)\n"),
        ("scripts/a.js", "fetch(`https://${process.argv[2]}/x`)\n"),
        ("scripts/a.sh", "curl -s https://$1.quarvex.net/x\n"),
        ("scripts/a.sh", 'eval "$(echo Y3VybA== | base64 -d)"\n'),
        ("scripts/a.rb", "require 'net/http'\nputs Net::HTTP.get(URI(ARGV[0]))\n"),
    ],
)
def test_a_host_that_cannot_be_read_is_listed_as_computed(name: str, script: str) -> None:
    found = listed(script, name)
    assert COMPUTED in found.hosts
    assert "hosts it computes at run time" in found.lines()[0]


def test_one_hidden_host_beside_an_honest_one_is_not_lost() -> None:
    found = listed("import requests\nrequests.get('https://api.quarvex.net/v1')\nrequests.get(a + b)\n")
    assert found.hosts == (COMPUTED, "api.quarvex.net")


def test_a_script_without_network_reaches_nothing() -> None:
    assert listed("import json, sys\nprint(json.load(sys.stdin))\n") == Capabilities()
    assert listed('set -eu\nsort "$1" | uniq -c\n', "scripts/a.sh") == Capabilities()
    assert listed("from urllib.parse import urlsplit\nprint(urlsplit(input()).path)\n").hosts == ()
    assert listed('RULES=($FILES)\n[[ "$1" =~ ^(${A}|$b)$ ]] && echo "(${A}|$b)"\n', "scripts/a.sh").hosts == ()


def test_a_program_that_a_script_computes_is_a_program_and_no_host() -> None:
    found = listed('"$1" --version\n', "scripts/a.sh")
    assert (found.hosts, COMPUTED in found.processes) == ((), True)


def test_an_example_of_a_document_without_a_host_computes_none() -> None:
    assert scanned(skill("```bash\ncurl -X POST $URL/items\nssh $HOST\n```\n")).capabilities.hosts == ()


def test_a_compiled_program_can_reach_any_host() -> None:
    found = scanned({**skill("Run bin/tool."), "bin/tool": b"\x7fELF" + bytes(200)}).capabilities
    assert (found.processes, found.hosts) == (("bin/tool",), (COMPUTED,))


def test_programs_of_instructions_and_of_scripts_are_told_apart() -> None:
    files = skill("```bash\njq .days forecast.json\nls -l\n```\nUse `mean` and `git log`, not `count(x) rows`.")
    files["scripts/a.py"] = b"import subprocess, sys\nsubprocess.run(['ffmpeg', '-i', 'x'])\nsubprocess.run(sys.argv[1:])\n"
    found = scanned(files).capabilities
    assert found.commands == ("git", "jq")
    assert found.processes == (COMPUTED, "ffmpeg")


def test_variables_and_packages_are_listed() -> None:
    files = skill("```bash\npip install 'polars[all]>=1' -r requirements.txt\nnpx --yes prettier@3 x\n```")
    files["scripts/a.sh"] = b'#!/bin/sh\nOUT=x\nfor F in *; do echo $F; done\ntool "$API_URL" "$OUT" "$HOME"\n'
    files["scripts/b.py"] = b"# /// script\n# dependencies = ['rich>=13']\n# ///\nimport os\nos.environ['A_TOKEN']\n"
    found = scanned(files).capabilities
    assert found.variables == ("API_URL", "A_TOKEN")
    assert found.packages == ("polars", "prettier", "rich")


def test_requests_of_the_manifest_are_in_the_list_and_not_among_the_deeds() -> None:
    front = (
        b"---\nname: a\ndescription: Does b.\nallowed-tools: Bash(git add:*) Read\n"
        b"metadata:\n  network: b.example\n  env: KEY\n---\n"
    )
    report = scan(MemoryFiles({"SKILL.md": front}))
    assert report.capabilities == Capabilities(hosts=("b.example",), commands=("git",), variables=("KEY",))
    assert not report.used


def test_lint_compares_the_list_of_the_author_with_the_files() -> None:
    front = (
        b"---\nname: a\ndescription: Does b.\nmetadata:\n  capabilities: host:api.quarvex.net variable:OLD_KEY\n---\n"
        b"```bash\ngit log\n```\n"
    )
    files = {"SKILL.md": front, "scripts/a.py": b"import requests\nrequests.get('https://api.quarvex.net/v1')\n"}
    manifest = parse(front).manifest
    assert manifest is not None
    problems = capability_problems(scan(MemoryFiles(files)).used, manifest)
    assert [(one.code, one.severity, one.message.partition(":")[0]) for one in problems] == [
        ("SK223", "warning", "command git"),
        ("SK224", "info", "variable OLD_KEY"),
    ]


def test_a_name_with_escapes_is_shown_as_plain_text() -> None:
    found = listed("import os\nopen('/tmp/\\x1b[2Jx\\u202ey')\n")
    assert all(letter.isprintable() for line in found.lines() for letter in line)
