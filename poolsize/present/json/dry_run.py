"""What a sweep would do to its server, as JSON."""

import json
from dataclasses import asdict

from poolsize.sweep.dry_run import DryRun


def dry_run_json(dry_run: DryRun) -> str:
    """Return the fields of DryRun as a JSON object, without its kind."""
    values = asdict(dry_run)
    del values["kind"]
    return json.dumps(values)
