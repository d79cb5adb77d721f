"""The sentences of findings, checks and bottlenecks; each module that is imported here registers its findings' own."""

from poolsize.present.text.sentences import fleet, reasons, warnings

__all__ = ["fleet", "reasons", "warnings"]
