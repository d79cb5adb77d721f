-- How many statements does the history keep, and how many bytes of each?
SHOW GLOBAL VARIABLES WHERE Variable_name IN (
    'performance_schema_events_statements_history_size', 'performance_schema_events_statements_history_long_size',
    'performance_schema_max_sql_text_length'
)
