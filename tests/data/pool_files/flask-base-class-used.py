import configparser
import os

from sqlalchemy.engine.url import URL

parser = configparser.ConfigParser()
parser.read("config.ini")


def cast(value, default=None):
    return default if value == "" else value


class Server(object):
    DATABASE_URL: str = cast(parser["server"]["DATABASE_URL"])
    if not DATABASE_URL:
        if cast(parser["server"]["DATABASE_HOST"]) is not None:
            DATABASE_URL = str(URL(
                drivername=cast(parser["server"]["DATABASE_PROTOCOL"]) or "mysql+pymysql",
                username=cast(parser["server"]["DATABASE_USER"]) or "app",
                host=cast(parser["server"]["DATABASE_HOST"]),
            ))
        else:
            DATABASE_URL = f"sqlite:///{os.path.dirname(os.path.abspath(__file__))}/app.db"
    SQLALCHEMY_DATABASE_URI = DATABASE_URL
    if DATABASE_URL.startswith("sqlite") is False:
        SQLALCHEMY_ENGINE_OPTIONS = {
            "max_overflow": int(cast(parser["optional"]["SQLALCHEMY_MAX_OVERFLOW"], default=20)),
            "pool_pre_ping": cast(parser["optional"]["SQLALCHEMY_POOL_PRE_PING"], default=True),
        }


class Testing(Server):
    SQLALCHEMY_DATABASE_URI = os.getenv("TESTING_DATABASE_URL") or "sqlite://"


Config = Server()
