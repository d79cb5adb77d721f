class Config(object):
    HOST = "sample"
    USER = "sample"
    SQLALCHEMY_DATABASE_URI = f"mysql+pymysql://{USER}@{HOST}:3306/sample?connect_timeout=10"
    SQLALCHEMY_POOL_RECYCLE = 60
    SQLALCHEMY_TRACK_MODIFICATIONS = True
