TORTOISE_ORM = {
    "connections": {
        "default": {
            "engine": "tortoise.backends.mysql",
            "credentials": {
                "host": "sample",
                "database": "sample",
                "minsize": 1,
                "maxsize": 5,
                "echo": True,
            },
        },
    },
    "apps": {"models": {"models": ["sample"], "default_connection": "default"}},
}
