"""One line of why TileLang, or a compiler that it calls, did not take a kernel: its messages hold pages of stack."""

from __future__ import annotations

import re

_CHECK = re.compile(r"Check failed: (?:\(.*?\) (?:is false|!= .*?|== .*?|\([^)]*\)) ?:?)?(?:\([^)]*\) ?: ?)?(.+)")
_COMPILER = re.compile(r"error: (.+)")
_STACK = re.compile(r"^\s*(File \"|\^|\||-->|\d+: |Traceback)")
_TARGET = re.compile(r" for \{\"kind\".*")  # all that TVM knows of a target
_LONGEST = 240


def reason_of(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for pattern in (_COMPILER, _CHECK):
        for line in lines:
            found = pattern.search(line)
            if found and found.group(1).strip(" :"):
                return _shortened(found.group(1).strip(" :"))
    told = [line for line in lines if not _STACK.match(line)]
    if not told:
        return type(error).__name__
    return _shortened(" ".join(told) if told[0].endswith(":") else told[0])


def _shortened(text: str) -> str:
    text = _TARGET.sub("", text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 4] + " ..."
