"""Executes a locustfile only while its text has the hash that the process which started Locust knows."""

import hashlib
import os
import sys
from collections.abc import Callable
from importlib import machinery
from types import CodeType
from typing import TypeVar

LOCUSTFILE_SHA256 = "POOLSIZE_LOCUSTFILE_SHA256"
"""Environment variable with the hash of the locustfile's text."""

T = TypeVar("T")


class CheckedText(machinery.SourceFileLoader):
    """Compiles the text that it has checked, and uses no compiled file beside it, which may be of another text."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 (importlib's signature)
        """Return the code of the text. Ends the process where the text has another hash."""
        text = self.get_data(self.path)
        if hashlib.sha256(text).hexdigest() != os.environ[LOCUSTFILE_SHA256]:
            sys.exit(f"{self.path} has changed since its text was checked: start again")
        code: CodeType = self.source_to_code(text, self.path)
        return code


def checked(load: Callable[[str], T]) -> Callable[[str], T]:
    """Return Locust's function that loads a locustfile, with the check where this process was given a hash."""

    def load_checked(path: str) -> T:
        before = machinery.SourceFileLoader
        if LOCUSTFILE_SHA256 in os.environ:
            machinery.SourceFileLoader = CheckedText  # type: ignore[misc]  # Locust has no option for its loader
        try:
            return load(path)
        finally:
            machinery.SourceFileLoader = before  # type: ignore[misc]  # likewise

    return load_checked
