"""The sentences of findings, checks and bottlenecks; each module that is imported here registers its findings' own."""

from poolsize.present.text.sentences import fleet, formula, reasons, warnings

__all__ = ["fleet", "formula", "reasons", "warnings"]
