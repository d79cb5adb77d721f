"""The pools of .NET: their settings, defaults and limits, and what is wrong with a pool of each."""

from collections.abc import Iterator
from dataclasses import replace

from poolsize.pool_config.findings import of_other_languages, of_pools
from poolsize.pool_config.findings.worded import Worded
from poolsize.pool_config.pool import FilePool, Library


def _mysql(pool: FilePool, _: int) -> Iterator[Worded]:
    if pool.value("Pooling") is False:
        yield of_other_languages.PoolingOff()


def _unknown(_: FilePool, __: int) -> Iterator[Worded]:
    yield of_pools.DatabaseUnknown()


DOTNET = Library(
    "MySqlConnector or Connector/NET",
    "",
    _mysql,
    {
        "MaximumPoolSize": 100, "MinimumPoolSize": 0, "ConnectionTimeout": 15, "ConnectionIdleTimeout": 180,
        "ConnectionLifeTime": 0, "ConnectionReset": True, "Pooling": True,
    },
    aliases={
        "MaxPoolSize": "MaximumPoolSize", "MinPoolSize": "MinimumPoolSize", "ConnectTimeout": "ConnectionTimeout",
    },
    sizes=("MaximumPoolSize",),
)  # fmt: skip
DOTNET_UNPOOLED = replace(DOTNET, title=f"{DOTNET.title}, without a pool", sizes=())
DOTNET_UNKNOWN = replace(DOTNET, title=".NET with an unknown database", find=_unknown, sizes=())
