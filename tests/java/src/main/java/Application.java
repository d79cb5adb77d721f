import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * An application with HikariCP: users that each run one transaction after another.
 *
 * <p>Arguments: workload (oltp_read_write or insert), users, seconds to warm up, seconds to count, pool sizes. The
 * environment has JDBC_URL, JDBC_USER and JDBC_PASSWORD. Prints a line for each pool size, in the order given: pool
 * size, transactions per second, mean usage time in ms, CPU time of the process per transaction in ms.
 */
public final class Application {
    private static final int ROWS = 10_000;
    private static final int RANGE = 100;
    private static final String[] RANGES = {
        "SELECT c FROM sbtest1 WHERE id BETWEEN %d AND %d",
        "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN %d AND %d",
        "SELECT c FROM sbtest1 WHERE id BETWEEN %d AND %d ORDER BY c",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN %d AND %d ORDER BY c",
    };

    private interface Transaction {
        void run(Connection connection) throws SQLException;
    }

    private Application() {}

    public static void main(String[] arguments) throws Exception {
        int users = Integer.parseInt(arguments[1]);
        double warmUp = Double.parseDouble(arguments[2]);
        double counted = Double.parseDouble(arguments[3]);
        for (String size : arguments[4].split(",")) {
            measure(arguments[0], Integer.parseInt(size), users, warmUp, counted);
        }
    }

    private static void measure(String workload, int size, int users, double warmUp, double counted)
            throws Exception {
        Transaction transaction = workload.equals("insert") ? Application::insert : Application::readWrite;
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(System.getenv("JDBC_URL"));
        config.setUsername(System.getenv("JDBC_USER"));
        config.setPassword(System.getenv("JDBC_PASSWORD"));
        config.setMaximumPoolSize(size);
        config.setAutoCommit(workload.equals("insert")); // an insert of the load generator is not followed by a COMMIT
        try (HikariDataSource pool = new HikariDataSource(config)) {
            if (workload.equals("insert")) {
                emptyTable(pool);
            }
            long begin = System.nanoTime() + (long) (warmUp * 1e9);
            long end = begin + (long) (counted * 1e9);
            LongAdder number = new LongAdder();
            LongAdder usage = new LongAdder();
            List<Thread> threads = new ArrayList<>();
            for (int user = 0; user < users; user++) {
                Thread thread = new Thread(() -> use(pool, transaction, begin, end, number, usage));
                thread.start();
                threads.add(thread);
            }
            AtomicLong cpuAtBegin = new AtomicLong();
            AtomicLong cpuAtEnd = new AtomicLong();
            Thread clock = new Thread(() -> {
                sleepUntil(begin);
                cpuAtBegin.set(cpuNanos());
                sleepUntil(end);
                cpuAtEnd.set(cpuNanos());
            });
            clock.start();
            clock.join();
            for (Thread thread : threads) {
                thread.join();
            }
            double perSecond = number.sum() / counted;
            long most = Math.max(1, number.sum());
            double cpuMs = (cpuAtEnd.get() - cpuAtBegin.get()) / 1e6 / most;
            System.out.printf("%d %.3f %.4f %.4f%n", size, perSecond, usage.sum() / 1e6 / most, cpuMs);
        }
    }

    /** Empties the table before each pool size, as the load generator does; else it grows by millions of rows. */
    private static void emptyTable(HikariDataSource pool) throws SQLException {
        try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
            statement.execute("TRUNCATE TABLE task");
        }
    }

    private static void sleepUntil(long nanoTime) {
        try {
            Thread.sleep(Math.max(0, (nanoTime - System.nanoTime()) / 1_000_000));
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Returns the CPU time of this process. */
    private static long cpuNanos() {
        return ProcessHandle.current().info().totalCpuDuration().orElseThrow().toNanos();
    }

    private static void use(
            HikariDataSource pool, Transaction transaction, long begin, long end, LongAdder number, LongAdder usage) {
        while (true) {
            long got;
            try (Connection connection = pool.getConnection()) {
                got = System.nanoTime();
                transaction.run(connection);
            } catch (SQLException error) {
                if (error.getErrorCode() != 1213) { // a deadlock was rolled back; the next transaction may do
                    throw new IllegalStateException(error);
                }
                continue;
            }
            long now = System.nanoTime();
            if (now >= end) {
                return;
            }
            if (now >= begin) {
                number.increment();
                usage.add(now - got);
            }
        }
    }

    private static void insert(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("INSERT INTO task (task_id, create_time, update_time) VALUES ('"
                    + UUID.randomUUID() + "', NOW(), NOW())");
        }
    }

    static void readWrite(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (int select = 0; select < 10; select++) {
                read(statement, "SELECT c FROM sbtest1 WHERE id=" + key());
            }
            for (String range : RANGES) {
                int first = key();
                read(statement, String.format(range, first, first + RANGE - 1));
            }
            statement.execute("UPDATE sbtest1 SET k=k+1 WHERE id=" + key());
            statement.execute("UPDATE sbtest1 SET c='" + digits(10) + "' WHERE id=" + key());
            int key = key();
            statement.execute("DELETE FROM sbtest1 WHERE id=" + key);
            statement.execute("INSERT INTO sbtest1 (id, k, c, pad) VALUES (" + key + "," + key() + ",'" + digits(10)
                    + "','" + digits(5) + "')");
        }
        connection.commit();
    }

    private static void read(Statement statement, String query) throws SQLException {
        try (ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                rows.getString(1);
            }
        }
    }

    private static int key() {
        return ThreadLocalRandom.current().nextInt(1, ROWS + 1);
    }

    private static String digits(int groups) {
        LongStream numbers = ThreadLocalRandom.current().longs(groups, 0, 100_000_000_000L);
        return numbers.mapToObj(number -> String.format("%011d", number)).collect(Collectors.joining("-"));
    }
}
