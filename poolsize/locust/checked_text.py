"""Executes a locustfile only while its text has the hash that the process which started Locust knows."""

import hashlib
import os
import sys
from importlib import machinery
from types import CodeType
from typing import Any

from locust.util.load_locustfile import load_locustfile

from poolsize.sweep.events import LOCUSTFILE_SHA256


class CheckedText(machinery.SourceFileLoader):
    """Compiles the text that it has checked, and uses no compiled file beside it, which may be of another text."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 (importlib's signature)
        """Return the code of the text. Ends the process where the text has another hash."""
        text = self.get_data(self.path)
        if hashlib.sha256(text).hexdigest() != os.environ[LOCUSTFILE_SHA256]:
            sys.exit(f"{self.path} has changed since its text was checked: start again")
        code: CodeType = self.source_to_code(text, self.path)
        return code


def load_checked(path: str) -> Any:
    """Let Locust load a locustfile, with the check where this process was given a hash."""
    before = machinery.SourceFileLoader
    if LOCUSTFILE_SHA256 in os.environ:
        machinery.SourceFileLoader = CheckedText  # type: ignore[misc]  # Locust has no option for its loader
    try:
        return load_locustfile(path)
    finally:
        machinery.SourceFileLoader = before  # type: ignore[misc]  # likewise
