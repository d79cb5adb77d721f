-- How many CPUs does MariaDB see? Its thread pool has as many groups, unless somebody set another number.
SELECT VARIABLE_NAME, GLOBAL_VALUE FROM information_schema.system_variables
WHERE VARIABLE_NAME = 'THREAD_POOL_SIZE' AND GLOBAL_VALUE_ORIGIN = 'AUTO'
