"""The calculator's page: the form, the traffic model in JavaScript, and the constants of the model in Python."""

import json
from base64 import b64encode
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import jinja2
from markupsafe import Markup

from poolsize.answer.fleet import MOST
from poolsize.answer.from_traffic import NEIGHBOURS
from poolsize.answer.traffic_findings import OFTEN
from poolsize.bounds import LARGEST_POOL, MOST_CORES, MOST_DISKS
from poolsize.formula import CONNECTIONS_PER_CORE, MOST_THREADS
from poolsize.traffic import database_load, pool_use, random_arrivals, usage_phases
from poolsize.traffic.usage_phases import NORMAL_QUANTILES

OF_MODULES = {
    database_load: ("FAR", "MOST_IN_USE"),
    pool_use: ("SMALL", "LARGEST_EXACT", "LEAST_LOAD", "MOST_UTILISATION"),
    random_arrivals: (
        "CONVERGED", "FINEST", "FIRST_TIME", "MOST_ITERATIONS", "MOST_OCTAVES", "RAREST", "SMALL_NORM", "STEPS",
        "TERMS",
    ),
    usage_phases: ("LEAST_VARIATION", "LONGER"),
}  # fmt: skip
"""Module -> its constants, which the page has under the same names."""
CONSTANTS = {
    "CONNECTIONS_PER_CORE": CONNECTIONS_PER_CORE,
    "LARGEST_POOL": LARGEST_POOL,
    "MOST_CORES": MOST_CORES,
    "MOST_DISKS": MOST_DISKS,
    "MOST_INSTANCES": MOST,
    "MOST_THREADS": MOST_THREADS,
    "NEIGHBOURS": NEIGHBOURS,
    "NORMAL_QUANTILE_99": NORMAL_QUANTILES[0.99],
    "OFTEN": OFTEN,
} | {name: getattr(module, name) for module, names in OF_MODULES.items() for name in names}
"""What the page's script takes from Python."""
TEMPLATES = Path(__file__).parent / "templates"


def calculator_html() -> str:
    """Return the page. It loads nothing; its policy lets a browser run this script only, and open no connection."""
    script = "\n".join([
        f'"use strict";\nconst constants = {json.dumps(CONSTANTS)};',
        *((TEMPLATES / name).read_text(encoding="utf-8") for name in ("model.js", "page.js")),
    ])  # fmt: skip
    templates = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.FileSystemLoader(TEMPLATES), jinja2.PackageLoader("poolsize.present")]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return templates.get_template("calculator.html.j2").render(
        report={"title": "Connection pool calculator", "subject": "The formula, and a queueing model of your traffic."},
        script=Markup(script),  # noqa: S704 (poolsize's own)
        digest=digest,
        version=version("poolsize"),
    )
