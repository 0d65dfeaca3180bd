"""Attempts of a hostile script on its prepared packages. Runs like attempts.py, whose tools it uses."""
# mypy: ignore-errors
# ruff: noqa: T201
# A standalone script that runs without metier, so it is not typed.

import json
import os
import sys

from attempts import tried, write


def e85(facts):
    tree, cache = facts["tree"], facts["cache"]
    module, compiled = f"{tree}/shout.py", facts["compiled"]
    hard = f"{os.environ['HOME']}/hard"
    results = {
        "write": tried(write, module), "new": tried(write, f"{tree}/json.py"), "truncate": tried(os.truncate, module, 0),
        "open-trunc": tried(os.open, module, os.O_RDONLY | os.O_TRUNC), "rename": tried(os.rename, module, f"{tree}/other.py"),
        "unlink": tried(os.unlink, module), "mkdir": tried(os.mkdir, f"{tree}/folder"), "bytecode": tried(write, compiled),
        "symlink": tried(os.symlink, "/etc", f"{tree}/link"), "folder": tried(os.rename, tree, f"{tree}-other"),
        "hard": tried(os.link, module, hard), "through hard": tried(write, hard), "chmod": tried(os.chmod, tree, 0o777),
        "mode of a file": tried(os.chmod, module, 0o666), "time": tried(os.utime, module, (1, 1)),
        "record": tried(write, f"{cache}/{facts['key']}/record.json"), "stamp": tried(write, f"{cache}/{facts['key']}/stamp"),
        "another": tried(write, f"{cache}/another/tree/a.py"), "new environment": tried(os.mkdir, f"{cache}/{'0' * 40}"),
    }  # fmt: skip
    os.path.lexists(hard) and os.unlink(hard)
    return results


def e86(facts):
    import shout

    return {"word": shout.WORD, "from": shout.__file__, "bytecode": shout.__cached__}


if __name__ == "__main__":
    found = globals()[sys.argv[1]](json.loads(sys.argv[2]))
    if found is not None:
        print(json.dumps(found))
