"""Invented sample: numbers are annotated class attributes; the engine takes a spread dict."""
from typing import Any, Literal

from pydantic_settings import BaseSettings
from sqlalchemy import create_engine


class DataBaseSettings(BaseSettings):
    db_type: Literal['mysql', 'postgresql'] = 'mysql'
    db_host: str = '127.0.0.1'
    db_port: int = 3306
    db_echo: bool = True
    db_max_overflow: int = 10
    db_pool_size: int = 50
    db_pool_recycle: int = 3600
    db_pool_timeout: int = 30


def engine_options(config: DataBaseSettings) -> dict[str, Any]:
    return {
        'max_overflow': config.db_max_overflow,
        'pool_size': config.db_pool_size,
        'pool_recycle': config.db_pool_recycle,
        'pool_timeout': config.db_pool_timeout,
        'pool_pre_ping': True,
        'pool_use_lifo': True,
    }


def make_engine(url, config):
    return create_engine(url, **engine_options(config))
