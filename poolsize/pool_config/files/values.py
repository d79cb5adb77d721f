"""The text of a setting -> its value: numbers, durations, true and false, and the defaults of placeholders."""

import re

from poolsize.pool_config.pool import Value

PLACEHOLDER = re.compile(r"\$\{[^:{}]+(?::(?P<default>.*))?\}")
"""Of Spring: ${NAME:default}; the default may have further colons."""
REFERENCE = re.compile(r"\$(?:\{\w{1,120}(?::?-(?P<default>[^{}$]{0,200}))?\}|\(\w{1,120}\)|\w{1,120})")
"""Of Compose and shells, ${NAME:-default} and $NAME, and of Kubernetes, $(NAME)."""
NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,6})?")
"""Longer numbers are not settings of a pool."""
DURATION = re.compile(r"(?P<number>\d{1,12})(?P<unit>ms|s|m|h|d)")
IN_TEMPLATE = re.compile(r"\{\{.{0,200}[\"'( ](?P<default>\d{1,9})[\"') ]{0,9}\}\}")
"""Of Go templates and Jinja: {{ getenv "SIZE" "48" }} and {{ size | default(48) }}."""
MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def value_of(text: str, *, durations: bool = False) -> Value:
    """Return the value of a text; of a placeholder, its default or None.

    durations: whether the library reads 30s and 5m; they become milliseconds.
    """
    text = text.strip()
    if match := PLACEHOLDER.fullmatch(text):
        default = match["default"]
        return value_of(default, durations=durations) if default else None
    if "${" in text:
        return None
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if match := NUMBER.fullmatch(text):
        return float(text) if match[1] else int(text)
    if durations and (match := DURATION.fullmatch(text)):
        return int(match["number"]) * MILLISECONDS[match["unit"]]
    return text


def templated_value(text: str) -> Value:
    """Return the value of a text in a template: the default of a placeholder of any kind; None for one without."""
    if match := IN_TEMPLATE.fullmatch(text.strip()):
        return int(match["default"])
    return None if not text or re.search(r"[{}$#%@<]|__", text) else value_of(text)


def plain(text: str) -> str:
    """Return a text with references in Spring's form: ${NAME:-5} as ${NAME:5}, $NAME and $(NAME) as ${NAME}."""
    return REFERENCE.sub(
        lambda match: "${X}" if match["default"] is None else f"${{X:{match['default']}}}", text.replace("$$", "")
    )


def number_from(text: str) -> int | None:
    """Return the whole number from 1 on of a text; None for another text, or a number that is not in the file."""
    value = value_of(plain(text))
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else None
