"""The pool sizes of all estimators and of the formula, beside each other."""

from collections.abc import Mapping

from poolsize.analysis.analysis import Analysis
from poolsize.formula import starting_point


def estimator_sizes(analysis: Analysis) -> Mapping[str, int]:
    """Return the pool size of each estimator, and of the formula, by name; estimators without a size are left out."""
    setting = analysis.setting
    sizes = {name.replace("_", " "): size for name, size in analysis.models.sizes.items()}
    sizes["formula"] = starting_point(setting.cores, disks=setting.disks).connections
    return {name: size for name, size in sizes.items() if size is not None}
