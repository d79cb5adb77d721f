"""Kotlin source -> Java source with the same lines, for the statements that set pools."""

import re
from collections.abc import Callable, Sequence

from poolsize.pool_config.files.documents import without_comments

LAMBDA = "\x01"
"""Marks the opening brace of a lambda, which in Java ends with })."""
PARAMETER = re.compile(r"(\w{1,60})\s?(?::\s?[\w?.<>]{1,60}\s?)?=\s?([^,()\n]{1,60})")
"""A parameter with a default."""
OF_BASE = re.compile(r"[\w.<>]{1,60}\((?:\w{1,60}\s?=\s?)?\w{1,60}\(\)\s{0,40}\.(?:apply|also)\s?\{\Z")
"""The end of a class's head that is a lambda in the arguments of its base."""


def _class(match: re.Match[str]) -> str:
    base = OF_BASE.search(match[0])
    before = match[0][: base.start()] if base else match[0]
    head = f"class {match[1] or 'Companion'} {{ {_defaults(before.partition(')')[0])}" + "\n" * before.count("\n")
    return f"{head}var base = new {base[0]}" if base else head


def _defaults(parameters: str) -> str:
    return "".join(f"var {name} = {value};" for name, value in PARAMETER.findall(parameters))


def _function(match: re.Match[str]) -> str:
    head = f"var {match[1]} =" if match[3] == "=" else f"void {match[1]}() {{ {_defaults(match[2])}"
    return head + "\n" * match[0].count("\n")


def _lambda(match: re.Match[str]) -> str:
    return f".{match[1]}({match[2] or 'it'} -> {{{LAMBDA}" + "\n" * match[0].count("\n")


REWRITES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern), rewritten)
    for pattern, rewritten in (
        (r"\\\$", "$"),
        (r"\b(\w{1,60})::class(?:\.java)?\b", r"\1.class"),
        (r"\b(?:override|internal|open|const|lateinit|suspend|data|companion|sealed) ", ""),
        (r"\b(?:val|var)\s{1,9}(\w{1,60})[^=\n{]{0,100}\bby lazy\s?\{", rf"var \1 = lazy(it -> {{{LAMBDA}"),
        (r"\b(?:val|var)\s{1,9}(\w{1,60})\s{0,9}(?::[^=\n{]{1,100})?=", r"var \1 ="),
        (
            r"\bfun\s{1,9}(?:[\w.<>?]{1,60}\.)?(\w{1,60})\s?\(([^(){}]{0,1000})\)\s{0,9}(?::[^={\n]{1,100})?(=|\{)",
            _function,
        ),
        (r"(?<!\.)\b(?:object|class|interface)\b\s{0,9}(\w{0,60})[^{};]{0,1000}\{", _class),
        (r"\bwith\s?\((\w{1,60})\)\s?\{", rf"\1.apply(it -> {{{LAMBDA}"),
        (r"\.(apply|also|run|let)\s?\{(?:\s{0,40}(\w{1,60})\s?->)?", _lambda),
        (r"\?:\s{0,40}(?:throw|return|error\()[^\n]*", ""),
        (r"\?:", "|"),
        (r"\?\.", "."),
        (r"!!", ""),
        (r"\b(\d{1,9})\.(seconds|minutes|hours|milliseconds)(?:\.inWholeMilliseconds)?\b", r"\2(\1)"),
    )
)
CONTINUES = re.compile(r"[{;,(=.|&+*/<>:\[]\Z|->\s*\Z|^\s*@\w+(?:\(.*\))?\s*\Z")
"""The end of a line after which a statement goes on; also an annotation."""
CONTINUED = re.compile(r"\s*(?:[.?|)\]{]|else\b|&&|\Z)")
"""The beginning of a line that goes on with a statement."""


def java_of(text: str) -> str:
    """Return Kotlin source as Java, with the same lines. Java's grammar skips text that is not rewritten."""
    text = without_comments(text)
    for pattern, rewritten in REWRITES:
        text = pattern.sub(rewritten, text)
    lines = text.split("\n")
    around: list[str] = []
    for number, line in enumerate(lines):
        closed = "".join(_closed(line, around))
        is_end = (not around or around[-1][0] == "{") and closed.strip()
        ends = is_end and not CONTINUES.search(closed.rstrip()) and not CONTINUED.match(_next_line(lines, number))
        lines[number] = closed + ";" if ends else closed
    return "\n".join(lines)


def _next_line(lines: Sequence[str], number: int) -> str:
    """Return the next line with a text, which comments and empty lines may precede; "" after the last."""
    return next((lines[later] for later in range(number + 1, len(lines)) if lines[later].strip()), "")


def _closed(line: str, around: list[str]) -> list[str]:
    """Return the parts of a line, lambdas closed as in Java. around: the open brackets, which this changes."""
    parts: list[str] = []
    for part in re.findall(rf'"(?:[^"\\]|\\.)*"|\{{{LAMBDA}|[(){{}}]|[^"(){{}}]+|"', line):
        if part[0] in "({":
            around.append(part)
        opened = around.pop() if part in {")", "}"} and around else ""
        is_lambda = opened == "{" + LAMBDA
        needs_end = part == "}" and "".join(parts).strip() and not parts[-1].rstrip().endswith((";", "{", "}"))
        parts.append((";" if needs_end else "") + part.removesuffix(LAMBDA) + (")" if is_lambda else ""))
    return parts
