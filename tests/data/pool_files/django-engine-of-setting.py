from .configuration import CONFIG

DB_OPTIONS = {}
DB_ENGINE = CONFIG.DB_ENGINE.lower()
if DB_ENGINE == "vastbase":
    DB_BACKEND = "django_vastbase_backend"
else:
    DB_BACKEND = f"django.db.backends.{DB_ENGINE}"
DATABASES = {
    "default": {
        "ENGINE": DB_BACKEND,
        "NAME": CONFIG.DB_NAME,
        "HOST": CONFIG.DB_HOST,
        "USER": CONFIG.DB_USER,
        "ATOMIC_REQUESTS": True,
        "OPTIONS": DB_OPTIONS,
    }
}
if DB_ENGINE == "mysql":
    DB_OPTIONS["init_command"] = "SET sql_mode='STRICT_TRANS_TABLES'"
