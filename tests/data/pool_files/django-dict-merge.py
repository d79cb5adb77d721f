import os
import environ

env = environ.Env(
    DATABASE_URL=(str, "mysql://sample:@127.0.0.1:3306/sample_fourteen"),
)

# decoy: an expression, not a pool setting
SESSION_COOKIE_AGE = 60 * 300  # 300 minutes

DATABASES = {
    "default": {
        **env.db(),
        **{
            "DEFAULT_CHARSET": "utf8mb4",
            "CONN_MAX_AGE": 50,
            "OPTIONS": {
                "init_command": "SET sql_mode='STRICT_TRANS_TABLES'",
                "charset": "utf8mb4",
            },
            "TEST": {
                "NAME": "test_sample",
                "CHARSET": "utf8mb4",
            },
        },
    }
}

# decoy
SAMPLE_QUEUE = {"workers": env("SAMPLE_WORKERS", default=4), "timeout": 60}

try:
    from sample_local import *
except ImportError:
    pass
