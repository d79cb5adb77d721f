import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;

/**
 * Requests for a connection of HikariCP, a thread for each, that arrive at the times of a plan.
 *
 * <p>The argument is the pool size; the environment has JDBC_URL, JDBC_USER and JDBC_PASSWORD. Input and output are
 * those of tests/queue_pool_requests.py.
 */
public final class Requests {
    private static final int WARM_UP = 500; // uses of each connection: a JVM that has just started is slow

    private Requests() {}

    public static void main(String[] arguments) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(System.getenv("JDBC_URL"));
        config.setUsername(System.getenv("JDBC_USER"));
        config.setPassword(System.getenv("JDBC_PASSWORD"));
        config.setMaximumPoolSize(Integer.parseInt(arguments[0]));
        config.setConnectionTimeout(600_000);
        List<String> plan = new BufferedReader(new InputStreamReader(System.in)).lines().toList();
        try (HikariDataSource pool = new HikariDataSource(config)) {
            warmUp(pool, config.getMaximumPoolSize());
            run(pool, plan);
        }
    }

    private static void warmUp(DataSource pool, int size) throws SQLException {
        List<Connection> connections = new ArrayList<>();
        for (int number = 0; number < size; number++) {
            connections.add(pool.getConnection());
        }
        for (Connection connection : connections) {
            for (int use = 0; use < WARM_UP; use++) {
                sleep(connection, "0");
            }
            connection.close();
        }
    }

    private static void run(DataSource pool, List<String> plan) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<long[]>> requests = new ArrayList<>();
        long begin = System.nanoTime();
        for (String line : plan) {
            String[] request = line.split(" ");
            long due = begin + (long) (1e9 * Double.parseDouble(request[0]));
            while (System.nanoTime() < due) {
                LockSupport.parkNanos(due - System.nanoTime());
            }
            requests.add(threads.submit(() -> times(pool, request[1])));
        }
        for (Future<long[]> request : requests) {
            long[] times = request.get();
            System.out.println(
                    (times[0] - begin) / 1e9 + " " + (times[1] - begin) / 1e9 + " " + (times[2] - begin) / 1e9);
        }
        threads.shutdown();
    }

    private static long[] times(DataSource pool, String seconds) throws SQLException {
        long asked = System.nanoTime();
        long got;
        try (Connection connection = pool.getConnection()) {
            got = System.nanoTime();
            sleep(connection, seconds);
        }
        return new long[] {asked, got, System.nanoTime()};
    }

    private static void sleep(Connection connection, String seconds) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("DO SLEEP(" + seconds + ")");
        }
    }
}
