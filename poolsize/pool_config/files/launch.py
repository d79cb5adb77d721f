"""Commands and files that start processes -> their numbers: of gunicorn, uvicorn and others, PM2, puma, Dockerfiles."""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal

from poolsize.pool_config.files.javascript_tree import TSX, JavascriptTree
from poolsize.pool_config.files.python_source import assigned_in
from poolsize.pool_config.files.rails import ASSIGNMENT, ruby_number
from poolsize.pool_config.files.source_tree import line as line_of
from poolsize.pool_config.files.values import Entry, at_least_1, number_from
from poolsize.pool_config.pool import Count, FileSetting

PROGRAMS = {
    "gunicorn": ("-w", "--workers"), "uvicorn": ("--workers",), "fastapi": ("--workers",), "granian": ("--workers",),
    "hypercorn": ("-w", "--workers"), "uwsgi": ("-p", "--processes", "--workers"), "puma": ("-w", "--workers"),
    "celery": ("-c", "--concurrency"), "unicorn": (),
}  # fmt: skip
"""Program -> its options for the number of processes, each of which has pools of its own."""
GUNICORN_OPTIONS = "GUNICORN_CMD_ARGS"
NUMBERS = {"WEB_CONCURRENCY"}
"""Variables by which gunicorn, uvicorn and puma take the number of processes."""
THREADS_ONLY = re.compile(r"(?:-P|--pool)[= ]?(?:threads|gevent|eventlet|solo)\b")
"""Celery's pools without processes."""
STARTS_JAVA = re.compile(r"(?:^|[\s/=\"'])java[\s\"']|\s-jar\s")
"""In a command that starts Java."""
OF_JAVA = re.compile(rf"{STARTS_JAVA.pattern}|JAVA\w{{0,20}}OPT\w{{0,20}}=")
"""In a command that starts Java, or that sets a variable such as JAVA_OPTS to Java's options."""
ASSIGNED = re.compile(r"^(?:\w{1,100}=){1,3}(?=-)")
"""The name of a variable whose text begins with an option, as in JAVA_OPTS=-Xmx1g."""
PIECE = re.compile(
    r"[^'\"\\#;&|]+|'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\."
    r"|(?P<open>['\"])|(?P<comment>(?<![^\s;&|(])#.*)|(?P<end>;|&&|\|\|)|.",
    re.DOTALL,
)
"""Of a shell's line: text, a quoted text, the beginning of one without an end, a comment, the end of a command."""
MOST_LINES = 20
"""Of a command with a quoted text. Beyond these, the quotation mark may be an apostrophe."""
Words = Sequence[tuple[str, int]]
"""The words of a command, each with its line."""


def split_words(words: Words) -> list[tuple[str, int]]:
    """Return the words of a command; those of a shell's line in it, as in `sh -c "gunicorn -w 4"`, one by one."""
    return [(part, line) for word, line in words for part in (_parts(word) if " " in word.strip() else [word])]


def _parts(line: str) -> list[str]:
    """Return the words of a shell's line; none of a line that a shell does not accept."""
    try:
        return shlex.split(line)
    except ValueError:
        return []


def process_counts(words: Words, workload: str = "") -> Iterator[Count]:
    """Yield the number of processes that a command starts, where it states the number."""
    words = split_words(words)
    for place, (word, _) in enumerate(words):
        program = PurePosixPath(word).name
        following = words[place + 1 :]
        if program == "celery" and THREADS_ONLY.search(" ".join(word for word, _ in following)):
            return
        if program in PROGRAMS:
            yield from _stated(PROGRAMS[program], following, workload)
            if program == "gunicorn":
                yield from _stated(("--threads",), following, workload, "threads")
            return


def _stated(
    options: Sequence[str], words: Words, workload: str, kind: Literal["processes", "threads"] = "processes"
) -> Iterator[Count]:
    setting = None
    for (word, line), (following, _) in pairwise([*words, ("", 0)]):
        for option in options:
            value = following if word == option else None
            if word.startswith(f"{option}="):
                value = word.partition("=")[2]
            elif len(option) == 2 and word.startswith(option) and word[2:].isdecimal():
                value = word[2:]
            if value is not None:
                setting = FileSetting(option, value, number_from(value), line)
    if setting:
        yield Count(kind, setting, workload)


def variable_counts(variables: Sequence[Entry], workload: str) -> Iterator[Count]:
    """Yield the numbers of processes in environment variables. Each variable's path is its name."""
    for name, text, line in ((each.path[0], each.text, each.line) for each in variables):
        if name in NUMBERS:
            yield Count("processes", FileSetting(name, text, number_from(text), line), workload)
        elif name == GUNICORN_OPTIONS:
            yield from process_counts([("gunicorn", line), (text, line)], workload)


def gunicorn_counts(text: str) -> list[Count]:
    """Return the numbers of processes, and of a process's threads, in gunicorn's configuration.

    Other kinds of workers take no number of threads. Raises BadInput for a text that is not Python.
    """
    kind = assigned_in(text, "worker_class")
    numbers = {"processes": assigned_in(text, "workers")}
    if kind is None or kind.value in {"sync", "gthread"}:
        numbers["threads"] = assigned_in(text, "threads")
    return [Count(name, setting) for name, setting in numbers.items() if setting]


def procfile_counts(text: str) -> list[Count]:
    """Return the number of processes of each line, NAME: COMMAND, of a Procfile."""
    return [
        count
        for number, line in enumerate(text.splitlines(), 1)
        for count in process_counts([(line.partition(":")[2].strip(), number)], line.partition(":")[0].strip())
    ]


PUMA_WORKERS = re.compile(r"workers[ \t(]{1,9}(?P<code>[^\n]{1,300})")


def dockerfile(text: str) -> tuple[list[tuple[str, int]], list[Entry]]:
    """Return the command of a Dockerfile's last stage, and its environment variables."""
    commands: dict[str, list[tuple[str, int]]] = {}
    variables: list[Entry] = []
    for name, rest, number in _instructions(text):
        if name == "FROM":
            commands, variables = {}, []
        elif name in {"ENTRYPOINT", "CMD"}:
            commands[name] = _words(rest, number)
        elif name == "ENV":
            words = [word for word, _ in split_words([(f"{rest} ", number)])]
            if words and "=" not in words[0]:  # ENV NAME VALUE
                words = ["=".join(words[:2])]
            pairs = (word.partition("=") for word in words)
            variables += [Entry((key,), value.strip(" \"'"), number) for key, _, value in pairs]
    return [*commands.get("ENTRYPOINT", ()), *commands.get("CMD", ())], variables


def _instructions(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the instructions of a Dockerfile: the name in capitals, the rest with its further lines, and the line."""
    for each, number in _whole_lines(text):
        name, _, rest = each.partition(" ")
        if rest.strip():
            yield name.upper(), rest.strip(), number


def _whole_lines(text: str, comments: tuple[str, ...] = ("#",)) -> Iterator[tuple[str, int]]:
    """Yield the lines of a text without comments, each with the lines that continue it, and its number."""
    parts: list[str] = []
    start = 0
    for number, each in enumerate(text.splitlines(), 1):
        if not each.strip() or each.lstrip().startswith(comments):
            continue
        start = start if parts else number
        parts.append(each.rstrip().removesuffix("\\"))
        if not each.rstrip().endswith("\\"):
            yield " ".join(parts).strip(), start
            parts = []
    if parts:
        yield " ".join(parts).strip(), start


def java_commands(text: str, *, is_unit: bool) -> Iterator[tuple[list[tuple[str, int]], bool]]:
    """Yield the words of each command in a script that starts Java or sets its options, and whether it starts Java.

    is_unit: whether the script is a unit of systemd, else of a shell.
    """
    for command, line in _whole_lines(text, ("#", ";")) if is_unit else _shell_commands(text):
        if OF_JAVA.search(command):
            words = split_words([(part, line) for part in _parts(command)])
            yield [(ASSIGNED.sub("", word), line) for word, line in words], bool(STARTS_JAVA.search(command))


def unit_counts(text: str) -> Iterator[Count]:
    """Yield the numbers of processes that the commands of a unit of systemd start."""
    for line, number in _whole_lines(text, ("#", ";")):
        name, _, command = line.partition("=")
        if name.strip() == "ExecStart":
            yield from process_counts(split_words([(command, number)]))


def _shell_commands(text: str) -> Iterator[tuple[str, int]]:
    """Yield the commands in the lines of a shell script that mention Java, each with its line.

    A line has the following ones while a quotation is open. It is left out if that has no end.
    """
    lines = list(_whole_lines(text))
    following = 0
    for place, (first, number) in enumerate(lines):
        if place < following or not OF_JAVA.search(first):
            continue
        for end in range(place + 1, place + 1 + MOST_LINES):
            if commands := _split(" ".join(line for line, _ in lines[place:end])):
                yield from ((command, number) for command in commands)
                following = end
                break


def _split(line: str) -> list[str]:
    """Return the commands in a line of a shell, without its comment; none where a quotation is open."""
    commands, start = [], 0
    for piece in PIECE.finditer(line):
        if piece["open"]:
            return []
        if piece["comment"] or piece["end"]:
            commands.append(line[start : piece.start()])
            start = piece.end()
    return [*commands, line[start:]]


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
            setting = None if workers == 0 else FileSetting("workers", written, at_least_1(workers), number)
    return [Count("processes", setting)] if setting else []


def pm2_counts(text: str) -> list[Count]:
    """Return the number of processes of each application of PM2; None for max and 0, which mean all CPUs."""
    tree = JavascriptTree(text, TSX)
    counts = []
    for node in tree.nodes("object"):
        pairs, _ = tree.pairs(node)
        if "instances" in pairs and "script" in pairs:
            pair = pairs["instances"]
            value = at_least_1(tree.value(pair.value))
            name = tree.value(pairs["name"].value) if "name" in pairs else ""
            setting = FileSetting("instances", tree.text(pair.value), value, line_of(pair.key))
            counts.append(Count("processes", setting, name if isinstance(name, str) else ""))
    return counts
