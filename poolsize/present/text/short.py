"""Answers in a few lines: what to use, why, the most important caution, and the commands to type next."""

from collections.abc import Iterable, Sequence

from poolsize.answer.finding import Finding, Severity, ToDivide
from poolsize.present.text.layout import paragraph
from poolsize.present.text.sentences.findings import sentence, way_out_text
from poolsize.quick_record import QuickRecord
from poolsize.terminal import pasteable

WHY = "--why"
"""The option that prints the evidence."""
SAME = f"add {WHY} for reasons, tables and all cautions"
"""The last line of an answer's next commands."""
LABEL = 9
"""Columns of a line's label."""
TWO_LINES, FOUR_LINES, ANY_LENGTH = 150, 300, 10_000
"""Characters of a text that takes so many lines."""
Labelled = tuple[str, str]
"""A label and its text."""


class NextOptions(QuickRecord):
    """The options by which the commands to type next take an answer again.

    of_database: what the database can use, in `recommend --rate`; empty where it can't take the same. of_size: the
    connections, in `config`; empty for --size. usage_time: of the user's transactions; None where it is not known.
    serves_traffic: whether the pools serve a known traffic, so that no command shows what it needs.
    """

    of_database: tuple[object, ...] = ()
    of_size: tuple[object, ...] = ()
    usage_time: str | None = None
    serves_traffic: bool = False

    def need_command(self, *of_fleet: object) -> str:
        """Return the command that shows what the traffic needs. of_fleet: options that describe the processes."""
        traffic = ("--rate", "RATE", "--usage-time", self.usage_time or "TIME")
        return pasteable("poolsize", "recommend", *self.of_database, *traffic, *of_fleet)


def short_answer(headline: str, labelled: Iterable[Labelled], commands: Sequence[str], further: str = "") -> str:
    """Return the headline, a paragraph for each text behind its label, and the commands to type next, one a line.

    further: a block between, such as a table; "" for none. A text that is empty is left out.
    """
    lines = [paragraph(headline), *filter(None, [further])]
    lines += [paragraph(text, f"  {label:<{LABEL}}") for label, text in labelled if text]
    labels = ["Next", *[""] * len(commands)]
    lines += [f"  {label:<{LABEL}}{command}" for label, command in zip(labels, commands, strict=False)]
    return "\n".join(lines)


def leading(text: str, most: int = 0) -> str:
    """Return the first sentence of a text, and further ones while all have at most so many characters."""
    first, *others = text.replace(". ", ".\n").split("\n")
    for other in others:
        if len(first) + 1 + len(other) > most:
            break
        first += f" {other}"
    return first


def main_caution(findings: Iterable[Finding]) -> Labelled:
    """Return the most important warning, with its way out and the number of the others; "" without a warning.

    findings: in the order to read them. That all clients share the size stands in the first line.
    """
    warnings = [each for each in findings if each.severity is not Severity.REASON and not isinstance(each, ToDivide)]
    if not warnings:
        return "Caution", ""
    first, *others = sorted(warnings, key=lambda each: not each.is_doubt)
    return "Caution", brief(first) + (f" ({len(others)} more: {WHY})" if others else "")


def brief(finding: Finding) -> str:
    """Return the first sentences of a finding, more of them where it puts the answer in doubt, with its way out."""
    whole = sentence(finding)
    text = leading(whole, FOUR_LINES if finding.is_doubt or finding.leads else TWO_LINES)
    way_out = getattr(finding, "way_out", None)
    if way_out is None or text == whole:
        return text
    action = leading(way_out_text(way_out)).rstrip(".")
    return text if action.casefold() in text.casefold() else f"{text} {action[0].upper()}{action[1:]}."
