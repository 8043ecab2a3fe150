"""Which lines of a C++ header a compiler would see, for given macros: `#if` and its kin, evaluated.

    #ifdef ARCH_QUASAR      with {"ARCH_BLACKHOLE": 1}    (blank)
    void only_there();      ->                            (blank)
    #endif                                                (blank)

Lines keep their numbers. Macros a header defines count from there on; a macro nobody defined is 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_DIRECTIVE = re.compile(r"^\s*#\s*(ifdef|ifndef|if|elif|else|endif|define|undef)\b(.*)", re.DOTALL)
_TOKEN = re.compile(r"\s*(&&|\|\||==|!=|>=|<=|[()!<>]|\w+|__has_include\([^)]*\))")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def live_lines(text: str, macros: Mapping[str, int]) -> str:
    """The text with every line blanked that is compiled out, and every conditional directive."""
    known = dict(macros)
    stack: list[tuple[bool, bool]] = []  # (this branch is live, a branch of this #if was taken)
    out: list[str] = []
    for line in _logical_lines(without_comments(text)):
        blank = "\n" * line.count("\n")
        match = _DIRECTIVE.match(line.replace("\\\n", " "))
        outer = all(live for live, _ in stack[:-1])
        live = all(branch for branch, _ in stack)
        word, rest = (match[1], match[2].strip()) if match else ("", "")
        if word in ("if", "ifdef", "ifndef"):
            taken = live and _condition(word, rest, known)
            stack.append((taken, taken))
        elif word in ("elif", "else"):
            taken = outer and not stack[-1][1] and (word == "else" or _condition("if", rest, known))
            stack[-1] = (taken, stack[-1][1] or taken)
        elif word == "endif":
            stack.pop()
        elif live:
            _remember(word, rest, known)
            out.append(line)
            continue
        out.append(blank)
    return "".join(out)


def without_comments(text: str) -> str:
    return _COMMENT.sub(lambda match: "\n" * match[0].count("\n") or " ", text)


def _logical_lines(text: str) -> list[str]:
    return re.findall(r"(?:[^\n]*\\\n)*[^\n]*\n|[^\n]+$", text)


def _remember(word: str, rest: str, known: dict[str, int]) -> None:
    name, _, value = rest.partition(" ")
    if word == "define":
        known[name] = int(value) if value.strip().isdigit() else 1
    elif word == "undef":
        known.pop(name, None)


def _condition(word: str, rest: str, known: Mapping[str, int]) -> bool:
    if word != "if":
        return (rest.split()[0] in known) == (word == "ifdef")
    return bool(_Expression(_TOKEN.findall(rest), known).alternative())


class _Expression:
    """Recursive descent over the tokens of one `#if`."""

    def __init__(self, tokens: list[str], known: Mapping[str, int]) -> None:
        self.tokens = [*tokens, ""]
        self.known = known

    def take(self, *wanted: str) -> str:
        return self.tokens.pop(0) if self.tokens[0] in wanted else ""

    def alternative(self) -> int:
        value = self.conjunction()
        while self.take("||"):
            value = int(bool(self.conjunction()) or bool(value))
        return value

    def conjunction(self) -> int:
        value = self.comparison()
        while self.take("&&"):
            value = int(bool(self.comparison()) and bool(value))
        return value

    def comparison(self) -> int:
        left = self.primary()
        operator = self.take("==", "!=", "<", ">", "<=", ">=")
        if not operator:
            return left
        right = self.primary()
        orders = {"==": left == right, "!=": left != right, "<": left < right, ">": left > right}
        return int(orders.get(operator, left <= right if operator == "<=" else left >= right))

    def primary(self) -> int:
        if self.take("!"):
            return int(not self.primary())
        if self.take("("):
            value = self.alternative()
            self.take(")")
            return value
        word = self.tokens.pop(0)
        if word == "defined":
            bracket = self.take("(")
            name = self.tokens.pop(0)
            if bracket:
                self.take(")")
            return int(name in self.known)
        if word == "__has_include":
            while self.tokens.pop(0) != ")":
                pass
            return 0
        return int(word, 0) if word[:1].isdigit() else self.known.get(word, 0)
