"""The pools of .NET: their settings, defaults and limits, and what is wrong with a pool of each."""

from collections.abc import Iterator

from poolsize.pool_config.findings import of_other_languages
from poolsize.pool_config.findings.worded import Worded
from poolsize.pool_config.pool import FilePool, Library


def _mysql(pool: FilePool, _: int) -> Iterator[Worded]:
    if pool.is_off:
        yield of_other_languages.PoolingOff()


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
    switch="Pooling",
)  # fmt: skip
