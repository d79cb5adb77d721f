"""The facts of an inspected server as text for a terminal, and as a JSON object."""

from collections.abc import Iterator, Mapping
from typing import Literal, TypedDict

from poolsize.facts.inspection import SAMPLE_SECONDS, Inspection, Missing, Platform
from poolsize.formula import CONNECTIONS_PER_CORE
from poolsize.present.text.layout import UNKNOWN, Table, bullets
from poolsize.units import count, milliseconds, minutes, percent

OF_VENDOR = (
    "max_connections follows the instance's memory. Its cores are vCPUs. On x86 a vCPU is mostly a hyper-thread: give "
    "--cores with --threads-per-core 2. On ARM, such as Graviton, it is a core."
)
PLATFORMS: Mapping[Platform, str] = {
    Platform.AURORA: f"Amazon Aurora: {OF_VENDOR}",
    Platform.RDS: f"Amazon RDS: {OF_VENDOR}",
    Platform.CLOUD_SQL: f"Google Cloud SQL: {OF_VENDOR}",
    Platform.AZURE: f"Azure Database for MySQL: {OF_VENDOR}",
    Platform.TIDB: "TiDB: a database of several machines, for which the formula was never meant. Measure pool sizes.",
    Platform.VITESS: "Vitess: connections end at vtgate, and vttablet has the pools to the database. Size those.",
    Platform.PROXY: "A proxy answers: it names another version than the server. Connections end at the proxy, so the "
    "facts of connections are those of the server behind it. Size the proxy's pool to the database.",
}
"""Platform -> what changes for it."""
MISSING: Mapping[Missing, str] = {
    Missing.PROCESS: "Without the privilege PROCESS, only this account's connections are listed. To list all: GRANT "
    "PROCESS ON *.* TO the account.",
    Missing.PROGRAMS: "Without SELECT on performance_schema.session_connect_attrs, the programs that hold connections "
    "have no name.",
}
"""What the account may not read -> what that costs."""


def per_core_text(inspection: Inspection, disks: float) -> str:
    """Return the formula's answer for a server whose cores are not known, and its facts. disks: effective disks."""
    more = f", plus {disks:g} for the disks" if round(disks) else ""
    return (
        f"Start with {CONNECTIONS_PER_CORE} connections for each physical core of the database's host{more}.\n\n"
        "The server is on another machine, and does not say how many cores it has. For a number, give --cores.\n\n"
        f"{inspection_text(inspection)}"
    )


class FormulaOfUnknownCores(TypedDict):
    """The formula without the cores of the database's host. effective_disks: disks that queries wait for."""

    cores: None
    effective_disks: float
    connections: None


class PerCoreValues(TypedDict):
    """The formula's answer for a server that does not say its cores. connections_per_core: for each physical core."""

    basis: Literal["formula"]
    pool_size: None
    range: None
    connections_per_core: int
    formula: FormulaOfUnknownCores
    verdict: None
    facts: Inspection


def per_core_values(inspection: Inspection, disks: float) -> PerCoreValues:
    """Return the answer of per_core_text as data for JSON. disks: effective disks."""
    return {
        "basis": "formula",
        "pool_size": None,
        "range": None,
        "connections_per_core": CONNECTIONS_PER_CORE,
        "formula": {"cores": None, "effective_disks": disks, "connections": None},
        "verdict": None,
        "facts": inspection,
    }


def inspection_text(inspection: Inspection) -> str:
    """Return the facts, and a table of who holds connections."""
    title = f"The server: {inspection.server.title} on {'this' if inspection.is_here else 'another'} machine"
    parts = (f"{title}\n{bullets(_facts(inspection))}", _holders(inspection).below("Who holds connections"))
    return "\n\n".join(filter(None, parts))


def _facts(inspection: Inspection) -> Iterator[str]:
    server = inspection.server
    yield " ".join(_connections(inspection))
    if inspection.aborted_connects is not None and inspection.aborted_clients is not None:
        refused = "" if inspection.refused is None else f"{inspection.refused:,} refused, "
        ended = count(inspection.aborted_clients, "connection")
        failed = f"{refused}{inspection.aborted_connects:,} failed"
        yield f"Attempts to connect: {failed}. Aborted after the login: {ended}."
    if inspection.wait_timeout_seconds is not None and inspection.interactive_timeout_seconds is not None:
        yield (
            f"The server ends connections that are idle for {inspection.wait_timeout_seconds:,} s (wait_timeout; "
            f"interactive_timeout {inspection.interactive_timeout_seconds:,} s)."
        )
    pool = "".join(f", {name} {value}" for name, value in sorted(inspection.thread_pool.items()))
    yield f"Threads: {server.thread_handling}{pool}."
    if server.buffer_pool_bytes:
        yield f"The buffer pool has {server.buffer_pool_bytes / 2**20:,.0f} MiB. {_cache(inspection.cache_hit_rate)}"
        logs = {"redo log": server.durable, "binary log": inspection.binlog_durable}
        waits, lost = (" and the ".join(name for name in logs if logs[name] is durable) for durable in (True, False))
        ends = f"waits until the {waits} is on the disk" if waits else "waits for no disk"
        yield f"A commit {ends}." + (f" It does not wait for the {lost}." if waits and lost else "")
    else:
        yield "The server shows no settings of InnoDB."
    encrypted = f"encrypted ({inspection.cipher})" if inspection.cipher else "not encrypted"
    yield f"A round trip takes {milliseconds(inspection.round_trip_ms)}. This connection is {encrypted}."
    if inspection.platform:
        yield PLATFORMS[inspection.platform]
    yield from (MISSING[missing] for missing in inspection.missing)


def _connections(inspection: Inspection) -> Iterator[str]:
    """Yield a sentence for the open connections, and one for the highest number where the server says it."""
    most, opened = inspection.server.max_connections, inspection.open_connections
    if opened is None:
        yield f"The server admits {count(most, 'connection')} (max_connections). It does not say how many are open."
    else:
        are = "is" if opened == 1 else "are"
        yield f"{count(opened, 'connection')} of {most:,} (max_connections) {are} open."
    if inspection.max_used_connections is not None:
        ago = "" if inspection.uptime_seconds is None else f" {minutes(inspection.uptime_seconds)} ago"
        when = f" ({inspection.max_used_at})" if inspection.max_used_at else ""
        yield f"The highest number since the server's start{ago} is {inspection.max_used_connections:,}{when}."


def _cache(hit_rate: float | None) -> str:
    if hit_rate is None:
        return f"In {SAMPLE_SECONDS:g} s there were too few statements to know how many of them read from disk."
    return f"In {SAMPLE_SECONDS:g} s, {percent(hit_rate)} of the statements, at least, needed no page from disk."


def _holders(inspection: Inspection) -> Table:
    rows = [
        (
            holder.account,
            holder.host or UNKNOWN,
            holder.program or UNKNOWN,
            f"{holder.connections:,}",
            f"{holder.active:,}",
            "-" if holder.longest_idle_seconds is None else minutes(holder.longest_idle_seconds),
        )
        for holder in inspection.holders
    ]
    return Table(("account", "host", "program", "connections", "active", "longest idle"), rows).without_unknown()
