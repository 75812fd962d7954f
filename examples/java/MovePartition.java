import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.TopicPartition;

/** An embedded cluster in a Java test: start it, move a partition with the Admin client, stop it. */
public class MovePartition {
    /**
     * A cluster of simulated brokers in a process of its own.
     *
     * Needs the command `reassignd` on the PATH, or its path in the environment variable REASSIGND.
     */
    static final class EmbeddedKafka implements AutoCloseable {
        private static final Pattern SERVERS = Pattern.compile("\"bootstrap_servers\": \"([^\"]+)\"");
        private final Process process;
        private final Path records;
        private final String bootstrapServers;

        EmbeddedKafka(int brokers, String... options) throws IOException {
            records = Files.createTempDirectory("reassignd");
            List<String> command = new ArrayList<>(List.of(
                Optional.ofNullable(System.getenv("REASSIGND")).orElse("reassignd"), "serve",
                "--listener", "127.0.0.1:0", "--http", "127.0.0.1:0", "--brokers", String.valueOf(brokers),
                "--data-dir", records.resolve("data").toString(), "--ready-format", "json"));
            command.addAll(List.of(options));
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            BufferedReader output =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            String line = output.readLine();
            Matcher matcher = SERVERS.matcher(line == null ? "" : line);
            if (!matcher.find()) {
                process.destroy();
                throw new IOException("reassignd did not start: its errors are above");
            }
            bootstrapServers = matcher.group(1);
        }

        String bootstrapServers() {
            return bootstrapServers;
        }

        @Override
        public void close() {
            process.destroy();
            try {
                if (!process.waitFor(10, TimeUnit.SECONDS)) {
                    process.destroyForcibly().waitFor();
                }
                try (var files = Files.walk(records)) {
                    files.sorted((one, other) -> other.compareTo(one)).forEach(file -> file.toFile().delete());
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        TopicPartition partition = new TopicPartition("orders", 0);
        String[] small = {"--override", "embedded.partition.bytes=1000"};
        try (EmbeddedKafka kafka = new EmbeddedKafka(3, small);
                Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
            admin.createTopics(List.of(new NewTopic("orders", Map.of(0, List.of(1, 2))))).all().get();
            var target = Optional.of(new NewPartitionReassignment(List.of(3, 2)));
            admin.alterPartitionReassignments(Map.of(partition, target)).all().get();
            while (!admin.listPartitionReassignments().reassignments().get().isEmpty()) {
                Thread.sleep(20);
            }
            var described = admin.describeTopics(List.of("orders")).allTopicNames().get().get("orders");
            System.out.println("replicas " + described.partitions().get(0).replicas().stream().map(node -> node.id()).toList());
        }
    }
}
