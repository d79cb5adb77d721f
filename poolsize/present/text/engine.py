"""The line of Python that makes a SQLAlchemy engine with a pool of the recommended size."""


def engine_line(pool_size: int) -> str:
    """Return the line. max_overflow is 0, for SQLAlchemy's default adds 10 connections to the pool size."""
    return f"create_engine(url, pool_size={pool_size}, max_overflow=0)"
