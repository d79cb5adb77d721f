"""A metrics page of each library, with the names, labels and units that its documentation shows."""

PAGES: dict[str, tuple[str, dict[str, float]]] = {
    "HikariCP by Micrometer": (
        """
# TYPE hikaricp_connections_usage_seconds histogram
hikaricp_connections_usage_seconds_bucket{pool="shop",le="0.01"} 30
hikaricp_connections_usage_seconds_bucket{pool="shop",le="+Inf"} 38
hikaricp_connections_usage_seconds_count{pool="shop"} 38
hikaricp_connections_usage_seconds_sum{pool="shop"} 0.177
hikaricp_connections_usage_seconds_max{pool="shop"} 0.05
hikaricp_connections_acquire_seconds_count{pool="shop"} 38
hikaricp_connections_acquire_seconds_sum{pool="shop"} 0.5
hikaricp_connections_timeout_total{pool="shop"} 2.0
hikaricp_connections_active{pool="shop"} 3.0
hikaricp_connections_pending{pool="shop"} 4.0
hikaricp_connections_max{pool="shop"} 8.0
hikaricp_connections_idle{pool="shop"} 5.0
jdbc_connections_active{name="dataSource"} 3.0
jdbc_connections_max{name="dataSource"} 8.0
""",
        {"in_use": 3, "waiting": 4, "size": 8, "uses": 38, "usage_seconds": 0.177, "wait_seconds": 0.5, "timeouts": 2,
         "usage_buckets": 38},
    ),
    "HikariCP by its own tracker": (
        """
hikaricp_active_connections{pool="shop"} 3
hikaricp_pending_threads{pool="shop"} 4
hikaricp_max_connections{pool="shop"} 8
hikaricp_connection_usage_millis_sum{pool="shop"} 500
hikaricp_connection_usage_millis_count{pool="shop"} 20
hikaricp_connection_acquired_nanos_sum{pool="shop"} 2e9
hikaricp_connection_timeout_total{pool="shop"} 2
""",
        {"in_use": 3, "waiting": 4, "size": 8, "uses": 20, "usage_seconds": 0.5, "wait_seconds": 2, "timeouts": 2},
    ),
    "Druid": (
        ('{"ResultCode": 1, "Content": [{"Name": "shop", "ActiveCount": 3, "ActivePeak": 7, "PoolingCount": 2, '
        '"MaxActive": 8, "WaitThreadCount": 4, "NotEmptyWaitCount": 9, "NotEmptyWaitMillis": 500, '
        '"LogicCloseCount": 93, "ConnectionHoldTimeHistogram": [0, 0, 48, 45, 0, 0, 0, 0]}]}'),
        {"in_use": 3, "peak": 7, "waiting": 4, "size": 8, "uses": 93, "wait_seconds": 0.5, "usage_buckets": 93},
    ),
    "DBCP2": (
        """
commons_pool2_num_active_objects{factoryType="org.apache.commons.dbcp2.PoolableConnectionFactory",name="pool"} 3
commons_pool2_num_waiters_threads{factoryType="org.apache.commons.dbcp2.PoolableConnectionFactory",name="pool"} 4
commons_pool2_returned_objects_total{factoryType="org.apache.commons.dbcp2.PoolableConnectionFactory",name="pool"} 20
commons_pool2_num_active_objects{factoryType="redis.clients.jedis.JedisFactory",name="pool1"} 90
""",
        {"in_use": 3, "waiting": 4, "uses": 20},
    ),
    "c3p0 in Metabase": (
        """
c3p0_num_busy_connections{database="shop"} 3
c3p0_num_threads_awaiting_checkout_default_user{database="shop"} 4
c3p0_max_pool_size{database="shop"} 8
""",
        {"in_use": 3, "waiting": 4, "size": 8},
    ),
    "c3p0 by JMX": (
        """
com_mchange_v2_c3p0_PooledDataSource_numBusyConnections{identityToken="1hge1",name="shop"} 3
com_mchange_v2_c3p0_PooledDataSource_numBusyConnectionsAllUsers{identityToken="1hge1",name="shop"} 3
com_mchange_v2_c3p0_PooledDataSource_numThreadsAwaitingCheckoutDefaultUser{identityToken="1hge1",name="shop"} 4
com_mchange_v2_c3p0_PooledDataSource_maxPoolSize{identityToken="1hge1",name="shop"} 8
""",
        {"in_use": 3, "waiting": 4, "size": 8},
    ),
    "c3p0 0.9.1 by JMX": (
        """
com_mchange_v2_c3p0_PooledDataSource_2rvxty863z22_62a34b91_numBusyConnections 3
com_mchange_v2_c3p0_PooledDataSource_2rvxty863z22_62a34b91_maxPoolSize 8
""",
        {"in_use": 3, "size": 8},
    ),
    "Tomcat JDBC by JMX": (
        """
tomcat_jdbc_jdbc_shop_Active{context="/shop",engine="Catalina",type="ConnectionPool",host="localhost"} 3
tomcat_jdbc_jdbc_shop_NumActive{context="/shop",engine="Catalina",type="ConnectionPool",host="localhost"} 3
tomcat_jdbc_jdbc_shop_Idle{context="/shop",engine="Catalina",type="ConnectionPool",host="localhost"} 5
tomcat_jdbc_jdbc_shop_WaitCount{context="/shop",engine="Catalina",type="ConnectionPool",host="localhost"} 4
tomcat_jdbc_jdbc_shop_MaxActive{context="/shop",engine="Catalina",type="ConnectionPool",host="localhost"} 8
tomcat_jdbc_jdbc_shop_ReturnedCount{context="/shop",engine="Catalina",type="ConnectionPool",host="localhost"} 20
Catalina_DataSource_numActive{host="localhost",context="/shop",class="javax.sql.DataSource",name="jdbc/shop"} 3
""",
        {"in_use": 3, "waiting": 4, "size": 8, "uses": 20},
    ),
    "Tomcat JDBC in Spring Boot 1": (
        """
org_apache_tomcat_jdbc_pool_jmx_dataSourceMBean_Active{type="ConnectionPool"} 3
org_apache_tomcat_jdbc_pool_jmx_dataSourceMBean_MaxActive{type="ConnectionPool"} 8
""",
        {"in_use": 3, "size": 8},
    ),
    "Tomcat JDBC by tomcat_exporter": (
        """
tomcat_jdbc_connections_max{pool="jdbc/shop",context="/shop"} 8
tomcat_jdbc_connections_active_total{pool="jdbc/shop",context="/shop"} 3
tomcat_jdbc_connections_idle_total{pool="jdbc/shop",context="/shop"} 5
tomcat_jdbc_waitingthreads_total{pool="jdbc/shop",context="/shop"} 4
tomcat_jdbc_connections_returned_total{pool="jdbc/shop",context="/shop"} 20
""",
        {"in_use": 3, "waiting": 4, "size": 8, "uses": 20},
    ),
    "Tomcat by JMX": (
        """
Catalina_DataSource_numActive{host="localhost",context="/shop",class="javax.sql.DataSource",name="jdbc/shop"} 3
Catalina_DataSource_numIdle{host="localhost",context="/shop",class="javax.sql.DataSource",name="jdbc/shop"} 5
Catalina_DataSource_maxTotal{host="localhost",context="/shop",class="javax.sql.DataSource",name="jdbc/shop"} 8
""",
        {"in_use": 3, "size": 8},
    ),
    "Tomcat by tomcat_exporter": (
        """
tomcat_dbcp2_connections_max{pool="jdbc/shop",context="/shop"} 8
tomcat_dbcp2_connections_active_total{pool="jdbc/shop",context="/shop"} 3
""",
        {"in_use": 3, "size": 8},
    ),
    "Agroal": (
        """
agroal_active_count{datasource="default"} 3.0
agroal_awaiting_count{datasource="default"} 4.0
agroal_max_used_count{datasource="default"} 7.0
agroal_acquire_count_total{datasource="default"} 20.0
agroal_blocking_time_total_milliseconds{datasource="default"} 500.0
agroal_blocking_time_average_milliseconds{datasource="default"} 25.0
""",
        {"in_use": 3, "waiting": 4, "peak": 7, "uses": 20, "wait_seconds": 0.5},
    ),
    "Go": (
        """
go_sql_in_use_connections{db_name="shop"} 3
go_sql_max_open_connections{db_name="shop"} 8
go_sql_wait_count_total{db_name="shop"} 20
go_sql_wait_duration_seconds_total{db_name="shop"} 12.5
""",
        {"in_use": 3, "size": 8, "wait_seconds": 12.5},
    ),
    "otelsql": (
        """
db_sql_connection_open{status="inuse"} 3
db_sql_connection_open{status="idle"} 5
db_sql_connection_max_open 8
db_sql_connection_wait_duration_milliseconds_total 12500
""",
        {"in_use": 3, "size": 8, "wait_seconds": 12.5},
    ),
    "gorm": (
        """
gorm_dbstats_in_use{db_name="shop"} 3
gorm_dbstats_max_open_connections{db_name="shop"} 8
gorm_dbstats_wait_duration{db_name="shop"} 1.25e+10
""",
        {"in_use": 3, "size": 8, "wait_seconds": 12.5},
    ),
    "OpenTelemetry": (
        """
db_client_connection_count{db_client_connection_pool_name="shop",db_client_connection_state="used"} 3
db_client_connection_count{db_client_connection_pool_name="shop",db_client_connection_state="idle"} 5
db_client_connection_max{db_client_connection_pool_name="shop"} 8
db_client_connection_pending_requests{db_client_connection_pool_name="shop"} 4
db_client_connection_timeouts_total{db_client_connection_pool_name="shop"} 2
db_client_connection_use_time_seconds_sum{db_client_connection_pool_name="shop"} 0.5
db_client_connection_use_time_seconds_count{db_client_connection_pool_name="shop"} 20
db_client_connection_wait_time_seconds_sum{db_client_connection_pool_name="shop"} 2
""",
        {"in_use": 3, "waiting": 4, "size": 8, "uses": 20, "usage_seconds": 0.5, "wait_seconds": 2, "timeouts": 2},
    ),
    "OpenTelemetry, old names": (
        """
db_client_connections_usage{pool_name="shop",state="used"} 3
db_client_connections_usage{pool_name="shop",state="idle"} 5
db_client_connections_usage{pool_name="127.0.0.1:6379",state="used",db_system="redis"} 90
db_client_connections_max{pool_name="shop"} 8
db_client_connections_pending_requests{pool_name="shop"} 4
db_client_connections_use_time_milliseconds_sum{pool_name="shop"} 500
db_client_connections_use_time_milliseconds_count{pool_name="shop"} 20
""",
        {"in_use": 3, "waiting": 4, "size": 8, "uses": 20, "usage_seconds": 0.5},
    ),
    "Vert.x": (
        """
vertx_pool_in_use{pool_type="worker",pool_name="vert.x-worker-thread"} 90
vertx_pool_in_use{pool_type="sql",pool_name="shop"} 3
vertx_pool_queue_pending{pool_type="sql",pool_name="shop"} 4
vertx_pool_usage_seconds_sum{pool_type="sql",pool_name="shop"} 0.5
vertx_pool_usage_seconds_count{pool_type="sql",pool_name="shop"} 20
vertx_pool_queue_time_seconds_sum{pool_type="sql",pool_name="shop"} 2
""",
        {"in_use": 3, "waiting": 4, "uses": 20, "usage_seconds": 0.5, "wait_seconds": 2},
    ),
    "R2DBC pool": (
        """
r2dbc_pool_acquired_connections{name="connectionFactory"} 3.0
r2dbc_pool_pending_connections{name="connectionFactory"} 4.0
r2dbc_pool_max_allocated_connections{name="connectionFactory"} 8.0
""",
        {"in_use": 3, "waiting": 4, "size": 8},
    ),
    "Prisma": (
        """
prisma_pool_connections_busy 3
prisma_pool_connections_idle 5
prisma_client_queries_wait 4
prisma_client_queries_wait_histogram_ms_sum 2000
prisma_client_queries_wait_histogram_ms_count 20
""",
        {"in_use": 3, "waiting": 4, "wait_seconds": 2},
    ),
    "generic-pool": (
        """
pool_size_total{type="min"} 2
pool_size_total{type="max"} 8
pool_size_total{type="borrowed"} 3
pool_size_total{type="pending"} 4
""",
        {"in_use": 3, "waiting": 4, "size": 8},
    ),
    "mysqld_exporter": (
        """
mysql_global_status_threads_running 12
mysql_global_status_threads_connected 340
mysql_global_status_max_used_connections 498
mysql_global_variables_max_connections 500
mysql_global_status_aborted_clients 3
mysql_global_status_questions 1e6
mysql_global_status_connection_errors_total{error="internal"} 99
mysql_global_status_connection_errors_total{error="max_connections"} 7
""",
        {"running": 12, "connected": 340, "connected_peak": 498, "max_connections": 500, "aborted": 3,
         "refused": 7},
    ),
}  # fmt: skip
"""Library -> a page, and what it counts: quantity -> value."""
