"""Shows poolsize's version at the foot of each page."""

from importlib.metadata import version
from typing import Any


def on_config(config: Any) -> Any:
    """Return the site's configuration with the version in the place of a copyright."""
    config["copyright"] = f"poolsize {version('poolsize')}"
    return config
