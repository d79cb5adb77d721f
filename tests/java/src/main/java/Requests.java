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
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;

/**
 * Requests for a connection of HikariCP, a thread for each, that arrive at the times of plans.
 *
 * <p>The environment has JDBC_URL, JDBC_USER and JDBC_PASSWORD. Input and output are those of
 * tests/queue_pool_requests.py.
 */
public final class Requests {
    private Requests() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        Map<String, HikariDataSource> pools = new HashMap<>();
        ExecutorService threads = Executors.newCachedThreadPool();
        for (String size = input.readLine(); size != null; size = input.readLine()) {
            List<String> plan = read(input);
            run(pools.computeIfAbsent(size, Requests::open), plan, threads);
        }
        pools.values().forEach(HikariDataSource::close);
        threads.shutdown();
    }

    private static List<String> read(BufferedReader input) throws IOException {
        List<String> plan = new ArrayList<>();
        for (String line = input.readLine(); !line.isEmpty(); line = input.readLine()) {
            plan.add(line);
        }
        return plan;
    }

    private static HikariDataSource open(String size) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(System.getenv("JDBC_URL"));
        config.setUsername(System.getenv("JDBC_USER"));
        config.setPassword(System.getenv("JDBC_PASSWORD"));
        config.setMaximumPoolSize(Integer.parseInt(size));
        config.setConnectionTimeout(600_000);
        return new HikariDataSource(config);
    }

    private static void run(DataSource pool, List<String> plan, ExecutorService threads) throws Exception {
        List<Future<long[]>> requests = new ArrayList<>();
        long begin = System.nanoTime();
        for (String line : plan) {
            String[] request = line.split(" ", 2);
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
        System.out.println();
    }

    private static long[] times(DataSource pool, String sql) throws SQLException {
        long asked = System.nanoTime();
        long got;
        try (Connection connection = pool.getConnection()) {
            got = System.nanoTime();
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }
        return new long[] {asked, got, System.nanoTime()};
    }
}
