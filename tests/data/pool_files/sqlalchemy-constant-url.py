from sqlalchemy import create_engine

SAMPLE_URL = "mysql+mysqlconnector://sample:sample@localhost:3306/sample"

engine = create_engine(SAMPLE_URL, pool_size= 10, max_overflow= 30)
