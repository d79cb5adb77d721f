"""InstanceClass: the cores, the memory and the default max_connections of a cloud database's instance class.

The numbers and their sources are in data/published/instance_classes.csv.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2
from typing import TypedDict

from poolsize.errors import BadInput, did_you_mean
from poolsize.files import shipped
from poolsize.units import count

GIB = 2**30
WAY_OUT = "give `cores`, and `max_connections` for a fleet"
AURORA = "aurora"
MOST_OF_MYSQL = 100_000
"""The largest max_connections of MySQL."""
_CUSTOM = re.compile(r"db-custom-([1-9][0-9]?)-([1-9][0-9]{3,5})")
"""A custom machine type of Cloud SQL: its vCPUs and its memory in MiB."""
CUSTOM_MAX_CONNECTIONS = 4_000
"""Source: Cloud SQL for MySQL, "Quotas and limits", as of 2023: of all machine types but those with shared cores."""


@dataclass(frozen=True)
class InstanceClass:
    """An instance class of a cloud database.

    name: with "aurora:" before a class of Aurora. service: rds, aurora, cloud_sql or azure.
    threads_per_core: vCPUs of a physical core, 2 where a vCPU is a hyper-thread.
    max_connections: the default; of RDS the most that it can be; None where it is not known.
    is_ambiguous: whether Aurora has a class of this name, too, with another default.
    """

    name: str
    service: str
    vcpus: int
    threads_per_core: int
    memory_gib: float
    max_connections: int | None
    is_ambiguous: bool = False

    @property
    def cores(self) -> int:
        """Physical cores, at least 1."""
        return max(1, self.vcpus // self.threads_per_core)

    def __str__(self) -> str:
        """Return the class in words: "db.m5.large has 2 vCPUs (1 physical core) and 8 GiB of memory"."""
        vcpus, cores = count(self.vcpus, "vCPU"), count(self.cores, "physical core")
        return f"{self.name} has {vcpus} ({cores}) and {self.memory_gib:g} GiB of memory"

    def values(self) -> "InstanceClassValues":
        """Return the instance class as data for JSON."""
        return {
            "name": self.name, "vcpus": self.vcpus, "cores": self.cores, "memory_gib": self.memory_gib,
            "max_connections": self.max_connections,
        }  # fmt: skip


class InstanceClassValues(TypedDict):
    """An instance class. max_connections: its default; null where the service has none."""

    name: str
    vcpus: int
    cores: int
    memory_gib: float
    max_connections: int | None


def read_instance_class(text: str) -> InstanceClass:
    """Return the instance class of this name, in which upper and lower case are alike.

    "aurora:" before a name means Aurora in place of RDS. The prefixes of Terraform's names for Azure do not count.
    Raises BadInput for an unknown name.
    """
    name = re.sub(r"^(?:b|gp|mo|bc)_(?=standard_)", "", text.strip().lower())
    if name.removeprefix(f"{AURORA}:") == "db.serverless":
        raise BadInput(f"`instance_class` {text}: Aurora Serverless has cores that vary with its load; {WAY_OUT}")
    if custom := _CUSTOM.fullmatch(name):
        return _custom(text, int(custom[1]), int(custom[2]))
    known = {each.name.lower(): each for each in instance_classes()}
    if name not in known:
        raise BadInput(f"`instance_class` {text}: not a known instance class; {WAY_OUT}{did_you_mean(name, known)}")
    return known[name]


def instance_classes() -> Iterator[InstanceClass]:
    """Yield the instance classes of the table; a class that RDS and Aurora have, once for each."""
    import csv

    with shipped("data/published/instance_classes.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            services, listed = row["services"].split(), (row[name].split() for name in ("sizes", "vcpus", "memory_gib"))
            for size, vcpus, memory_gib in zip(*listed, strict=True):
                for service in services:
                    prefix = f"{AURORA}:" if service == AURORA else ""
                    yield InstanceClass(
                        prefix + row["name"].format(size),
                        service,
                        int(vcpus),
                        min(int(row["threads_per_core"]), int(vcpus)),
                        float(memory_gib),
                        int(row["max_connections"])
                        if row["max_connections"]
                        else _by_memory(service, float(memory_gib)),
                        is_ambiguous=AURORA in services and service != AURORA,
                    )


def _by_memory(service: str, memory_gib: float) -> int | None:
    """Return the default max_connections that follows from the memory; None for a service that has another rule.

    Sources: Amazon RDS User Guide, "Quotas and constraints"; Aurora User Guide, "Managing performance and scaling for
    Aurora MySQL", whose table rounds the logarithms; Azure Database for MySQL, "Server parameters". The memory that
    RDS reserves for itself is not published, so its value is the most that the default can be.
    """
    size = memory_gib * GIB
    if service == "rds":
        return min(MOST_OF_MYSQL, int(size / 12_582_880))
    if service == AURORA:
        return max(45 * round(log2(size / 805_306_368)), 1_000 * round(log2(size / 8_187_281_408)))
    return round(size / 12_582_912) if service == "azure" else None


def _custom(text: str, vcpus: int, memory_mib: int) -> InstanceClass:
    """Return a custom machine type of Cloud SQL. Raises BadInput for vCPUs and memory that none has.

    Source: Cloud SQL for MySQL, "About instance settings": 1 vCPU or an even number up to 96, with 0.9 to 6.5 GiB each.
    """
    if not (vcpus == 1 or (vcpus % 2 == 0 and vcpus <= 96)) or not 0.9 <= memory_mib / 1024 / vcpus <= 6.5:
        raise BadInput(
            f"`instance_class` {text}: write db-custom-VCPUS-MIB, e.g. db-custom-4-15360, with 1 vCPU or an even "
            "number up to 96, and 0.9 to 6.5 GiB of memory for each"
        )
    name = f"db-custom-{vcpus}-{memory_mib}"
    return InstanceClass(name, "cloud_sql", vcpus, min(2, vcpus), memory_mib / 1024, CUSTOM_MAX_CONNECTIONS)
