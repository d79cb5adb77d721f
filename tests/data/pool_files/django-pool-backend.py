# invented sample: a pooling backend, every number from a helper with a default

from . import env, env_int

DATABASES = {
    "default": {
        "ENGINE": "dj_db_conn_pool.backends.mysql",  # pooled
        "NAME": env("SAMPLE_DB", "sample_sixteen"),
        "USER": env("SAMPLE_USER", "sample"),
        "PASSWORD": env("SAMPLE_PWD", ""),
        "HOST": env("SAMPLE_HOST", "mysql"),
        "PORT": env("SAMPLE_PORT", "3306"),
        "OPTIONS": {
            "charset": "utf8mb4",
            "connect_timeout": 5,
            "read_timeout": 30,
            "write_timeout": 30,
        },
        # the pool
        "POOL_OPTIONS": {
            "POOL_SIZE": env_int("SAMPLE_POOL_SIZE", 256),
            "MAX_OVERFLOW": env_int("SAMPLE_MAX_OVERFLOW", 64),
            "RECYCLE": env_int("SAMPLE_CONN_LIFETIME_SECONDS", 600),
        },
    }
}
