from databases import Database

from ..sample import get_settings

db: Database = Database(
    get_settings().database_url,
    min_size=get_settings().pool_min_size,
    max_size=get_settings().pool_max_size)
