"""The schema of a sweep: poolsize's own, or the user's, from the options, the URL or the run to resume."""

from poolsize.errors import BadInput
from poolsize.runs.run import Run
from poolsize.sweep.opening import require_given_again
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.readers import OWN_SCHEMA, read, schema_name
from poolsize.sweep.workload import Workload
from poolsize.target.connection import schema_in


def chosen_schema(options: SweepOptions, workload: Workload, resumed: Run | None) -> str | None:
    """Return the name of the user's schema that the sweep runs in, or None for poolsize's own schema.

    resumed: the run that the sweep resumes, or None. Raises BadInput where the options, the URL and the resumed run
    name different schemas, for a private server, and for a workload that comes with poolsize.
    """
    in_url = schema_in(options.url) if options.url else None
    schema = resumed.setting.schema if resumed else options.schema
    if resumed is None and schema is None and in_url != OWN_SCHEMA:
        schema = read("url", in_url, schema_name) if in_url else None
    if in_url and in_url != (schema or OWN_SCHEMA):
        raise BadInput(_contradiction(options, schema, in_url))
    if schema is None:
        return None
    if resumed is not None and in_url is None:
        require_given_again(options, "schema", schema)
    if resumed is not None and options.schema not in {None, schema}:
        raise BadInput(
            f"{options.named('resume')}: the run began in the schema {schema}, and `schema` is {options.schema}: give "
            "that, or start a new run"
        )
    if not options.url and resumed is not None:
        raise BadInput(f"{options.named('resume')}: the run began on a server given by its URL: give its `url` again")
    if not options.url:
        raise BadInput(f"`schema` {schema}: a private server holds no data of yours: give your server's `url`")
    if workload.own_path is None:
        raise BadInput(
            f"`schema` {schema}: {workload.name} makes tables, which belong in poolsize's own schema: "
            "leave the schema out, or name your own locustfile with `workload`"
        )
    return schema


def _contradiction(options: SweepOptions, schema: str | None, in_url: str) -> str:
    if options.resume:
        return (
            f"{options.named('resume')}: the run began in the schema {schema or OWN_SCHEMA}, "
            f"and `url` names the schema {in_url}: leave it out"
        )
    return f"`schema` {schema}: `url` names another schema, {in_url}: leave one of them out"
