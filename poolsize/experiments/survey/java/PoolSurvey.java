import com.alibaba.druid.pool.DruidDataSourceFactory;
import com.mchange.v2.c3p0.ComboPooledDataSource;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.BasicDataSource;
import org.apache.commons.dbcp2.BasicDataSourceFactory;

/**
 * Times pools of Java with one work, as poolsize.experiments.survey times those of Python.
 *
 * <p>Arguments: pools, separated by commas; work; pool size; seconds of each timing; numbers of users, separated by commas; seconds of the
 * timing of the longest wait, and its number of users, or 0 users for none. The environment has JDBC_URL, JDBC_USER and
 * JDBC_PASSWORD. Each line of the output is the JSON of a Timing. Each pool has its library's defaults, but for its size,
 * which is also its initial and smallest size, its wait limit, and its test of connections.
 */
public final class PoolSurvey {
    private static final int POOL_TIMEOUT_SECONDS = 60;
    private static final double COMPILING_SECONDS = 0.4;
    private static final double DRIVER_COMPILING_SECONDS = 3;
    private static final double WARM_UP_SECONDS = 0.05;
    private static final String WORK_OF_TESTS = "pre_ping";

    private interface Use {
        void with(Connection connection) throws SQLException;
    }

    private interface Opening {
        Pool open(Target target, int size, boolean tests) throws Exception;
    }

    private record Target(String driver, String url, String user, String password) {}

    private record Pool(DataSource source, AutoCloseable closing) {}

    private record Measured(long transactions, int served, double seconds, Double longestWaitMs) {}

    private PoolSurvey() {}

    public static void main(String[] arguments) {
        try {
            survey(arguments);
            System.exit(0); // threads of some libraries go on
        } catch (Throwable error) { // a thread of a library would keep the process alive
            System.err.println(error.toString().lines().findFirst().orElse(""));
            System.exit(1);
        }
    }

    private static void survey(String[] arguments) throws Exception {
        String work = arguments[1];
        int size = Integer.parseInt(arguments[2]);
        double seconds = Double.parseDouble(arguments[3]);
        double manySeconds = Double.parseDouble(arguments[5]);
        int manyUsers = Integer.parseInt(arguments[6]);
        Target target = target(work);
        Use use = use(work);
        double compilingSeconds = runsStatements(work) ? DRIVER_COMPILING_SECONDS : COMPILING_SECONDS;
        for (String name : arguments[0].split(",")) {
            Pool pool = opening(name).open(target, size, work.equals(WORK_OF_TESTS));
            measure(pool.source(), use, size, compilingSeconds, false);
            for (String text : arguments[4].split(",")) {
                int users = Integer.parseInt(text);
                measure(pool.source(), use, users, WARM_UP_SECONDS, false);
                show(name, work, users, measure(pool.source(), use, users, seconds, false));
            }
            if (manyUsers > 0) {
                measure(pool.source(), use, manyUsers, COMPILING_SECONDS, true);
                show(name, work, manyUsers, measure(pool.source(), use, manyUsers, manySeconds, true));
            }
            pool.closing().close();
            compilingSeconds = COMPILING_SECONDS;
        }
    }

    private static boolean runsStatements(String work) {
        return !work.equals("mock") && !work.equals("borrow");
    }

    private static Opening opening(String name) {
        return switch (name) {
            case "HikariCP" -> PoolSurvey::hikari;
            case "Druid" -> PoolSurvey::druid;
            case "DBCP2" -> PoolSurvey::dbcp;
            case "c3p0" -> PoolSurvey::c3p0;
            case "Tomcat JDBC" -> PoolSurvey::tomcat;
            default -> throw new IllegalArgumentException("no pool " + name);
        };
    }

    private static Target target(String work) throws SQLException {
        if (work.equals("mock")) {
            DriverManager.registerDriver(new MockDriver());
            return new Target(MockDriver.class.getName(), MockDriver.URL, "u", "p");
        }
        String url = System.getenv("JDBC_URL") + (work.equals("prepared") ? "&useServerPrepStmts=true" : "");
        return new Target(
                "com.mysql.cj.jdbc.Driver", url, System.getenv("JDBC_USER"), System.getenv("JDBC_PASSWORD"));
    }

    private static Use use(String work) {
        if (!runsStatements(work)) {
            return connection -> {};
        }
        return work.equals("prepared") ? PoolSurvey::selectPrepared : PoolSurvey::select;
    }

    private static void select(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT 1")) {
            rows.next();
        }
    }

    private static void selectPrepared(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("SELECT ?")) {
            statement.setInt(1, 1);
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
            }
        }
    }

    /** HikariCP tests connections that were idle for com.zaxxer.hikari.aliveBypassWindowMs, a property of the JVM. */
    private static Pool hikari(Target target, int size, boolean tests) {
        HikariConfig config = new HikariConfig();
        config.setDriverClassName(target.driver());
        config.setJdbcUrl(target.url());
        config.setUsername(target.user());
        config.setPassword(target.password());
        config.setMaximumPoolSize(size);
        config.setConnectionTimeout(1000L * POOL_TIMEOUT_SECONDS);
        HikariDataSource pool = new HikariDataSource(config);
        return new Pool(pool, pool);
    }

    private static Pool druid(Target target, int size, boolean tests) throws Exception {
        Properties properties = properties(target, size, tests);
        properties.setProperty("maxActive", String.valueOf(size));
        properties.setProperty("maxWait", String.valueOf(1000 * POOL_TIMEOUT_SECONDS));
        DataSource pool = DruidDataSourceFactory.createDataSource(properties);
        return new Pool(pool, (AutoCloseable) pool);
    }

    private static Pool dbcp(Target target, int size, boolean tests) throws Exception {
        Properties properties = properties(target, size, tests);
        properties.setProperty("maxTotal", String.valueOf(size));
        properties.setProperty("maxIdle", String.valueOf(size));
        properties.setProperty("maxWaitMillis", String.valueOf(1000 * POOL_TIMEOUT_SECONDS));
        BasicDataSource pool = BasicDataSourceFactory.createDataSource(properties);
        return new Pool(pool, pool);
    }

    private static Pool tomcat(Target target, int size, boolean tests) throws Exception {
        Properties properties = properties(target, size, tests);
        properties.setProperty("maxActive", String.valueOf(size));
        properties.setProperty("maxIdle", String.valueOf(size));
        properties.setProperty("maxWait", String.valueOf(1000 * POOL_TIMEOUT_SECONDS));
        properties.setProperty("validationInterval", "0"); // 3 s by default, in which no connection is tested again
        DataSource pool = new org.apache.tomcat.jdbc.pool.DataSourceFactory().createDataSource(properties);
        return new Pool(pool, ((org.apache.tomcat.jdbc.pool.DataSource) pool)::close);
    }

    /** Returns the settings whose names Druid, DBCP2 and Tomcat JDBC share. */
    private static Properties properties(Target target, int size, boolean tests) {
        Properties properties = new Properties();
        properties.setProperty("driverClassName", target.driver());
        properties.setProperty("url", target.url());
        properties.setProperty("username", target.user());
        properties.setProperty("password", target.password());
        properties.setProperty("initialSize", String.valueOf(size));
        properties.setProperty("minIdle", String.valueOf(size));
        properties.setProperty("testOnBorrow", String.valueOf(tests));
        return properties;
    }

    private static Pool c3p0(Target target, int size, boolean tests) throws Exception {
        ComboPooledDataSource pool = new ComboPooledDataSource();
        pool.setDriverClass(target.driver());
        pool.setJdbcUrl(target.url());
        pool.setUser(target.user());
        pool.setPassword(target.password());
        pool.setInitialPoolSize(size);
        pool.setMinPoolSize(size);
        pool.setMaxPoolSize(size);
        pool.setCheckoutTimeout(1000 * POOL_TIMEOUT_SECONDS);
        pool.setTestConnectionOnCheckout(tests);
        return new Pool(pool, pool::close);
    }

    /** Lets users work for some seconds. Their waits are measured only where wanted: a clock costs as much as a pool. */
    private static Measured measure(DataSource pool, Use use, int number, double seconds, boolean waits)
            throws Exception {
        CountDownLatch begin = new CountDownLatch(1);
        List<User> users = new ArrayList<>();
        for (int index = 0; index < number; index++) {
            users.add(waits ? new WaitingUser(pool, use, begin) : new User(pool, use, begin));
        }
        users.forEach(Thread::start);
        long began = System.nanoTime();
        users.forEach(user -> user.begins(began));
        begin.countDown();
        Thread.sleep((long) (1000 * seconds));
        long ended = System.nanoTime();
        long transactions = 0;
        int served = 0;
        long longest = 0;
        for (User user : users) {
            transactions += user.transactions;
            served += user.transactions > 0 ? 1 : 0;
            longest = Math.max(longest, user.longestWait(ended));
        }
        users.forEach(user -> user.stopped = true);
        for (User user : users) {
            user.join(1000L * POOL_TIMEOUT_SECONDS);
            if (user.error != null || user.isAlive()) {
                throw new IllegalStateException("a user failed: " + user.error);
            }
        }
        return new Measured(transactions, served, (ended - began) / 1e9, waits ? longest / 1e6 : null);
    }

    private static void show(String pool, String work, int users, Measured measured) {
        System.out.printf(
                Locale.ROOT,
                "{\"pool\": \"%s (Java)\", \"concurrency\": \"threads\", \"work\": \"%s\", \"users\": %d, "
                        + "\"transactions\": %d, \"seconds\": %f, \"served\": %d, \"longest_wait_ms\": %s}%n",
                pool, work, users, measured.transactions(), measured.seconds(), measured.served(),
                measured.longestWaitMs());
        if (System.out.checkError()) { // nobody reads any longer
            System.exit(1);
        }
    }

    /** A user that borrows and returns connections as fast as it can. */
    private static class User extends Thread {
        protected final DataSource pool;
        protected final Use use;
        volatile long transactions;
        volatile boolean stopped;
        volatile Throwable error;
        private final CountDownLatch begin;

        User(DataSource pool, Use use, CountDownLatch begin) {
            this.pool = pool;
            this.use = use;
            this.begin = begin;
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                begin.await();
                long done = 0;
                while (!stopped) {
                    transact();
                    transactions = ++done;
                }
            } catch (Throwable failed) {
                error = failed;
            }
        }

        protected void transact() throws SQLException {
            try (Connection connection = pool.getConnection()) {
                use.with(connection);
            }
        }

        void begins(long moment) {}

        long longestWait(long moment) {
            return 0;
        }
    }

    /** A user that measures how long it waits. asked: moment of its request; 0 while it has a connection. */
    private static final class WaitingUser extends User {
        private volatile long asked;
        private volatile long longest;

        WaitingUser(DataSource pool, Use use, CountDownLatch begin) {
            super(pool, use, begin);
        }

        @Override
        void begins(long moment) {
            asked = moment;
        }

        @Override
        protected void transact() throws SQLException {
            long since = asked;
            try (Connection connection = pool.getConnection()) {
                longest = Math.max(longest, System.nanoTime() - since);
                asked = 0;
                use.with(connection);
            }
            asked = System.nanoTime();
        }

        @Override
        long longestWait(long moment) {
            long since = asked;
            return Math.max(longest, since == 0 ? 0 : moment - since);
        }
    }

    /** A driver whose connections do nothing. */
    public static final class MockDriver implements Driver {
        static final String URL = "jdbc:mock:";

        @Override
        public Connection connect(String url, Properties properties) {
            return acceptsURL(url) ? mock(Connection.class) : null;
        }

        @Override
        public boolean acceptsURL(String url) {
            return url.startsWith(URL);
        }

        @Override
        public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) {
            return new DriverPropertyInfo[0];
        }

        @Override
        public int getMajorVersion() {
            return 1;
        }

        @Override
        public int getMinorVersion() {
            return 0;
        }

        @Override
        public boolean jdbcCompliant() {
            return false;
        }

        @Override
        public Logger getParentLogger() {
            return Logger.getGlobal();
        }

        private static <T> T mock(Class<T> type) {
            return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, new Mock()));
        }
    }

    /** Answers each call as a connection would that is open, valid and in auto-commit; a call takes some nanoseconds. */
    private static final class Mock implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) {
            Class<?> type = method.getReturnType();
            if (type == void.class) {
                return null;
            }
            return switch (method.getName()) {
                case "isValid", "getAutoCommit" -> true;
                case "getTransactionIsolation" -> Connection.TRANSACTION_REPEATABLE_READ;
                case "hashCode" -> System.identityHashCode(proxy);
                case "equals" -> proxy == arguments[0];
                case "toString" -> "mock";
                default -> {
                    if (type == boolean.class) {
                        yield false;
                    }
                    if (type == int.class) {
                        yield 0;
                    }
                    yield type.isInterface() && type.getName().startsWith("java.sql.") ? MockDriver.mock(type) : null;
                }
            };
        }
    }
}
