"""The pools of a file -> what is wrong with them, and what differs from a recommendation; as text and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from poolsize.answer.finding import Finding
from poolsize.pool_config.findings import AboveServer, NotANumber, NotRead, ServerTooSmall
from poolsize.pool_config.library import SERVER
from poolsize.pool_config.pool import FilePool, Value
from poolsize.pool_config.settings import (
    DEFAULT_MAX_CONNECTIONS,
    DEFAULT_WAIT_TIMEOUT_SECONDS,
    PoolSettings,
    ServerFacts,
)
from poolsize.pool_config.stacks import STACKS, configuration
from poolsize.present.text.json_text import json_text
from poolsize.present.text.layout import Table, bullets
from poolsize.present.text.sentences.findings import findings_values, reason_sentences, warning_sentences
from poolsize.terminal import pasteable
from poolsize.units import count


@dataclass(frozen=True)
class Difference:
    """A setting whose value differs from the recommended value.

    name: the library's. in_file: the file's value; where the file has none (is_default), the library's default.
    """

    name: str
    in_file: Value
    is_default: bool
    recommended: Value
    unit: str | None


@dataclass(frozen=True)
class CheckedPool:
    """A pool of a file, checked.

    most_connections: that it may open; None for no limit, for an unknown number, and for the server.
    findings: warnings for what causes errors, reasons for departures from the library's own advice.
    differences: from the recommended configuration; None without a recommendation for this library.
    """

    pool: FilePool
    most_connections: int | None
    findings: tuple[Finding, ...]
    differences: tuple[Difference, ...] | None


def check_pools(
    pools: Sequence[FilePool], server: ServerFacts | None = None, settings: PoolSettings | None = None
) -> tuple[CheckedPool, ...]:
    """Return each pool with its findings.

    server: that the pools connect to; None for the defaults. settings: the recommended ones, or None.
    Raises BadInput for recommended settings that a library does not accept.
    """
    checked = []
    for pool in pools:
        numbers = [pool.number(name) for name in pool.library.sizes]
        is_limited = numbers and numbers[0] > 0 and all(number >= 0 for number in numbers)
        most = int(sum(numbers)) if is_limited else None
        findings = tuple(_findings(pool, most, server or ServerFacts(), settings))
        checked.append(CheckedPool(pool, most, findings, _differences(pool, settings)))
    return tuple(checked)


def _findings(
    pool: FilePool, most: int | None, server: ServerFacts, settings: PoolSettings | None
) -> Iterator[Finding]:
    yield from pool.library.find(pool, server.wait_timeout_seconds or DEFAULT_WAIT_TIMEOUT_SECONDS)
    limit = server.max_connections or DEFAULT_MAX_CONNECTIONS
    if most is not None and most >= limit:
        yield AboveServer(most, limit, server.max_connections is None)
    if pool.library is SERVER and settings and pool.number("max_connections") < settings.needed_connections:
        yield ServerTooSmall(int(pool.number("max_connections")), settings.needed_connections)
    for each in pool.unread:
        yield NotRead(pool.library.title, each.name)
    for setting, in_file in pool.settings.items():
        default = pool.library.defaults[setting]
        if isinstance(in_file.value, str) and isinstance(default, int | float) and not isinstance(default, bool):
            yield NotANumber(in_file.name, in_file.text)


def _differences(pool: FilePool, settings: PoolSettings | None) -> tuple[Difference, ...] | None:
    stack = STACKS.get(pool.library.stack)
    if settings is None or stack is None or not stack.accepts(settings.size):
        return None
    if pool.has("ASGI_APPLICATION"):
        return None  # what is recommended for Django is for WSGI
    differences = []
    for recommended in configuration(stack, settings).settings:
        setting = pool.library.setting(recommended.name.rsplit(".", 1)[-1], relaxed=True)
        if setting is None:
            continue
        in_file = pool.value(setting)
        if in_file is None and not pool.has(setting) and setting in pool.library.same_as:
            in_file = pool.value(pool.library.same_as[setting])
        if in_file != recommended.value:
            differences.append(Difference(setting, in_file, not pool.has(setting), recommended.value, recommended.unit))
    return tuple(differences)


def pool_checks_json(file: str, pools: Sequence[CheckedPool], more: int) -> str:
    """Return a JSON object. Keys: file, pools, and more_pools: the number of further pools in the file.

    pools: library, place, settings, most_connections, findings, and differences.
    findings: also as sentences, in warnings and reasons. differences: null without a recommendation.
    """
    values = [
        {
            "library": checked.pool.library.title,
            "place": checked.pool.place,
            "settings": {name: asdict(setting) for name, setting in checked.pool.settings.items()},
            "most_connections": checked.most_connections,
            "findings": findings_values(checked.findings),
            "warnings": warning_sentences(checked.findings),
            "reasons": reason_sentences(checked.findings),
            "differences": checked.differences and [asdict(difference) for difference in checked.differences],
        }
        for checked in pools
    ]
    return json_text({"file": file, "pools": values, "more_pools": more})


def pool_checks_text(file: str, pools: Sequence[CheckedPool], more: int) -> str:
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
    if pool.settings:
        rows = [
            (name, each.text + (" (unknown)" if each.value is None and each.text != "None" else ""), str(each.line))
            for name, each in pool.settings.items()
        ]
        parts.append(Table(("setting", "value", "line"), rows).as_text())
    if warnings := warning_sentences(checked.findings):
        parts.append("Caution:\n" + bullets(warnings))
    if reasons := reason_sentences(checked.findings):
        parts.append("Departures from advice:\n" + bullets(reasons))
    if not checked.findings:
        parts.append("No known problem.")
    if checked.differences is not None:
        parts.append(_differences_text(pool, checked.differences))
    return "\n\n".join(parts)


def _differences_text(pool: FilePool, differences: Sequence[Difference]) -> str:
    if not differences:
        return "All settings are as recommended."
    rows = []
    for each in differences:
        in_file = _text(each.in_file, each.unit) + (" (default)" if each.is_default else "")
        if each.in_file is None:
            in_file = "not set" if each.is_default else "unknown"
        rows.append((each.name, in_file, _text(each.recommended, each.unit)))
    table = Table(("setting", "in the file", "recommended"), rows).as_text()
    of_spring = pool.library.stack == "hikaricp" and pool.place.startswith("spring")
    command = pasteable("poolsize", "config", "--for", "spring-boot" if of_spring else pool.library.stack)
    return f"Different from the recommendation; `{command}`, with the same options, has the reasons:\n\n{table}"


def _text(value: Value, unit: str | None) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    number = int(value) if value == int(value) else value
    return f"{number:,}" + (f" {unit}" if unit else "")
