import os

class Config:
    SECRET_KEY = os.environ.get('SAMPLE_KEY')
    SQLALCHEMY_DATABASE_URI = os.environ.get('SAMPLE_URL') or 'mysql+pymysql://sample:@localhost:3306/sample_twelve'
    SQLALCHEMY_TRACK_MODIFICATIONS = False
    SQLALCHEMY_ENGINE_OPTIONS = {
            "pool_size": 20,
            "max_overflow": 30,
            "pool_timeout": 50
        }
