import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;

/**
 * Requests for a connection of HikariCP, a thread for each, that arrive at the times of plans.
 *
 * <p>With the argument oltp_read_write, a request runs such a transaction of Application.java in place of a sleep. The
 * environment has JDBC_URL, JDBC_USER and JDBC_PASSWORD. Input and output are those of tests/queue_pool_requests.py.
 */
public final class Requests {
    private static final int WARM_UP = 2000; // uses in all of a pool: a JVM that has just started is slow
    private static final int DEADLOCK = 1213; // MySQL has rolled the transaction back

    private interface Use {
        void run(Connection connection, String seconds) throws SQLException;
    }

    private Requests() {}

    public static void main(String[] arguments) throws Exception {
        boolean isReadWrite = arguments.length > 0;
        Use use = isReadWrite ? Requests::readWrite : Requests::sleep;
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        Map<String, HikariDataSource> pools = new HashMap<>();
        ExecutorService threads = Executors.newCachedThreadPool();
        for (String first = input.readLine(); first != null; first = input.readLine()) {
            String size = first.split(" ")[0];
            Semaphore places = new Semaphore(Integer.parseInt(first.split(" ")[1]));
            List<String> plan = read(input);
            if (!pools.containsKey(size)) {
                pools.put(size, open(Integer.parseInt(size), !isReadWrite, use));
            }
            run(pools.get(size), places, plan, use, threads);
        }
        pools.values().forEach(HikariDataSource::close);
        threads.shutdown();
    }

    private static List<String> read(BufferedReader input) throws IOException {
        List<String> plan = new ArrayList<>();
        for (String line = input.readLine(); line != null && !line.isEmpty(); line = input.readLine()) {
            plan.add(line);
        }
        return plan;
    }

    /** Returns a pool, all of whose connections have been used. */
    private static HikariDataSource open(int size, boolean isAutoCommit, Use use) throws SQLException {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(System.getenv("JDBC_URL"));
        config.setUsername(System.getenv("JDBC_USER"));
        config.setPassword(System.getenv("JDBC_PASSWORD"));
        config.setMaximumPoolSize(size);
        config.setConnectionTimeout(600_000);
        config.setAutoCommit(isAutoCommit);
        HikariDataSource pool = new HikariDataSource(config);
        List<Connection> connections = new ArrayList<>();
        for (int number = 0; number < size; number++) {
            connections.add(pool.getConnection());
        }
        for (Connection connection : connections) {
            for (int number = 0; number < WARM_UP / size; number++) {
                use.run(connection, "0");
            }
            connection.close();
        }
        return pool;
    }

    private static void run(
            DataSource pool, Semaphore places, List<String> plan, Use use, ExecutorService threads) throws Exception {
        List<Future<long[]>> requests = new ArrayList<>();
        long begin = System.nanoTime();
        for (String line : plan) {
            String[] request = line.split(" ");
            long due = begin + (long) (1e9 * Double.parseDouble(request[0]));
            while (System.nanoTime() < due) {
                LockSupport.parkNanos(due - System.nanoTime());
            }
            places.acquire();
            requests.add(threads.submit(() -> times(pool, places, request[1], use)));
        }
        for (Future<long[]> request : requests) {
            long[] times = request.get();
            System.out.println(
                    (times[0] - begin) / 1e9 + " " + (times[1] - begin) / 1e9 + " " + (times[2] - begin) / 1e9);
        }
        System.out.println();
    }

    private static long[] times(DataSource pool, Semaphore places, String seconds, Use use) throws SQLException {
        try {
            long asked = System.nanoTime();
            long got;
            try (Connection connection = pool.getConnection()) {
                got = System.nanoTime();
                use.run(connection, seconds);
            }
            return new long[] {asked, got, System.nanoTime()};
        } finally {
            places.release();
        }
    }

    private static void readWrite(Connection connection, String seconds) throws SQLException {
        try {
            Application.readWrite(connection);
        } catch (SQLException error) {
            if (error.getErrorCode() != DEADLOCK) {
                throw error;
            }
        }
    }

    private static void sleep(Connection connection, String seconds) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("DO SLEEP(" + seconds + ")");
        }
    }
}
