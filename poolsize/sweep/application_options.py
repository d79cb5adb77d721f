"""The options of an application's sweep."""

from poolsize.errors import BadInput
from poolsize.sweep.options import OPTIONS, SweepOptions

FROM_ENVIRONMENT = ("url", "against_url")
"""Options that the environment may set for other sweeps."""


def of_application(options: SweepOptions) -> SweepOptions:
    """Return the options without a database's URL from the environment: an application's file names its database.

    Raises BadInput for an option that belongs to poolsize's own pool.
    """
    options = options.having(**dict.fromkeys(FROM_ENVIRONMENT))
    for name in options.chosen:
        if OPTIONS[name].of_pool:
            raise BadInput(f"{options.named(name)}: `application` does not support this option; leave it out")
    return options
