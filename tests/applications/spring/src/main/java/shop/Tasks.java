package shop;

import com.alibaba.druid.pool.DruidDataSource;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import javax.sql.DataSource;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * The task service: with Spring Boot's HikariCP, or with Druid where DRUID_MAX_ACTIVE is set. HASHES is the work of each
 * request beside the database, in SHA-256 hashes of 4 KiB. USES is a file to which each request for the newest tasks
 * appends when it asked for its connection and when it gave it back, in Unix seconds.
 */
@SpringBootApplication
@RestController
public class Tasks {
  private final JdbcTemplate database;
  private final DataSource pool;
  private final int hashes;
  private final Writer uses;

  public Tasks(
      JdbcTemplate database, DataSource pool, @Value("${hashes:0}") int hashes, @Value("${uses:}") String uses)
      throws IOException {
    this.database = database;
    this.pool = pool;
    this.hashes = hashes;
    this.uses = uses.isEmpty() ? Writer.nullWriter() : Files.newBufferedWriter(Path.of(uses));
  }

  public static void main(String[] arguments) {
    SpringApplication.run(Tasks.class, arguments);
  }

  @PostMapping("/tasks")
  public String create() throws NoSuchAlgorithmException {
    work();
    String taskId = UUID.randomUUID().toString().replace("-", "");
    database.update("INSERT INTO tasks (task_id) VALUES (?)", taskId);
    return taskId;
  }

  @GetMapping("/tasks")
  public List<String> newest() throws NoSuchAlgorithmException, IOException {
    work();
    double asked = now();
    List<String> tasks =
        database.queryForList("SELECT task_id FROM tasks ORDER BY id DESC LIMIT 10", String.class);
    synchronized (uses) {
      uses.write(String.format(Locale.ROOT, "%.6f %.6f%n", asked, now()));
      uses.flush();
    }
    return tasks;
  }

  private static double now() {
    return Duration.between(Instant.EPOCH, Instant.now()).toNanos() / 1e9;
  }

  private void work() throws NoSuchAlgorithmException {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    byte[] block = new byte[4096];
    for (int done = 0; done < hashes; done++) {
      byte[] hash = digest.digest(block);
      System.arraycopy(hash, 0, block, 0, hash.length);
    }
  }

  /** Druid's own page, /druid/datasource.json, needs a servlet of another era; this has the same fields. */
  @GetMapping("/druid/datasource.json")
  public Map<String, Object> druid() {
    DruidDataSource druid = (DruidDataSource) pool;
    Map<String, Object> fields = Map.of(
        "ActiveCount", druid.getActiveCount(),
        "MaxActive", druid.getMaxActive(),
        "WaitThreadCount", druid.getWaitThreadCount(),
        "NotEmptyWaitMillis", druid.getNotEmptyWaitMillis());
    return Map.of("Content", List.of(fields));
  }

  @Configuration
  static class Druid {
    @Bean
    @ConditionalOnProperty("druid.max.active")
    DataSource pool(Environment environment) {
      DruidDataSource druid = new DruidDataSource();
      druid.setUrl(environment.getRequiredProperty("spring.datasource.url"));
      druid.setUsername(environment.getRequiredProperty("spring.datasource.username"));
      druid.setPassword(environment.getRequiredProperty("spring.datasource.password"));
      int size = environment.getRequiredProperty("druid.max.active", Integer.class);
      druid.setMaxActive(size);
      druid.setInitialSize(size);
      druid.setMaxWait(30_000);
      return druid;
    }
  }
}
