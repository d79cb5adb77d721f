import com.alibaba.druid.pool.DruidDataSourceFactory;
import com.mchange.v2.c3p0.ComboPooledDataSource;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.beans.Introspector;
import java.beans.PropertyDescriptor;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.BasicDataSourceFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;

/**
 * Loads the configuration of each pool as its library loads it, and shows what the library makes of it.
 *
 * <p>Arguments: the folder of the configurations, which is also on the class path, and the pool size. The environment
 * has JDBC_URL, JDBC_USER and JDBC_PASSWORD of the pools, and WATCH_USER and WATCH_PASSWORD of an account that sees all
 * connections. For each pool it prints lines of three columns, separated by tabs: pool, name, value. The names are the
 * properties that the library reports, and: exception, the class of the error that a borrower gets when all connections
 * are borrowed; waited_ms, after which it gets the error; most_connections, that the server saw.
 */
public final class Pools {
    private static final String URL = System.getenv("JDBC_URL");
    private static final String USER = System.getenv("JDBC_USER");
    private static final String PASSWORD = System.getenv("JDBC_PASSWORD");

    private interface Opening {
        DataSource open() throws Exception;
    }

    /** A Spring Boot application that has nothing but its data source. */
    @EnableAutoConfiguration
    public static class Application {}

    private Pools() {}

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        int size = Integer.parseInt(arguments[1]);
        Map<String, Opening> openings = Map.of(
                "hikaricp", () -> hikari(folder),
                "spring-boot", () -> spring(folder),
                "druid", () -> DruidDataSourceFactory.createDataSource(properties(folder, "druid")),
                "dbcp2", () -> BasicDataSourceFactory.createDataSource(properties(folder, "dbcp2")),
                "c3p0", Pools::c3p0,
                "tomcat-jdbc", () -> new org.apache.tomcat.jdbc.pool.DataSourceFactory()
                        .createDataSource(properties(folder, "tomcat-jdbc")));
        try (Connection watch = DriverManager.getConnection(
                URL, System.getenv("WATCH_USER"), System.getenv("WATCH_PASSWORD"))) {
            for (Map.Entry<String, Opening> opening : new TreeMap<>(openings).entrySet()) {
                show(opening.getKey(), opening.getValue().open(), size, watch);
            }
        }
    }

    private static DataSource hikari(Path folder) throws Exception {
        HikariConfig config = new HikariConfig(folder.resolve("hikari.properties").toString());
        config.setJdbcUrl(URL);
        config.setUsername(USER);
        config.setPassword(PASSWORD);
        return new HikariDataSource(config);
    }

    private static DataSource spring(Path folder) {
        return SpringApplication.run(
                        Application.class,
                        "--spring.config.location=" + folder.resolve("application.yml").toUri(),
                        "--spring.main.banner-mode=off",
                        "--spring.datasource.url=" + URL,
                        "--spring.datasource.username=" + USER,
                        "--spring.datasource.password=" + PASSWORD)
                .getBean(DataSource.class);
    }

    /** Returns a pool with the settings of c3p0.properties, which c3p0 finds on the class path. */
    private static DataSource c3p0() {
        ComboPooledDataSource pool = new ComboPooledDataSource();
        pool.setJdbcUrl(URL);
        pool.setUser(USER);
        pool.setPassword(PASSWORD);
        return pool;
    }

    private static Properties properties(Path folder, String name) throws Exception {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(folder.resolve(name + ".properties"))) {
            properties.load(reader);
        }
        properties.setProperty("driverClassName", "com.mysql.cj.jdbc.Driver");
        properties.setProperty("url", URL);
        properties.setProperty("username", USER);
        properties.setProperty("password", PASSWORD);
        return properties;
    }

    private static void show(String name, DataSource pool, int size, Connection watch) throws Exception {
        for (PropertyDescriptor property : Introspector.getBeanInfo(pool.getClass()).getPropertyDescriptors()) {
            Class<?> type = property.getPropertyType();
            if (property.getReadMethod() != null && type != null && type.isPrimitive()) {
                print(name, property.getName(), read(pool, property));
            }
        }
        List<Connection> borrowed = new ArrayList<>();
        for (int number = 0; number < size; number++) {
            borrowed.add(pool.getConnection());
        }
        Thread borrower = new Thread(() -> borrowOneMore(name, pool));
        borrower.start();
        int most = 0;
        while (borrower.isAlive()) {
            most = Math.max(most, connections(watch));
            Thread.sleep(20);
        }
        print(name, "most_connections", most);
        for (Connection connection : borrowed) {
            connection.close();
        }
        ((AutoCloseable) (pool instanceof ComboPooledDataSource c3p0 ? (AutoCloseable) c3p0::close : closing(pool)))
                .close();
        while (connections(watch) > 0) {
            Thread.sleep(20);
        }
    }

    private static AutoCloseable closing(DataSource pool) {
        return pool instanceof org.apache.tomcat.jdbc.pool.DataSource tomcat ? tomcat::close : (AutoCloseable) pool;
    }

    private static Object read(DataSource pool, PropertyDescriptor property) {
        try {
            return property.getReadMethod().invoke(pool);
        } catch (ReflectiveOperationException error) {
            return "unreadable";
        }
    }

    private static void borrowOneMore(String name, DataSource pool) {
        long begin = System.nanoTime();
        try (Connection connection = pool.getConnection()) {
            print(name, "exception", "none");
        } catch (SQLException error) {
            print(name, "exception", error.getClass().getName());
        }
        print(name, "waited_ms", (System.nanoTime() - begin) / 1_000_000);
    }

    private static int connections(Connection watch) throws SQLException {
        String query = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = ?";
        try (PreparedStatement statement = watch.prepareStatement(query)) {
            statement.setString(1, USER);
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                return rows.getInt(1);
            }
        }
    }

    private static void print(String pool, String name, Object value) {
        System.out.println(pool + "\t" + name + "\t" + value);
    }
}
