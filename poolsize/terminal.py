"""Standard output and standard error: control characters are shown and not obeyed, and a stream may be gone."""

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOBase
from typing import Any, TextIO, cast

from poolsize.errors import WorkFailed

_CONTROLS = (
    range(0x09), range(0x0B, 0x20),  # C0, without tab and newline
    range(0x7F, 0xA0),  # DEL and C1
    range(0x202A, 0x202F), range(0x2066, 0x206A),  # they change the direction of a text
    range(0xD800, 0xE000),  # bytes of a file's name that are not UTF-8
)  # fmt: skip


class _Shown(dict[int, int | str]):
    """Code of a character -> what is shown for it, made when it is first needed."""

    def __missing__(self, code: int) -> int | str:
        self[code] = shown = f"\\u{code:04x}" if any(code in codes for codes in _CONTROLS) else code
        return shown


_SHOWN = _Shown()


def visible(text: str) -> str:
    r"""Return a text in which a terminal obeys no character but newline and tab: others stand as \u001b.

    JSON stays the same JSON.
    """
    return text.translate(_SHOWN)


def pasteable(*words: object) -> str:
    """Return a command, or a part of it, that a shell reads as these words. A path can't pass for an option."""
    import shlex  # a command that prints no other starts without it

    paths = {word for word in words if isinstance(word, os.PathLike)}
    return shlex.join(f"./{word}" if word in paths and str(word).startswith("-") else str(word) for word in words)


class Output(TextIOBase):
    """A standard stream on which every text is `visible`.

    Where the reader of standard output is gone, the program ends silently. Another failure to write there raises
    WorkFailed; on standard error, texts that can't be written are lost.
    """

    def __init__(self, stream: TextIO | None, name: str, show: Callable[[str], str] = visible) -> None:
        """stream: None if it is closed. name: "output" or "error"."""
        self._stream = stream
        self._name = name
        self._show = show
        self._failure = OSError(errno.EBADF, "it is closed") if stream is None else None

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a property of the stream below
        """The encoding of the stream."""
        return self._stream.encoding if self._stream is not None else "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]  # likewise
        """What happens to a character that the encoding does not have."""
        return (self._stream.errors if self._stream is not None else None) or "replace"

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        """Return the stream's descriptor. Raises OSError if it is closed."""
        if self._stream is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._stream.fileno()

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str | bytes) -> int:
        """Write a text, or the bytes of a text, which click writes for a shell's completion.

        Raises TypeError for b"", by which click asks whether a stream is of bytes.
        """
        if text == b"":
            raise TypeError("the stream is of text")
        shown = self._show(text if isinstance(text, str) else text.decode(errors="replace"))
        self._try(lambda stream: stream.write(shown))
        return len(text)

    def flush(self) -> None:
        """Write what waits in the stream's buffer."""
        if self._stream is not None:
            self._try(lambda stream: stream.flush())

    def close(self) -> None:
        """Leave the stream open: Python closes an Output that it frees, which would flush the stream again."""

    def _try(self, do: Callable[[TextIO], Any]) -> None:
        try:
            if self._stream is not None and self._failure is None:
                do(self._stream)
        except OSError as error:
            self._failure = error
            self._drop()
        if self._failure is None or self._name == "error":
            return
        if self._failure.errno == errno.EPIPE:
            sys.exit(128 + signal.SIGPIPE)
        raise WorkFailed(f"standard output can't be written: {self._failure.strerror}")

    def _drop(self) -> None:
        """Let what is still in the buffer go nowhere: Python writes it once more at the program's end."""
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)


@contextmanager
def guarded_output() -> Iterator[None]:
    """Within the context, let standard output and standard error be Outputs."""
    _open_descriptors()
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        cast("TextIO", Output(stream, name)) for stream, name in zip(streams, ("output", "error"), strict=True)
    )
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def drawn_on(stream: TextIO) -> TextIO:
    """Return the stream for a library that draws on the terminal, and that gets texts from `visible` only."""
    return cast("TextIO", Output(stream._stream, stream._name, str)) if isinstance(stream, Output) else stream


def _open_descriptors() -> None:
    """Open the standard descriptors that are closed: the next file or socket would take their place."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
