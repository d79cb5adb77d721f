"""Parsers of other people's files: each runs in a child process that has little CPU time and memory."""

import json
import os
import posix
import resource
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from poolsize.bounds import shortened
from poolsize.errors import BadInput

if TYPE_CHECKING:
    from pydantic import TypeAdapter

CPU_SECONDS = 3
MEMORY_BYTES = 2**27
"""What a parser may allocate. Only Linux enforces this limit; CPU time is limited everywhere."""
WALL_SECONDS = 60
MOST_RESULT_BYTES = 2**20
LONGEST_ERROR = 400
RESULT, REFUSAL = b"+", b"-"
"""The first byte of a child's answer: the result as JSON follows, or the text of a refusal."""

T = TypeVar("T")


def parsed(parse: Callable[[], Any], kind: type[T], named: str) -> T:
    """Return the result of a parser, which runs in a fork of this process.

    parse: returns a value that JSON can hold, of this kind. The result is validated: it may come from a parser that the
    file has taken over. named: begins the error. Raises BadInput for a file that the parser refuses or breaks at, and
    for one that takes more time or memory than its kind of file does.

    A fork takes 1 to 2 ms. It is safe as long as no other thread of this process holds a lock that the parser needs;
    the commands read files before they start threads.
    """
    reading, writing = os.pipe()
    child = posix.fork()  # under Locust, os.fork is gevent's, which would start its event loop again in the child
    if child == 0:
        _parse(parse, writing)
    os.close(writing)
    try:
        from pydantic import ValidationError  # meanwhile the child parses

        answer = _answer(reading)
    finally:
        os.close(reading)
        with suppress(OSError):  # gevent may have waited for the child already
            os.kill(child, signal.SIGKILL)
            posix.waitpid(child, 0)
    if answer.startswith(REFUSAL):
        raise BadInput(f"{named}: {shortened(answer[1:].decode(errors='replace'), LONGEST_ERROR)}")
    with suppress(ValidationError):
        if answer.startswith(RESULT) and len(answer) <= MOST_RESULT_BYTES:
            value: T = _adapter(cast("Any", kind)).validate_json(answer[1:])
            return value
    raise BadInput(
        f"{named} can't be parsed within {CPU_SECONDS} s of CPU time, {MEMORY_BYTES // 2**20} MiB and a result of "
        f"{MOST_RESULT_BYTES // 2**20} MiB: it is another kind of file, or damaged"
    )


@cache
def _adapter(kind: Any) -> "TypeAdapter[Any]":
    """Return what validates a result of a kind. Building it takes 2 ms, and a folder has hundreds of files."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _answer(reading: int) -> bytes:
    """Return what a child writes, up to somewhat more than the longest result; less where it takes too long."""
    answer, deadline = bytearray(), time.monotonic() + WALL_SECONDS
    waiting = select.poll()
    waiting.register(reading, select.POLLIN)
    while len(answer) <= MOST_RESULT_BYTES and waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
        part = os.read(reading, 2**16)
        if not part:
            return bytes(answer)
        answer += part
    return b""


def _parse(parse: Callable[[], Any], writing: int) -> NoReturn:
    """Write the answer of a parser, and end this process."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _limit()
        try:
            answer = RESULT + json.dumps(parse(), default=str).encode()
        except BadInput as error:
            answer = REFUSAL + str(error)[:LONGEST_ERROR].encode(errors="replace")
        except RecursionError:
            answer = REFUSAL + b"its values are nested too deeply"
        except MemoryError:
            answer = b""
        except Exception as error:  # no parser is trusted to know its own errors
            answer = REFUSAL + f"its parser fails with {type(error).__name__}: the file is damaged".encode()
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
    finally:
        os._exit(0)


def _limit() -> None:
    """Limit the CPU time and the memory of this process, and let it leave no core file."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, CPU_SECONDS)
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[5])
        _lower(resource.RLIMIT_DATA, pages * resource.getpagesize() + MEMORY_BYTES)


def _lower(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))
