from os import environ

from sqlalchemy.engine.url import URL
from sqlalchemy.ext.asyncio import create_async_engine

engine = create_async_engine(URL.create(drivername=environ["SAMPLE_DRIVER"],
                                        host=environ["SAMPLE_HOST"]), pool_size=100, max_overflow=0)
