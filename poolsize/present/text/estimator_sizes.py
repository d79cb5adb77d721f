"""Who says which size: the estimators, and the formula."""

from collections.abc import Mapping

from poolsize.analysis.analysis import Analysis
from poolsize.formula import starting_point


def said(analysis: Analysis) -> Mapping[str, int]:
    """Name -> size, of those that have one."""
    setting = analysis.setting
    answers = {name.replace("_", " "): size for name, size in analysis.models.sizes.items()}
    answers["formula"] = starting_point(setting.cores, disks=setting.disks).connections
    return {name: size for name, size in answers.items() if size is not None}
