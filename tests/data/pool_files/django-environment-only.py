from .base import *

DATABASES = {
    "default": {
        "ENGINE": env("DB_ENGINE"),
        "NAME": env("DB_NAME"),
        "CONN_MAX_AGE": env("DB_CONN_MAX_AGE", cast=int),
    }
}
