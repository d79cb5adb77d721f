"""Findings on pools: the base of all records, each of which has its sentence."""

from typing import ClassVar

from poolsize.answer.finding import Finding
from poolsize.present.text.sentences.findings import sentence


class Worded(Finding):
    """A finding with its own sentence: words, with the figures in place of {0.NAME}.

    gravity: 2 where the program does not start, 1 where requests get errors.
    """

    words: ClassVar[str]
    gravity: ClassVar[int] = 0

    @property
    def about(self) -> str | None:
        """The setting that the finding is about; None for the one that has the pool size."""
        return None


@sentence.register
def _(finding: Worded) -> str:
    return finding.words.format(finding)


class OfSetting(Worded):
    """A finding on a setting. setting: its name, as the file or the library spells it."""

    setting: str

    @property
    def about(self) -> str:
        """The setting."""
        return self.setting


class MayBeDefault(OfSetting):
    """A finding on a value. is_default: whether the value is the library's default, because the file has none."""

    is_default: bool
    default_at_end = property(lambda self: ", the default" if self.is_default else "")
    default = property(lambda self: f"{self.default_at_end}," if self.is_default else "")
