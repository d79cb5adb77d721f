"""The pools of a file with their findings, as text for a terminal."""

from collections.abc import Sequence

from poolsize.pool_config.check import CheckedPool, Difference
from poolsize.pool_config.library import HIKARICP, Value
from poolsize.present.text.layout import Table, bullets
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences
from poolsize.terminal import pasteable
from poolsize.units import count


def pool_checks_text(file: str, pools: Sequence[CheckedPool], more: int = 0) -> str:
    """Return, for each pool of a file, its settings, its findings, and what differs from the recommendation.

    more: the number of further pools in the file.
    """
    further = [f"The file has {count(more, 'more pool')}, which poolsize does not check."] if more else []
    return "\n\n".join([*(_pool_text(file, pool) for pool in pools), *further])


def _pool_text(file: str, checked: CheckedPool) -> str:
    pool = checked.pool
    place = f", {pool.place}" if pool.place else ""
    most = f", up to {count(checked.most_connections, 'connection')}" if checked.most_connections else ""
    parts = [f"{pool.library.title} ({file}{place}){most}"]
    rows = tuple(
        (
            setting,
            each.text if each.value is not None or each.text == "None" else f"{each.text} (unknown)",
            str(each.line),
        )
        for setting, each in pool.settings.items()
    )
    if rows:
        parts.append(Table(("setting", "value", "line"), rows).as_text())
    if warnings := warning_sentences(checked.findings):
        parts.append("Caution:\n" + bullets(warnings))
    if reasons := reason_sentences(checked.findings):
        parts.append("Departures from advice:\n" + bullets(reasons))
    if not checked.findings:
        parts.append("No known problem.")
    if checked.differences is not None:
        parts.append(_differences_text(checked))
    return "\n\n".join(parts)


def _differences_text(checked: CheckedPool) -> str:
    if not checked.differences:
        return "All settings are as recommended."
    rows = tuple(
        (
            each.name,
            _in_file(each),
            _text(each.recommended, each.unit),
        )
        for each in checked.differences
    )
    table = Table(("setting", "in the file", "recommended"), rows).as_text()
    of_spring = checked.pool.library is HIKARICP and checked.pool.place.startswith("spring")
    stack = "spring-boot" if of_spring else checked.pool.library.stack
    command = pasteable("poolsize", "config", "--for", stack)
    return f"Different from the recommendation; `{command}` has the reasons:\n\n{table}"


def _in_file(difference: Difference) -> str:
    if difference.in_file is None:
        return "not set" if difference.is_default else "unknown"
    return _text(difference.in_file, difference.unit) + (" (default)" if difference.is_default else "")


def _text(value: Value, unit: str | None) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    number = int(value) if value == int(value) else value
    return f"{number:,}" + (f" {unit}" if unit else "")
