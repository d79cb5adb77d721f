import aiomysql


async def create_pool(loop, **options):
    global __pool
    __pool = await aiomysql.create_pool(
        host=options.get("host", "localhost"),
        user=options["user"],
        autocommit=options.get("autocommit", True),
        maxsize=options.get("maxsize", 10),
        minsize=options.get("minsize", 1),
        loop=loop,
    )
