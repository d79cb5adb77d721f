"""What a sweep would do to its server, as text for a terminal, and as JSON."""

from dataclasses import asdict

from poolsize.present.text.json_text import json_text
from poolsize.present.text.layout import bullets, paragraph
from poolsize.sweep.events import DryRun, Occasion
from poolsize.units import count, minutes, per_second, pool_sizes

HEADINGS = {
    Occasion.TABLES: "To make the workload's tables; a schema that exists already is not made",
    Occasion.BEFORE_STEP: "Before each step, and before the first transaction",
    Occasion.TRANSACTION: "In each transaction; each kind of transaction is listed once",
    Occasion.SECOND: "Once a second during a step",
    Occasion.END: "At the end; a schema that existed before is not dropped",
}


def dry_run_text(dry_run: DryRun) -> str:
    """Return the connections, the load, and the statements by their occasion."""
    own = f"{dry_run.pool_connections} of the pool at most, and {dry_run.own_connections} of poolsize's own"
    facts = [
        f"Server: {dry_run.server}; it admits {count(dry_run.limit, 'connection')}.",
        f"Connections: {own}{f'; {dry_run.reserve} stay free' if dry_run.reserve else ''}.",
        f"Load: {_load(dry_run)}.",
    ]
    groups = []
    for group in dry_run.groups:
        lines = (f"{text}  ({times} times)" if times > 1 else text for text, times in group.statements)
        groups.append("\n  ".join([f"{HEADINGS[group.occasion]}:", *lines]))
    unchecked = "The account's privileges were not checked."
    return "\n\n".join(
        [paragraph(f"No server was changed or measured. {unchecked} The sweep would do this:"), bullets(facts), *groups]
    )


def _load(dry_run: DryRun) -> str:
    clients = count(dry_run.users, "user") if dry_run.rate is None else f"{per_second(dry_run.rate)} arrivals"
    if dry_run.search is None:
        return f"{clients} at {pool_sizes(dry_run.sizes)}, about {minutes(dry_run.load_seconds)}"
    low, high = dry_run.search
    return f"{clients}, a search of the pool sizes {low} to {high}, at most {minutes(dry_run.load_seconds)}"


def dry_run_json(dry_run: DryRun) -> str:
    """Return the fields of DryRun as a JSON object."""
    return json_text(asdict(dry_run))
