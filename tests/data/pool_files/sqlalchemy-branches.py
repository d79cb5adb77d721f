from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from settings import kind_of_storage, mysql, postgres, sqlite

_engines = {}


async def make_database(kind):
    if kind == "mysql":
        server = f"mysql+asyncmy://{mysql['user']}:{mysql['password']}@{mysql['host']}"
        engine = create_async_engine(server, echo=False)
        async with engine.connect() as connection:
            await connection.execute(text(f"CREATE DATABASE IF NOT EXISTS {mysql['name']}"))
    elif kind == "postgres":
        server = f"postgresql+asyncpg://{postgres['user']}:{postgres['password']}@{postgres['host']}/postgres"
        engine = create_async_engine(server, echo=False, isolation_level="AUTOCOMMIT")
        await engine.dispose()


def engine_of(kind=None):
    if kind is None:
        kind = kind_of_storage
    if kind in _engines:
        return _engines[kind]
    if kind == "sqlite":
        url = f"sqlite+aiosqlite:///{sqlite['path']}"
    elif kind == "mysql":
        url = f"mysql+asyncmy://{mysql['user']}:{mysql['password']}@{mysql['host']}/{mysql['name']}"
    elif kind == "postgres":
        url = f"postgresql+asyncpg://{postgres['user']}:{postgres['password']}@{postgres['host']}/{postgres['name']}"
    else:
        raise ValueError(kind)
    _engines[kind] = create_async_engine(url, echo=False)
    return _engines[kind]
