"""Templates in YAML: what Helm ({{ ... }}) and Maven (@name@) fill in, which is no YAML before they do."""

import re
from collections.abc import Callable

from poolsize.pool_config.files.values import MAVEN

CONTROL = re.compile(r"\{\{-?\s*(?:if|else|end|range|with|define|block|template|/\*)")
"""Templates that are replaced by nothing."""
MARKED = re.compile(r"pOOlsizeTemplate(\d{1,7})x")
"""What stands for a template while the YAML is parsed."""


def without_templates(text: str) -> tuple[str, Callable[[str], str]]:
    """Return a text that may be parsed as YAML, its lines as before, and what gives a value its templates again.

    A line with nothing but a template, such as a condition or an included block, becomes empty.
    """
    templates: list[str] = []

    def marked(template: str) -> str:
        templates.append(template)
        return f"pOOlsizeTemplate{len(templates) - 1}x"

    def original(value: str) -> str:
        return MARKED.sub(lambda match: templates[int(match[1])] if int(match[1]) < len(templates) else "", value)

    parts, done = [], 0
    while (start := text.find("{{", done)) >= 0 and (end := text.find("}}", start) + 2) > 1:
        line_end = text.find("\n", end)
        after = text[end : line_end if line_end >= 0 else len(text)].strip()
        is_line = not text[text.rfind("\n", 0, start) + 1 : start].strip() and (not after or after.startswith("#"))
        template = text[start:end]
        lines = "\n" * template.count("\n")
        parts += [text[done:start], lines if is_line or CONTROL.match(template) else marked(template) + lines]
        done = end
    return MAVEN.sub(lambda match: marked(match[0]), "".join([*parts, text[done:]])), original
