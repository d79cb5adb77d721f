"""The schema in which a sweep's workload runs: poolsize's own, or the user's."""

from collections.abc import Callable, Collection
from typing import Any

from poolsize.locust.prepare import Prepared
from poolsize.target.existing_schema import ExistingSchema
from poolsize.target.schema import SweepSchema

Workspace = SweepSchema | ExistingSchema


def workspace_of(
    prepared: Prepared,
    restore: Callable[[Any], None],
    load_connections: Collection[int],
    on_failure: Callable[[str], None],
) -> Workspace:
    """Return the schema of a prepared sweep; the arguments are those of ExistingSchema. Raises BadInput."""
    schema = prepared.run.setting.schema
    if schema is None:
        if prepared.private is not None:  # it takes its schemas with it, whether or not they can be cleared
            return SweepSchema(prepared.url)
        return SweepSchema(prepared.url, on_failure)
    return ExistingSchema(prepared.url, schema, restore, load_connections, on_failure)
