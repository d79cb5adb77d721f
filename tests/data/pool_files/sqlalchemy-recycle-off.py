from sqlalchemy import create_engine
from sample import reader

#SAMPLE_URI = 'mysql+pymysql://sample:sample@127.0.0.1:3306/sample_thirteen'  # switched off
SAMPLE_URI = 'mysql+pymysql://sample:'+reader.get('db', 'password')+\
             '@127.0.0.1:3306/'+reader.get('db', 'name')
engine = create_engine(SAMPLE_URI,max_overflow=50,  # most above the pool
        pool_size=1000,  # the pool
        pool_timeout=30,  # longest wait, else an error
        pool_recycle=-1)
