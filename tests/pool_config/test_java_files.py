"""`poolsize config --check` on the configuration files of Java's frameworks, as users of poolsize reported them."""

from pathlib import Path
from typing import NamedTuple

import pytest

from poolsize.answer.fleet import ServerLimit, Service
from poolsize.errors import BadInput
from poolsize.pool_config.all_pools import Typed, count_pools
from poolsize.pool_config.check import CheckedFile, CheckedPool, check_pools
from poolsize.pool_config.files.java_source import CLASSES
from poolsize.pool_config.files.programs import read_files
from poolsize.pool_config.files.reading import may_have_pools, read_pools
from poolsize.pool_config.libraries.java_frameworks import NeedsPoolDriver, OfVersion

MYSQL = "jdbc:mysql://db.example.com:3306/shop"
DYNAMIC = "spring.datasource.dynamic"
QUARKUS = "quarkus.datasource"
XML = '<?xml version="1.0"?>\n'
BEAN = '<beans xmlns:p="http://www.springframework.org/schema/p"><bean id="a" class="{}" {}>{}</bean></beans>'


class Case(NamedTuple):
    """A file, and the library and the most connections of each of its pools."""

    name: str
    text: str
    pools: list[tuple[str, int | None]]


CASES = {
    "Maven's placeholders without quotes": Case(
        "application.yml", "spring:\n  application:\n    name: @artifact@\n  mail: @a.b@/c\n"
        "  datasource:\n    hikari:\n      maximum-pool-size: 30\n      max-lifetime: @life@\n",
        [("HikariCP", 30)]),
    "Maven's placeholder as a size": Case(
        "application.yml", "spring.datasource.hikari:\n  maximum-pool-size: @pool.size@\n", [("HikariCP", None)]),
    "nested defaults": Case(
        "application.yml", "spring.datasource.hikari.maximum-pool-size: ${A:${B:${C:12}}}", [("HikariCP", 12)]),
    "Helm": Case(
        "values.yaml", "{{- if .Values.on }}\n{{/* two\nlines */}}\nspring:\n  {{- include \"a\" . | nindent 2 }}\n"
        "  datasource:\n    hikari:\n      maximum-pool-size: {{ .Values.pool.max | default 25 }}\n"
        "      minimum-idle: {{ default \"5\" .Values.pool.min | quote }}\n      max-lifetime: {{ .Values.life }}\n"
        "      pool-name: \"{{ .Release.Name }}-pool\"\n{{- end }}\n", [("HikariCP", 25)]),
    "profiles in .properties": Case(
        "application.properties", "spring.datasource.hikari.maximum-pool-size=10\n#---\n"
        "spring.config.activate.on-profile=prod\nspring.datasource.hikari.maximum-pool-size=50\n!---\n"
        "spring.profiles=test\nspring.datasource.hikari.maximum-pool-size=3\n",
        [("HikariCP", 10), ("HikariCP", 50), ("HikariCP", 3)]),
    "several profiles of a document": Case(
        "application.yml", "spring.datasource.hikari.maximum-pool-size: 9\n---\nspring:\n"
        "  config.activate.on-profile:\n    - prod\n    - stage\n  datasource.hikari.maximum-pool-size: 90\n",
        [("HikariCP", 9), ("HikariCP", 90)]),
    "dynamic-datasource, a size for each source": Case(
        "application.yml", f"{DYNAMIC}:\n  hikari: {{max-pool-size: 15, min-idle: 15}}\n  datasource:\n    one:\n"
        f"      url: {MYSQL}\n    two:\n      url: {MYSQL}\n      hikari: {{maxPoolSize: 40}}\n    three:\n"
        "      url: jdbc:postgresql://pg/shop\n    four:\n      url: jdbc:p6spy:mysql://db/shop\n",
        [("HikariCP", 15), ("HikariCP", 40), ("HikariCP", 15)]),
    "dynamic-datasource, two libraries": Case(
        "application.yml", f"{DYNAMIC}:\n  hikari.max-pool-size: 15\n  druid.max-active: 20\n  datasource:\n    one:\n"
        f"      url: {MYSQL}\n    two:\n      url: {MYSQL}\n      type: com.zaxxer.hikari.HikariDataSource\n",
        [("HikariCP", 15), ("Druid", 20)]),
    "names of a project's own code": Case(
        "jdbc.properties", f"jdbc.url={MYSQL}\njdbc.initialSize=10\njdbc.maxActive=100\njdbc.maxWait=-1",
        [("Pool of the project's own code", 100)]),
    "names without a prefix": Case("db.properties", f"url={MYSQL}\nmaxActive=60\nmaxWait=60000",
                                   [("Pool of the project's own code", 60)]),
    "Hibernate's c3p0": Case(
        "hibernate.properties", "hibernate.c3p0.max_size=100\nhibernate.c3p0.timeout=100\n",
        [("c3p0 (Hibernate)", 100)]),
    "Hibernate's c3p0 in Spring": Case(
        "application.properties", f"spring.datasource.url={MYSQL}\nspring.jpa.properties.hibernate.c3p0.max_size=20",
        [("c3p0 (Spring, Hibernate)", 20)]),
    "Hibernate's own pool": Case(
        "hibernate.properties", f"hibernate.connection.url={MYSQL}\nhibernate.connection.pool_size=7",
        [("Hibernate's own pool", 7)]),
    "Hibernate's own pool beside c3p0": Case(
        "hibernate.properties", "hibernate.connection.pool_size=7\nhibernate.c3p0.max_size=20\n",
        [("c3p0 (Hibernate)", 20)]),
    "Hibernate's own pool by default": Case(
        "hibernate.cfg.xml", XML + '<!DOCTYPE hibernate-configuration PUBLIC "-//A//B" "http://a.example/b.dtd">'
        f'<hibernate-configuration><session-factory><property name="connection.url">\n{MYSQL}\n</property>'
        "</session-factory></hibernate-configuration>", [("Hibernate's own pool", 20)]),
    "hibernate.cfg.xml": Case(
        "hibernate.cfg.xml", '<hibernate-configuration><session-factory><property name="c3p0.max_size">20</property>'
        '<property name="hibernate.c3p0.timeout">300</property></session-factory></hibernate-configuration>',
        [("c3p0 (Hibernate)", 20)]),
    "persistence.xml": Case(
        "persistence.xml", '<persistence><persistence-unit name="a"><properties>'
        f'<property name="javax.persistence.jdbc.url" value="{MYSQL}"/>'
        '<property name="hibernate.hikari.maximumPoolSize" value="33"/></properties></persistence-unit></persistence>',
        [("HikariCP", 33)]),
    "Quarkus": Case(
        "application.properties", f"{QUARKUS}.db-kind=mysql\n{QUARKUS}.jdbc.max-size=20\n"
        f"%dev.{QUARKUS}.jdbc.max-size=4\n"
        f'{QUARKUS}."us.ers".db-kind=mariadb\n{QUARKUS}."us.ers".jdbc.max-size=8\n{QUARKUS}.logs.db-kind=postgresql\n'
        f"{QUARKUS}.logs.jdbc.max-size=9\n",
        [("Agroal (Quarkus)", 20), ("Agroal (Quarkus)", 8), ("Agroal (Quarkus)", 4)]),
    "Quarkus before version 1.9": Case(
        "application.properties",
        "quarkus.datasource.url=jdbc:mariadb://db/shop\nquarkus.datasource.min-size=1\nquarkus.datasource.max-size=5",
        [("Agroal (Quarkus)", 5)]),
    "Quarkus by default": Case("application.properties", f"{QUARKUS}.db-kind=mysql", [("Agroal (Quarkus)", 50)]),
    "Quarkus's YAML": Case(
        "application.yml", 'quarkus: {datasource: {db-kind: mysql, jdbc: {max-size: 5}}}\n"%prod":\n'
        "  quarkus: {datasource: {jdbc: {max-size: 60}}}", [("Agroal (Quarkus)", 5), ("Agroal (Quarkus)", 60)]),
    "Quarkus, reactive": Case(
        "application.properties", f"{QUARKUS}.reactive.url=mysql://db/shop\n{QUARKUS}.reactive.max-size=30",
        [("Vert.x (Quarkus)", 30)]),
    "Quarkus, reactive by default, as in webdaves/test-quarkus-mysql": Case(
        "application.properties", f"{QUARKUS}.db-kind=mysql\n{QUARKUS}.reactive.url=mysql://db/shop",
        [("Vert.x (Quarkus)", 20)]),
    "Micronaut's defaults, as in i-chi-li/micronaut-kotlin-blanco-sample": Case(
        "application.yml", f"datasources.default:\n  url: ${{a.url:`{MYSQL}`}}\n  maximumPoolSize: ${{a.size:`50`}}",
        [("HikariCP", 50)]),
    "Micronaut": Case(
        "application.yml", f"datasources:\n  default:\n    url: {MYSQL}\n    maximum-pool-size: 12\n  more:\n"
        f"    url: {MYSQL}\n  other:\n    url: jdbc:h2:mem:a;MODE=MySQL\n", [("HikariCP", 12), ("HikariCP", 10)]),
    "Dropwizard": Case(
        "config.yml", f"database:\n  driverClass: com.mysql.cj.jdbc.Driver\n  url: {MYSQL}\n  maxSize: 32\n"
        "  maxWaitForConnection: 1s\n", [("Dropwizard", 32)]),
    "Dropwizard's default of a variable": Case(
        "config.yml", f"database: {{driverClass: a, url: '{MYSQL}', maxSize: '${{MOST:-24}}'}}", [("Dropwizard", 24)]),
    "Dropwizard by default": Case(
        "config.yml", f"database: {{driverClass: com.mysql.cj.jdbc.Driver, url: '{MYSQL}'}}", [("Dropwizard", 100)]),
    "R2DBC": Case(
        "application.yml", "spring.r2dbc: {url: 'r2dbc:mysql://db/shop', pool: {max-size: 50, max-acquire-time: 3s}}",
        [("R2DBC Pool", 50)]),
    "Micronaut's R2DBC": Case(
        "application.yml",
        "r2dbc.datasources.default: {url: 'r2dbc:pool:mysql://db/shop', options: {maxSize: 30}}", [("R2DBC Pool", 30)]),
    "R2DBC by default": Case("application.yml", "spring.r2dbc.url: r2dbc:mysql://db/shop", [("R2DBC Pool", 10)]),
    "R2DBC in its URL": Case(
        "application.yml", "spring.r2dbc.url: r2dbc:pool:mysql://u:secret@db/shop?initialSize=5&maxSize=40",
        [("R2DBC Pool", 40)]),
    "ShardingSphere": Case(
        "config.yaml", f"dataSources:\n  ds_0:\n    url: {MYSQL}\n    maxPoolSize: 200\n  ds_1:\n    url: {MYSQL}\n"
        f"  ds_2: !!org.apache.commons.dbcp2.BasicDataSource\n    url: {MYSQL}\n    maxTotal: 65\nrules:\n- !SHARDING\n"
        "  tables: {}\n", [("ShardingSphere", 200), ("DBCP 2", 65), ("ShardingSphere", 50)]),
    "Grails": Case(
        "application.yml", f"environments:\n  production:\n    dataSource:\n      url: {MYSQL}\n      properties:\n"
        "        maxActive: 50\n", [("Tomcat JDBC Pool", 50)]),
    "Spring Boot 1": Case(
        "application.properties", "spring.datasource.maxActive=50\nspring.datasource.removeAbandoned=true",
        [("Tomcat JDBC Pool (Spring Boot 1)", 50)]),
    "Spring Boot 1's names without a size": Case(
        "application.yml", f"spring.datasource: {{url: '{MYSQL}', testOnBorrow: true}}", [("HikariCP", 10)]),
    "Spring Boot 1's names without a size, and Tomcat's class": Case(
        "application.yml", "spring.datasource: {type: org.apache.tomcat.jdbc.pool.DataSource, testOnBorrow: true}",
        [("Tomcat JDBC Pool (Spring Boot 1)", 100)]),
    "Spring Boot 1, Tomcat's part": Case(
        "application.yml", "spring.datasource.tomcat: {max-active: 40}", [("Tomcat JDBC Pool (Spring Boot)", 40)]),
    "Tomcat's pool by its type": Case(
        "application.yml",
        "spring.datasource: {type: org.apache.tomcat.jdbc.pool.DataSource, tomcat: {max-active: 40}}",
        [("Tomcat JDBC Pool", 40)]),
    "Spring Boot by default": Case("application.properties", f"spring.datasource.url={MYSQL}", [("HikariCP", 10)]),
    "Spring Boot with Druid by default": Case(
        "application.yml", f"spring.datasource: {{url: '{MYSQL}', type: com.alibaba.druid.pool.DruidDataSource}}",
        [("Druid", 8)]),
    "Spring's beans": Case(
        "beans.xml", BEAN.format("com.alibaba.druid.pool.DruidDataSource", 'p:maxActive="50"',
                                 '<property name="maxWait"><value>${jdbc.wait:9}</value></property>'), [("Druid", 50)]),
    "a bean with its settings in a HikariConfig": Case(
        "beans.xml", '<beans><bean class="com.zaxxer.hikari.HikariDataSource"><constructor-arg ref="c"/></bean>'
        '<bean id="c" class="com.zaxxer.hikari.HikariConfig"><property name="maximumPoolSize" value="30"/></bean>'
        "</beans>", [("HikariCP", 30)]),
    "a bean with its settings in another file": Case(
        "beans.xml", BEAN.format("com.zaxxer.hikari.HikariDataSource", "", '<constructor-arg ref="c"/>'),
        [("HikariCP", None)]),
    "beans with a parent": Case(
        "beans.xml", '<beans><bean id="p" class="com.alibaba.druid.pool.DruidDataSource" abstract="true">'
        f'<property name="maxActive" value="30"/></bean><bean parent="p"><property name="url" value="{MYSQL}"/></bean>'
        '<bean parent="p"><property name="maxActive" value="7"/></bean><bean id="a" parent="b"/>'
        '<bean id="b" parent="a"/>'
        '<bean parent="p"><property name="url" value="jdbc:oracle:thin:@db"/></bean></beans>',
        [("Druid", 30), ("Druid", 7)]),
    "beans that another file changes": Case(
        "beans.xml", '<beans><property-override location="classpath:db.properties"/>'
        '<bean id="a" class="com.mchange.v2.c3p0.ComboPooledDataSource"/></beans>', [("c3p0", None)]),
    "c3p0's own file": Case(
        "c3p0-config.xml", '<c3p0-config><default-config><property name="maxPoolSize">60</property></default-config>'
        "</c3p0-config>", [("c3p0", 60)]),
    "Hibernate in Spring's beans": Case(
        "beans.xml", BEAN.format("com.zaxxer.hikari.HikariDataSource", 'p:maximumPoolSize="25"',
                                 '<props><prop key="hibernate.connection.pool_size">5</prop></props>'),
        [("HikariCP", 25)]),
    "Druid's URL beside Spring's": Case(
        "application.yml", f"spring.datasource: {{url: '{MYSQL}', druid: {{url: '{MYSQL}'}}}}", [("Druid", 8)]),
    "Druid's sources without settings": Case(
        "application.yml", f"spring.datasource.druid: {{a: {{url: '{MYSQL}'}}, b: {{enabled: false, url: }}}}",
        [("Druid", 8)]),
    "Druid's settings above two sources": Case(
        "application.yml", f"druid: {{one: {{url: '{MYSQL}'}}, two: {{url: '{MYSQL}'}}, maxActive: 20}}",
        [("Druid", 20), ("Druid", 20)]),
    "Tomcat 8's resource": Case(
        "context.xml",
        f'<Context><Resource name="a" type="javax.sql.DataSource" url="{MYSQL}" maxTotal="30"/></Context>',
        [("DBCP 2", 30)]),
    "Kotlin's lambdas": Case(
        "Db.kt", "object Db {\n  val a by lazy {\n    HikariDataSource(HikariConfig().apply {\n"
        f"      jdbcUrl = env[\"URL\"] ?: \"{MYSQL}\" // of the shop\n"
        "      maximumPoolSize = env[\"A\"]?.toInt() ?: 16\n"
        "    })\n  }\n  fun b(most: Int = 7): DataSource {\n    val config = HikariConfig()\n    with(config) {\n"
        "      maximumPoolSize = most\n    }\n    return HikariDataSource(config)\n  }\n"
        '  val c = HikariConfig().also { it.jdbcUrl = "jdbc:h2:mem:a"; it.maximumPoolSize = 3 }\n'
        '  val d = HikariConfig().also { d -> d.jdbcUrl = url; d.maximumPoolSize = 4 }\n}\n',
        [("HikariCP", 16), ("HikariCP", 7), ("HikariCP", 4)]),
    "Kotlin's lambdas as arguments": Case(
        "Db.kt", "class A(\n  host: String,\n  most: Int = 10\n) : Store.Base(HikariConfig().apply {\n"
        '  this.jdbcUrl = "jdbc:mysql://$host/a"\n  this.maximumPoolSize = most\n}) {\n  fun b() {\n'
        "    open(HikariConfig().apply {\n      jdbcUrl = url\n      maximumPoolSize = 5\n    })\n  }\n}\n"
        "object B : Base(config = HikariConfig().also { it.jdbcUrl = url; it.maximumPoolSize = 4 })\n"
        "class C(private val size: Int = 3, url: String) {\n  val c = HikariConfig().apply {\n    jdbcUrl = url\n"
        "    maximumPoolSize = size\n  }\n}\n"
        "class D(own: Int) : Base(HikariConfig().apply {\n  jdbcUrl = url\n  maximumPoolSize = own\n})\n",
        [("HikariCP", 10), ("HikariCP", 5), ("HikariCP", 4), ("HikariCP", 3), ("HikariCP", None)]),
    "Kotlin's lines around a long comment": Case(
        "Db.kt", f'fun a() {{\n  val config = HikariConfig()\n  config.jdbcUrl = "{MYSQL}"\n'
        "  // This size\n  // was\n  // measured.\n  config.maximumPoolSize = 12\n}\n", [("HikariCP", 12)]),
    "Vert.x": Case(
        "A.java", "class A { void f() { MySQLBuilder.pool().with(new PoolOptions()"
        ".setMaxSize(config.getInteger(\"a\", 16)).setIdleTimeout(5)"
        ".setIdleTimeoutUnit(TimeUnit.MINUTES)).using(vertx); var b = new PoolOptions(json); } }",
        [("Vert.x", 16), ("Vert.x", None)]),
    "Vert.x in Kotlin": Case(
        "A.kt", "val a = MySQLPool.pool(vertx, connectOptions, poolOptionsOf(maxSize = 12))", [("Vert.x", 12)]),
    "Vert.x's JSON": Case("config.json", '{"mysql": {"host": "db", "pool": {"maxSize": 20}}, // shop\n"a": 1}',
                          [("Vert.x", 20)]),
    "Vert.x's JDBC client": Case("config.json", f'{{"db": {{"url": "{MYSQL}", "max_pool_size": 30}}}}',
                                 [("Pool of the project's own code", 30)]),
    "the builder of R2DBC's pool": Case(
        "A.java", "class A { static final int MOST = 40; ConnectionPool f() { return new ConnectionPool("
        "ConnectionPoolConfiguration.builder(of(mysql)).maxSize(MOST).build()); } }",
        [("R2DBC Pool", 40)]),
    "R2DBC's options": Case(
        "A.java", 'class A { void f() { var a = ConnectionFactoryOptions.builder().option(DRIVER, "pool")'
        '.option(PROTOCOL, "mysql").option(MAX_SIZE, 40).build();'
        'var b = ConnectionFactoryOptions.builder().option(DRIVER, "mysql").option(MAX_SIZE, 50).build();'
        'ConnectionFactories.get("r2dbc:pool:mysql://u:secret@db/shop?maxSize=30");'
        'ConnectionFactories.get("r2dbc:pool:mariadb://db/shop?maxSize=20"); ConnectionFactories.get(); } }',
        [("R2DBC Pool", 40), ("R2DBC without a pool", None), ("R2DBC Pool", 30), ("R2DBC Pool", 20)]),
    "Spring's builder": Case(
        "A.java", f'class A {{ DataSource a() {{ HikariDataSource d = DataSourceBuilder.create().url("{MYSQL}")'
        ".build(); d.setMaximumPoolSize(60); return d; } DataSource b() { return DataSourceBuilder.create().url(url)"
        ".type(com.alibaba.druid.pool.DruidDataSource.class).build(); }"
        "@Bean @ConfigurationProperties(\"c\") DataSource c() {"
        "var c = DataSourceBuilder.create(); return c.url(url).build(); } DataSource e(DataSourceProperties p) {"
        "HikariDataSource e = p.initializeDataSourceBuilder().build(); e.setMinimumIdle(1); return e; } }",
        [("HikariCP", 60), ("Druid", 8), ("HikariCP", None), ("HikariCP", None)]),
    "a data source in a field": Case(
        "A.java", "class A { private final BasicDataSource d = new BasicDataSource(); A(boolean b) {"
        "d.setMaxTotal(b ? size : 30); ((BasicDataSource) d).setMaxIdle(30); } }", [("DBCP 2", 30)]),
    "properties that a pool is given": Case(
        "A.java", "class A { void a() { Properties p = new Properties(), q = new Properties(); "
        f'p.setProperty("jdbcUrl", "{MYSQL}"); p.setProperty("maximumPoolSize", "12"); '
        'q.setProperty("maximumPoolSize", "5"); var c = new HikariConfig(p); c.setMinimumIdle(3); } }',
        [("HikariCP", 12)]),
    "properties that a pool is given in Kotlin": Case(
        "A.kt", f'val p = Properties()\np.setProperty("jdbcUrl", "{MYSQL}")\np.setProperty("maximumPoolSize", "12")\n'
        "val c = HikariConfig(p)\n", [("HikariCP", 12)]),
    "maps that a factory and a pool are given": Case(
        "A.java", "class A { void a() { Map<String, String> m = new HashMap<>(), o = new HashMap<>(); "
        f'm.put("url", "{MYSQL}"); m.put("maxActive", "12"); o.put("maxActive", "5"); '
        "var d = DruidDataSourceFactory.createDataSource(m); var p = new Properties(); p.load(file); "
        'var e = BasicDataSourceFactory.createDataSource(p); var q = new Properties(); q.put("maximumPoolSize", 7); '
        "new HikariConfig(q); } }", [("Druid", 12), ("HikariCP", 7)]),
    "Slick": Case(
        "application.conf",
        f'slick.dbs.a {{ profile = "slick.jdbc.MySQLProfile$"\n db {{ url = "{MYSQL}", numThreads = 9\n'
        f' properties {{ maximumPoolSize = 64 }} }} }}\nb {{ url = "{MYSQL}"\n numThreads = 4, maxConnections = 5 }}\n'
        f'include "c"\nslick.dbs.d {{ profile = slick.MySQL, db.url: "{MYSQL}" }}',
        [("HikariCP (Slick)", 9), ("HikariCP (Slick)", 5), ("HikariCP (Slick)", 20)]),
    "two pools of the same properties": Case(
        "A.java", 'import com.zaxxer.hikari.*; class A { void f() { var p = new Properties(); '
        f'p.setProperty("maximumPoolSize", "12"); p.setProperty("jdbcUrl", "{MYSQL}"); var w = new HikariConfig(p); '
        "var r = new HikariConfig(p); } }", [("HikariCP", 12), ("HikariCP", 12)]),
    "an own setting called profile, and a URL from elsewhere": Case(
        "application.yml", "app.profile: oracle-prod\nspring.datasource:\n  url: ${DB_URL}\n"
        "  hikari.maximum-pool-size: 30\n", [("HikariCP", 30)]),
    "Slick with the URL among properties, as in bchanez/play-slick-mysql": Case(
        "application.conf", 'slick.dbs.a.profile = "slick.jdbc.MySQLProfile$"\nslick.dbs.a.db {\n dataSourceClass = '
        f'"slick.jdbc.DatabaseUrlDataSource"\n properties.url = "{MYSQL}" }}\n', [("HikariCP (Slick)", 20)]),
    "Slick with the URL elsewhere, and without Play": Case(
        "application.conf", 'slick.dbs.a { profile = "slick.jdbc.MySQLProfile$", db.url = ${?DATABASE_URL} }\n'
        f'b {{ dataSourceClass = slick.jdbc.DriverDataSource, properties.url = "{MYSQL}" }}\n',
        [("HikariCP (Slick)", 20), ("HikariCP (Slick)", 20)]),
    "HOCON without Play": Case(
        "application.conf", f'db.url = "{MYSQL}"\ndb.user = u\nhikari.maximumPoolSize = 5\n', [("HikariCP", 5)]),
    "Play": Case(
        "application.conf", f'most = 40\ndb.a {{ url = "{MYSQL}"\n hikaricp {{ maximumPoolSize = ${{most}}\n'
        f' maximumPoolSize = ${{?MOST}} }} }} # shop\ndb.b.url = "{MYSQL}"\n'
        "play.db.prototype.hikaricp.maximumPoolSize = 50",
        [("HikariCP (Play)", 40), ("HikariCP (Play)", 50)]),
}  # fmt: skip


JAVA = """
package a;
import com.zaxxer.hikari.*;
class A {
    private static final int MOST = 4 * 5;
    @Value("${pool.idle:7}") private int idle;
    private HikariDataSource other;
    DataSource of(@Value("${pool.wait:3000}") long wait) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:mysql://db/shop");
        config.setMaximumPoolSize(MOST);
        config.setMinimumIdle(this.idle);
        config.setConnectionTimeout(wait);
        config.setMaxLifetime(TimeUnit.MINUTES.toMillis(15));
        config.setKeepaliveTime(Duration.ofSeconds(60).toMillis());
        config.setLeakDetectionThreshold(Long.parseLong(System.getenv().getOrDefault("LEAK", "5000")));
        config.setValidationTimeout(settings.timeout());
        config.addDataSourceProperty("maximumPoolSize", "99");
        return new HikariDataSource(config);
    }
    void postgres() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://db/shop");
        config.setMaximumPoolSize(70);
    }
    void druid() {
        DruidDataSource druid = new DruidDataSource();
        druid.setMaxActive(180);
        druid.setMaxWait(60000);
    }
}
"""


def checked(folder: Path, name: str, text: str) -> tuple[CheckedPool, ...]:
    (folder / name).write_text(text)
    return check_pools(read_pools(folder / name).pools)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_pools_of_a_kind_of_file(tmp_path: Path, case: Case) -> None:
    pools = checked(tmp_path, case.name, case.text)
    assert [(each.pool.library.title, each.most_connections) for each in pools] == case.pools


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("application.yml", "spring.datasource: {url: 'jdbc:postgresql://mysql', hikari.maximumPoolSize: 9}"),
        ("application.properties", "spring.datasource.driverClassName=org.h2.Driver\nspring.datasource.maxActive=9"),
        ("application.properties", "spring.datasource.url=${DB:jdbc:oracle:thin:@db}\nspring.datasource.maxActive=9"),
        ("application.properties", "quarkus.datasource.db-kind=postgresql\nquarkus.datasource.jdbc.max-size=9"),
        ("hibernate.properties", "hibernate.dialect=org.hibernate.dialect.H2Dialect\nhibernate.c3p0.max_size=9"),
        ("jdbc.properties", "jdbc.url=jdbc:sqlserver://db\npool.maximumPoolSize=9"),
        ("redis.properties", "redis.pool.maxActive=9\nredis.pool.maxTotal=9"),
        ("application.yml", "spring.redis.lettuce.pool: {max-active: 8, max-wait: -1}"),
        ("context.xml", '<Resource type="javax.sql.DataSource" driverClassName="org.postgresql.Driver" maxTotal="9"/>'),
        ("pom.xml", "<project><dependency><artifactId>HikariCP</artifactId></dependency></project>"),
        ("logback.xml", "<configuration><appender name='a'><maxIndex>5</maxIndex></appender></configuration>"),
        ("A.java", "class A { Pool f() { return PgPool.pool(/* or MySQL */ options, new PoolOptions()); } }"),
        ("A.java", "import io.r2dbc.postgresql.*; class A { void f() { ConnectionPoolConfiguration.builder(f); } }"),
        ("application.yml", "r2dbc.datasources.default.url: r2dbc:mysql://db/shop"),
        ("A.java", 'class A { void f() { ConnectionFactoryOptions.builder().option(DRIVER, "mysql").build(); } }'),
        ("application.conf", 'slick.dbs.a { profile = slick.jdbc.Postgres, db { url = "jdbc:postgresql:a" } }'),
        ("jedis.xml", BEAN.format("redis.clients.jedis.JedisPoolConfig", "", '<property name="maxTotal" value="9"/>')),
    ],
)  # fmt: skip
def test_other_databases_and_other_xml_have_no_pools(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(BadInput, match="no settings of a pool"):
        checked(tmp_path, name, text)


def test_xml_without_pools_is_no_error_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "pom.xml").write_text("<project/>")
    (tmp_path / "a.yml").write_text("spring.datasource.hikari.maximumPoolSize: 3")
    files, errors = read_files([tmp_path])
    assert ([file.path.name for file in files], errors) == (["a.yml"], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a><b></a>", "this is not XML: line 1"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "declares entities"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "declares entities"),
        ("<a>" * 500 + "</a>" * 500, "nested too deeply"),
    ],
)
def test_hostile_xml_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        checked(tmp_path, "a.xml", text)


def test_hostile_hocon_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nested too deeply"):
        checked(tmp_path, "application.conf", "a {" * 500)


def test_what_hocon_includes_and_what_slick_does_not_read_is_named(tmp_path: Path) -> None:
    text = f'include "b"\na {{ url = "{MYSQL}"\n numThreads = 4\n properties.maximumPoolSize = 64\n}}'
    (pool,) = checked(tmp_path, "application.conf", text)
    assert [(each.name, each.line) for each in pool.pool.unread] == [("maximumPoolSize", 4)]
    assert [(each.text, each.line) for each in pool.pool.elsewhere] == [('"b"', 1)]


@pytest.mark.costly
def test_durations_of_frameworks_have_units(tmp_path: Path) -> None:
    text = "".join(
        f"quarkus.datasource.jdbc.{name}\n"
        for name in ("max-lifetime=PT1H30M", "acquisition-timeout=30", "idle-removal-interval=10M", "max-size=20")
    )
    (pool,) = checked(tmp_path, "application.properties", text)
    values = {name: each.value for name, each in pool.pool.settings.items()}
    assert values == {
        "maxLifetime": 5_400_000, "acquisitionTimeout": 30_000, "idleRemovalInterval": 600_000, "maxSize": 20
    }  # fmt: skip
    (pool,) = checked(tmp_path, "a.yml", f"database: {{driverClass: a, url: '{MYSQL}', minIdleTime: 10 seconds}}")
    assert pool.pool.number("minIdleTime") == 10_000


def test_names_that_hikaricp_does_not_read_in_micronaut_are_named(tmp_path: Path) -> None:
    """As in rmondejar/micronaut-mysql-kotlin, application.yml."""
    names = "maximum-pool-size: 10\n    maximum-idle: 5\n    initial-size: 5\n    max-pool-size: 30"
    (pool,) = checked(tmp_path, "a.yml", f"datasources:\n  default:\n    url: {MYSQL}\n    {names}\n")
    assert ([each.name for each in pool.pool.unread], pool.most_connections) == (
        ["maximum-idle", "initial-size", "max-pool-size"], 10
    )  # fmt: skip


def test_spaces_at_the_end_of_a_property_are_not_shown(tmp_path: Path) -> None:
    """As in badrhub/quarkus-mysql-panache-crud, application.properties."""
    text = f"quarkus.datasource.jdbc.url={MYSQL}\nquarkus.datasource.jdbc.max-size=8   \n"
    (pool,) = checked(tmp_path, "application.properties", text)
    assert pool.pool.settings["maxSize"].text == "8"


def test_a_template_is_shown_as_the_file_writes_it(tmp_path: Path) -> None:
    (pool,) = checked(tmp_path, "a.yml", "hikari:\n  maximum-pool-size: {{ .Values.size | default 4 }}\n")
    setting = pool.pool.settings["maximumPoolSize"]
    assert (setting.text, setting.value, setting.line) == ("{{ .Values.size | default 4 }}", 4, 2)


def test_settings_of_spring_boot_1_beside_those_of_a_pool_are_not_read(tmp_path: Path) -> None:
    text = "spring.datasource: {maxActive: 50, hikari: {maximum-pool-size: 9, max-pool-size: 70}}"
    (pool,) = checked(tmp_path, "application.yml", text)
    assert pool.most_connections == 9
    assert {each.name for each in pool.pool.unread} == {"maxActive", "max-pool-size"}


@pytest.mark.costly
def test_no_secret_of_a_url_is_kept(tmp_path: Path) -> None:
    for name, text in (
        ("a.yml", "spring.r2dbc.url: r2dbc:pool:mysql://u:secret@db/shop?maxSize=4"),
        ("context.xml", '<Resource name="a" type="javax.sql.DataSource" url="jdbc:mysql://u:secret@db" maxTotal="3"/>'),
        ("A.java", 'class A {{ var c = new HikariConfig(); c.setMaximumPoolSize(of("mysql://u:secret@db")); }}'),
        ("a.go", 'package a\nfunc a() { db, _ := sql.Open("mysql", d); db.SetMaxOpenConns(of("mysql://u:secret@h")) }'),
    ):
        assert "secret" not in repr(checked(tmp_path, name, text))


def test_setters_in_java(tmp_path: Path) -> None:
    hikari, druid = checked(tmp_path, "A.java", JAVA)
    assert {name: each.value for name, each in hikari.pool.settings.items()} == {
        "maximumPoolSize": 20, "minimumIdle": 7, "connectionTimeout": 3000, "maxLifetime": 900_000,
        "keepaliveTime": 60_000, "leakDetectionThreshold": 5000, "validationTimeout": None,
    }  # fmt: skip
    assert (hikari.pool.library.title, hikari.most_connections) == ("HikariCP", 20)
    assert (druid.pool.library.title, druid.most_connections) == ("Druid", 180)


def test_a_setting_of_the_pool_among_those_of_the_driver_is_not_read(tmp_path: Path) -> None:
    """As in program-spiritual/KongFuOfArchitect, ConnectionPool.java."""
    calls = 'c.addDataSourceProperty("connectionTimeout", "1000"); c.addDataSourceProperty("cachePrepStmts", "true");'
    text = f'class A {{ void a() {{ var c = new HikariConfig(); c.setJdbcUrl("{MYSQL}"); {calls} }} }}'
    (pool,) = checked(tmp_path, "A.java", text)
    assert [each.name for each in pool.pool.unread] == ['addDataSourceProperty("connectionTimeout")']
    assert not pool.pool.settings


@pytest.mark.parametrize(
    ("driver", "title"), [('"mariadb"', "R2DBC without a pool"), ('"pool"', "R2DBC Pool"), ("driver", "R2DBC Pool")]
)
def test_the_driver_of_r2dbc_s_options_is_what_is_wrong_and_not_the_name(
    tmp_path: Path, driver: str, title: str
) -> None:
    options = f'.option(DRIVER, {driver}).option(HOST, "h").option(INITIAL_SIZE, 9).option(MAX_SIZE, 40)'
    text = f"class A {{ void f() {{ var o = ConnectionFactoryOptions.builder(){options}.build(); }} }} // mysql"
    (pool,) = checked(tmp_path, "A.java", text)
    told = [each.words.format(each) for each in pool.findings if isinstance(each, NeedsPoolDriver)]
    assert (pool.pool.library.title, bool(told), pool.pool.unread) == (title, "without" in title, ())
    assert all("INITIAL_SIZE and MAX_SIZE" in each and 'DRIVER to "pool"' in each for each in told)


def test_a_setting_of_a_chain_is_on_the_line_of_its_name(tmp_path: Path) -> None:
    text = "class A { void a() {\n var p = ConnectionPoolConfiguration.builder(of(mysql))\n .maxSize(9)\n .build(); } }"
    (pool,) = checked(tmp_path, "A.java", text)
    assert pool.pool.settings["maxSize"].line == 3


def test_java_without_a_pool_is_not_read_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "B.java").write_text("class B { int a() { return 1; } }")
    (tmp_path / "A.java").write_text(JAVA)
    files, errors = read_files([tmp_path])
    assert ([file.path.name for file in files], errors) == (["A.java"], [])


def test_a_data_source_made_of_another_bean_is_no_pool_of_its_own(tmp_path: Path) -> None:
    reference = '<bean class="com.zaxxer.hikari.HikariDataSource"><constructor-arg ref="config"/></bean>'
    config = (
        '<bean id="config" class="com.zaxxer.hikari.HikariConfig"><property name="maximumPoolSize" value="7"/></bean>'
    )
    (tmp_path / "beans.xml").write_text(f"<beans>{reference}{config}</beans>")
    assert [pool.value("maximumPoolSize") for pool in read_pools(tmp_path / "beans.xml").pools] == [7]


def test_java_that_names_no_class_of_a_pool_is_not_parsed() -> None:
    assert not may_have_pools(b"/** MySQL, by JDBC. */ class Pool {}", "Pool.java")
    assert all(may_have_pools(name.encode(), "Pool.java") for name in CLASSES if "." not in name)


BOUND = f"""
class A {{
  @Bean
  @ConfigurationProperties("spring.datasource.hikari")
  public HikariDataSource primary(DataSourceProperties properties) {{
    return properties.initializeDataSourceBuilder().type(HikariDataSource.class).build();
  }}
  @Bean
  public DataSource replica() {{
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl("{MYSQL}");
    config.setMaximumPoolSize(7);
    return new HikariDataSource(config);
  }}
}}
"""


@pytest.mark.costly
def test_a_bean_that_is_bound_to_keys_is_named_and_is_the_pool_of_these_keys(tmp_path: Path) -> None:
    primary, replica = checked(tmp_path, "A.java", BOUND)
    assert (primary.pool.where, primary.most_connections) == ("spring.datasource.hikari, line 6", None)
    assert replica.most_connections == 7
    (tmp_path / "application.yml").write_text(f"spring.datasource: {{url: '{MYSQL}', hikari.maximum-pool-size: 25}}")
    files = [CheckedFile(each.path, check_pools(each.pools), 0) for each in read_files([tmp_path])[0]]
    together = count_pools(files, Typed(Service("shop", 1), 0.0), ServerLimit())
    assert (together.connections, together.unknown) == (32, 0)
    together = count_pools(files[:1], Typed(Service("shop", 1), 0.0), ServerLimit())
    assert (together.connections, together.unknown) == (7, 1)


@pytest.mark.parametrize(
    ("annotation", "most"),
    [
        ("", 10),
        ("// @ConfigurationProperties(prefix = 'shop')\n", 10),
        ("/* @ConfigurationProperties */", 10),
        ('@ConfigurationProperties(prefix = "shop") // @Primary\n', None),
    ],
)
def test_an_annotation_in_a_comment_binds_no_bean(tmp_path: Path, annotation: str, most: int | None) -> None:
    made = f'var c = new HikariConfig(); c.setJdbcUrl("{MYSQL}"); return c;'
    source = "DataSource s(HikariConfig given) { DataSource s = new HikariDataSource(given); return s; }"
    (pool,) = checked(
        tmp_path, "A.java", f"class A {{ @Bean {annotation} HikariConfig c() {{ {made} }} @Bean {source} }}"
    )
    assert (pool.most_connections, pool.pool.complete) == (most, most is not None)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("app.data-source.config", f"app.dataSource: {{url: '{MYSQL}', config.maximum-pool-size: 25}}"),
        ("spring.datasource", f"spring.datasource: {{jdbc-url: '{MYSQL}', maximum-pool-size: 25}}"),
    ],
)
def test_the_keys_of_a_bound_bean_are_relaxed_and_of_any_title(tmp_path: Path, keys: str, text: str) -> None:
    (tmp_path / "A.java").write_text(BOUND.replace("spring.datasource.hikari", keys))
    (tmp_path / "application.yml").write_text(text)
    files = [CheckedFile(each.path, check_pools(each.pools), 0) for each in read_files([tmp_path])[0]]
    together = count_pools(files, Typed(Service("shop", 1), 0.0), ServerLimit())
    assert (together.connections, together.unknown) == (32, 0)


@pytest.mark.costly
@pytest.mark.parametrize("size", ["config.setMaximumPoolSize(settings.size());", ""])
def test_a_pool_at_the_line_of_another_file_s_pool_is_not_that_pool(tmp_path: Path, size: str) -> None:
    made = "class A {{ void f() {{ HikariConfig config = {}; config.setJdbcUrl(url); {} }} }}"
    (tmp_path / "A.java").write_text(made.format("new HikariConfig()", "config.setMaximumPoolSize(7);"))
    (tmp_path / "B.java").write_text(made.format("new HikariConfig(properties)", size))
    files = [CheckedFile(each.path, check_pools(each.pools), 0) for each in read_files([tmp_path])[0]]
    assert len({checked.pool.place for file in files for checked in file.pools}) == 1
    together = count_pools(files, Typed(Service("shop", 1), 0.0), ServerLimit())
    assert (together.connections, together.unknown) == (7, 1)


def test_a_bound_bean_of_source_that_names_no_mysql_is_no_pool(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no settings of a pool"):
        checked(tmp_path, "A.java", BOUND.split("  @Bean\n  public", maxsplit=1)[0].replace("mysql", "") + "}")


@pytest.mark.parametrize(
    ("name", "text", "most"),
    [
        ("pom.xml", "<properties><quarkus.platform.version>3.15.1</quarkus.platform.version></properties>", 20),
        ("pom.xml", "<properties><quarkus.version>2.16.0.Final</quarkus.version></properties>", 20),
        ("pom.xml", "<artifactId>quarkus-bom</artifactId>\n  <version>3.30.2</version>", 20),
        ("pom.xml", "<properties><quarkus.platform.version>3.31.0</quarkus.platform.version></properties>", 50),
        ("pom.xml", "<properties><quarkus.platform.version>4.0.0</quarkus.platform.version></properties>", 50),
        ("gradle.properties", "quarkusPlatformVersion=3.8.4\n", 20),
        ("build.gradle", "plugins { id 'io.quarkus' version '3.8.4' }", 20),
        ("build.gradle.kts", 'plugins { id("io.quarkus") version "3.33.1" }', 50),
        ("build.gradle", 'implementation enforcedPlatform("io.quarkus.platform:quarkus-bom:3.8.4")', 20),
        ("pom.xml", "<quarkus.platform.version>999-SNAPSHOT</quarkus.platform.version><version>3.1</version>", None),
        ("pom.xml", "<artifactId>quarkus-bom</artifactId><version>${quarkus.version}</version>", None),
    ],
)
def test_the_default_of_quarkus_is_that_of_its_version(tmp_path: Path, name: str, text: str, most: int | None) -> None:
    (tmp_path / name).write_text(text)
    resources = tmp_path / "src/main/resources"
    resources.mkdir(parents=True)
    (pool,) = checked(resources, "application.properties", f"{QUARKUS}.db-kind=mysql")
    is_unknown = any(isinstance(each, OfVersion) for each in pool.findings)
    assert (pool.most_connections, is_unknown) == (most or 50, most is None)
    (pool,) = checked(resources, "application.properties", f"{QUARKUS}.db-kind=mysql\n{QUARKUS}.jdbc.max-size=9")
    assert pool.most_connections == 9
    assert not any(isinstance(each, OfVersion) for each in pool.findings)


@pytest.mark.parametrize(("version", "most"), [("2.8.2.Final", 4), ("2.15.3.Final", 4), ("2.16.0", 20), ("3.8.4", 20)])
def test_the_default_of_quarkus_reactive_pool_is_that_of_its_version(tmp_path: Path, version: str, most: int) -> None:
    (tmp_path / "pom.xml").write_text(f"<quarkus.platform.version>{version}</quarkus.platform.version>")
    url = f"{QUARKUS}.db-kind=mysql\n{QUARKUS}.reactive.url=mysql://h/d"
    assert [pool.most_connections for pool in checked(tmp_path, "application.properties", url)] == [most]


@pytest.mark.parametrize(
    ("repository", "resources", "most"),
    [
        (".", "module/src/main/resources", 20),
        ("module", "module/src/main/resources", 50),
        (".", "module/src/main/resources/a", 50),
    ],
)
def test_the_version_of_quarkus_is_that_of_the_repository_however_the_path_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: str, resources: str, most: int
) -> None:
    (tmp_path / resources).mkdir(parents=True)
    (tmp_path / repository / ".git").mkdir()
    (tmp_path / "pom.xml").write_text("<properties><quarkus.version>3.8.4</quarkus.version></properties>")
    monkeypatch.chdir(tmp_path / resources)
    for folder in (Path(), tmp_path / resources):
        (pool,) = checked(folder, "application.properties", f"{QUARKUS}.db-kind=mysql")
        assert pool.most_connections == most


@pytest.mark.costly
@pytest.mark.parametrize(
    ("place", "database", "is_pool"),
    [
        ("conf/db.properties", "jdbc:postgresql://db/shop", False),
        ("conf/db.properties", MYSQL, True),
        ("resources/db.properties", "jdbc:postgresql://db/shop", False),
        ("conf/other.properties", "jdbc:postgresql://db/shop", True),
        ("conf/db.properties", "jdbc:postgresql://db/\\uZ", True),
    ],
)
def test_the_url_of_a_bean_is_that_of_the_properties_file_that_the_xml_names(
    tmp_path: Path, place: str, database: str, is_pool: bool
) -> None:
    for folder in ("conf", "resources"):
        (tmp_path / folder).mkdir()
    (tmp_path / place).write_text(f"db.url={database}\n")
    bean = BEAN.format("org.apache.commons.dbcp.BasicDataSource", 'p:url="${db.url}" p:maxActive="30"', "")
    locations = '<bean class="a.Configurer"><property name="location" value="classpath:db.properties"/></bean>'
    text = bean.replace("</beans>", f"{locations}</beans>")
    if is_pool:
        (pool,) = checked(tmp_path / "conf", "beans.xml", text)
        assert pool.most_connections == 30
    else:
        with pytest.raises(BadInput, match="no settings of a pool"):
            checked(tmp_path / "conf", "beans.xml", text)
