"""Checks of results: says WORD..., or svg FILE WORD... The answer is on standard input, files are in $OUTPUTS."""

import os
import sys
import xml.dom.minidom

kind, *words = sys.argv[1:]
if kind == "svg":
    path = os.path.join(os.environ["OUTPUTS"], words.pop(0))
    if not os.path.exists(path):
        sys.exit(f"there is no {os.path.basename(path)}")
    picture = xml.dom.minidom.parse(path)
    if picture.documentElement.tagName != "svg":
        sys.exit("it is no SVG")
    text = picture.toxml()
else:
    text = sys.stdin.read()
missing = [word for word in words if word.lower() not in text.lower()]
if missing:
    sys.exit(f"it does not say {', '.join(missing)}")
print("it says", ", ".join(words))
