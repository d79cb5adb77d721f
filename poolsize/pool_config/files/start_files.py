"""A Dockerfile, PM2's ecosystem.config.js and puma.rb -> the number of processes that each starts."""

import json
import re
from collections.abc import Iterator

from poolsize.pool_config.files.javascript_tree import TSX, JavascriptTree
from poolsize.pool_config.files.launch import process_counts, split_words, variable_counts
from poolsize.pool_config.files.rails import ASSIGNMENT, ruby_number
from poolsize.pool_config.files.source_tree import line
from poolsize.pool_config.pool import Count, FileSetting

PUMA_WORKERS = re.compile(r"workers[ \t(]{1,9}(?P<code>[^\n]{1,300})")


def dockerfile_counts(text: str) -> list[Count]:
    """Return the number of processes of the last stage's command, and of the variables that set it."""
    commands: dict[str, list[tuple[str, int]]] = {}
    variables: list[tuple[str, str, int]] = []
    for name, rest, number in _instructions(text):
        if name == "FROM":
            commands, variables = {}, []
        elif name in {"ENTRYPOINT", "CMD"}:
            commands[name] = _words(rest, number)
        elif name == "ENV":
            words = [word for word, _ in split_words([(f"{rest} ", number)])]
            if words and "=" not in words[0]:  # ENV NAME VALUE
                words = ["=".join(words[:2])]
            variables += [
                (key, value.strip(" \"'"), number) for key, _, value in (word.partition("=") for word in words)
            ]
    counts = process_counts([*commands.get("ENTRYPOINT", ()), *commands.get("CMD", ())])
    return [*counts, *variable_counts(variables)]


def _instructions(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the instructions of a Dockerfile: the name in capitals, the rest with its further lines, and the line."""
    parts: list[str] = []
    start = 0
    for number, each in enumerate(text.splitlines(), 1):
        if not each.strip() or each.lstrip().startswith("#"):
            continue
        start = start if parts else number
        parts.append(each.rstrip().removesuffix("\\"))
        if not each.rstrip().endswith("\\"):
            name, _, rest = " ".join(parts).strip().partition(" ")
            if rest.strip():
                yield name.upper(), rest.strip(), start
            parts = []


def _words(command: str, number: int) -> list[tuple[str, int]]:
    """Return the words of a command: a JSON array, or the line of a shell."""
    try:
        words = json.loads(command) if command.startswith("[") else None
    except (ValueError, RecursionError):
        words = None
    if isinstance(words, list):
        return [(word, number) for word in words if isinstance(word, str)]
    return split_words([(f"{command} ", number)])


def puma_counts(text: str) -> list[Count]:
    """Return the number of processes in puma.rb: `workers`, also through a variable. 0 is a single process."""
    assigned: dict[str, str] = {}
    setting = None
    for number, each in enumerate(text.splitlines(), 1):
        if match := ASSIGNMENT.fullmatch(each.strip()):
            assigned[match["name"]] = match["code"]
        elif match := PUMA_WORKERS.fullmatch(each.strip()):
            written = match["code"].split(" #")[0].strip()
            written = written[:-1] if written.count(")") > written.count("(") else written
            workers = ruby_number(assigned.get(written, written))
            setting = None if workers == 0 else FileSetting("workers", written, _at_least_1(workers), number)
    return [Count("processes", setting)] if setting else []


def pm2_counts(text: str) -> list[Count]:
    """Return the number of processes of each application of PM2; None for max and 0, which mean all CPUs."""
    tree = JavascriptTree(text, TSX)
    counts = []
    for node in tree.nodes("object"):
        pairs, _ = tree.pairs(node)
        if "instances" in pairs and "script" in pairs:
            pair = pairs["instances"]
            value = _at_least_1(tree.value(pair.value))
            name = tree.value(pairs["name"].value) if "name" in pairs else ""
            setting = FileSetting("instances", tree.text(pair.value), value, line(pair.key))
            counts.append(Count("processes", setting, name if isinstance(name, str) else ""))
    return counts


def _at_least_1(value: object) -> int | None:
    """Return a number of processes; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else None
