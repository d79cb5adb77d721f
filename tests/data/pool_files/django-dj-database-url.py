from decouple import config

CONN_MAX_AGE = config("CONN_MAX_AGE", cast=int, default=300)
SAMPLE_URL = config("DATABASE_URL", default=None)
if SAMPLE_URL is not None:
    import dj_database_url

    DATABASES = {
        "default": dj_database_url.config(
            default=SAMPLE_URL,
            conn_max_age=CONN_MAX_AGE,
            conn_health_checks=True,
        )
    }
