"""The pools of .NET: their settings, defaults and limits, and what is wrong with a pool of each."""

from collections.abc import Iterator
from dataclasses import replace

from poolsize.pool_config import findings
from poolsize.pool_config.pool import FilePool, Library


def _mysql(pool: FilePool, _: int) -> Iterator[findings.Worded]:
    if pool.value("Pooling") is False:
        yield findings.PoolingOff()


def _unknown(_: FilePool, __: int) -> Iterator[findings.Worded]:
    yield findings.DatabaseUnknown()


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
