"""Invented sample: create_async_engine with literal keywords and comments on the lines."""
from sqlalchemy import URL
from sqlalchemy.ext.asyncio import create_async_engine

from sample.conf import settings


def make_url() -> URL:
    return URL.create(
        drivername='mysql+asyncmy' if settings.KIND == 'mysql' else 'postgresql+asyncpg',
        host=settings.HOST,
        port=settings.PORT,
    )


def make_engine(url):
    return create_async_engine(
        url,
        echo=settings.ECHO,
        echo_pool=settings.POOL_ECHO,
        future=True,
        # middling load
        pool_size=10,  # low: - high: +
        max_overflow=20,  # low: - high: +
        pool_timeout=30,  # low: + high: -
        pool_recycle=3600,  # low: + high: -
        pool_pre_ping=True,  # low: False high: True
        pool_use_lifo=False,  # low: False high: True
    )
