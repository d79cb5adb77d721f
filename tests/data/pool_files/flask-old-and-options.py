from flask import Flask
from flask_sqlalchemy import SQLAlchemy

app = Flask("sample")
app.config["SQLALCHEMY_DATABASE_URI"] = "mysql+pymysql://sample:sample@localhost:3306/sample"
app.config["SQLALCHEMY_POOL_SIZE"] = 20
app.config["SQLALCHEMY_MAX_OVERFLOW"] = 30
app.config["SQLALCHEMY_POOL_TIMEOUT"] = 10
app.config["SQLALCHEMY_ENGINE_OPTIONS"] = {
    "pool_pre_ping": True,
    "pool_recycle": 3600,
}

db = SQLAlchemy(app)
