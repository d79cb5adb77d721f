class Product:
    TITLE = "sample"
    SQLALCHEMY_DATABASE_URI = "mysql+pymysql://sample:sample@127.0.0.1:3306/sample?charset=utf8"

    SQLALCHEMY_POOL_SIZE = 5000

    SQLALCHEMY_POOL_TIMEOUT = 10

    SQLALCHEMY_POOL_RECYCLE = 1200

    SQLALCHEMY_MAX_OVERFLOW = 2000
