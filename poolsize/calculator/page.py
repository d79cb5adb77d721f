"""The calculator's page: the form, the traffic model in JavaScript, and the constants of the model in Python."""

import json
from base64 import b64encode
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from markupsafe import Markup

from poolsize import bounds, formula
from poolsize.answer import from_traffic, traffic_findings
from poolsize.answer.fleet import MOST
from poolsize.files import templates
from poolsize.traffic import database_load, pool_use, random_arrivals, usage_phases

OF_MODULES = {
    bounds: ("LARGEST_POOL", "MOST_CORES", "MOST_DISKS"),
    database_load: ("FAR", "MOST_IN_USE"),
    formula: ("CONNECTIONS_PER_CORE", "MOST_THREADS"),
    from_traffic: ("NEIGHBOURS",),
    pool_use: ("SMALL", "LARGEST_EXACT", "LEAST_LOAD", "MOST_UTILISATION"),
    random_arrivals: (
        "CONVERGED", "FINEST", "FIRST_TIME", "MOST_ITERATIONS", "MOST_OCTAVES", "RAREST", "SMALL_NORM", "STEPS",
        "TERMS",
    ),
    traffic_findings: ("OFTEN",),
    usage_phases: ("LEAST_VARIATION", "LONGER"),
}  # fmt: skip
"""Module -> its constants, which the page has under the same names."""
CONSTANTS = {name: getattr(module, name) for module, names in OF_MODULES.items() for name in names} | {
    "MOST_INSTANCES": MOST,
    "NORMAL_QUANTILE_99": usage_phases.NORMAL_QUANTILES[0.99],
}
"""What the page's script takes from Python."""
TEMPLATES = Path(__file__).parent / "templates"


def calculator_html() -> str:
    """Return the page. It loads nothing; its policy lets a browser run this script only, and open no connection."""
    script = "\n".join([
        f'"use strict";\nconst constants = {json.dumps(CONSTANTS)};',
        *((TEMPLATES / name).read_text(encoding="utf-8") for name in ("model.js", "page.js")),
    ])  # fmt: skip
    digest = b64encode(sha256(script.encode()).digest()).decode()
    page = templates("poolsize.calculator", "poolsize.present", is_html=True).get_template("calculator.html.j2")
    return page.render(
        report={"title": "Connection pool calculator", "subject": "The formula, and a queueing model of your traffic."},
        script=Markup(script),  # noqa: S704 (poolsize's own)
        digest=digest,
        version=version("poolsize"),
    )
