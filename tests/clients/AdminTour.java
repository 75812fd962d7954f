import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;

/**
 * Admin requests with the Java client; compiles with every release from 2.4 on. Arguments: BOOTSTRAP TOPIC FROM TO.
 *
 * Prints one line for each step; a refused request prints Kafka's error code. FROM and TO are replica lists such as 1,2.
 */
public class AdminTour {
    public static void main(String[] args) throws Exception {
        Map<String, Object> properties =
            Map.of("bootstrap.servers", args[0], "default.api.timeout.ms", 20000, "request.timeout.ms", 10000);
        TopicPartition partition = new TopicPartition(args[1], 0);
        List<Integer> from = replicas(args[2]);
        List<Integer> to = replicas(args[3]);
        try (Admin admin = Admin.create(properties)) {
            Set<Integer> brokers = new TreeSet<>();
            admin.describeCluster().nodes().get().forEach(node -> brokers.add(node.id()));
            System.out.println("brokers " + brokers);
            System.out.println("controller listed " + brokers.contains(admin.describeCluster().controller().get().id()));

            admin.createTopics(List.of(new NewTopic(args[1], Map.of(0, from)))).all().get();
            System.out.println("created " + described(admin, args[1]));

            ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, args[1]);
            AlterConfigOp set = new AlterConfigOp(new ConfigEntry("retention.ms", "12345"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(topic, List.of(set))).all().get();
            String value = "";
            for (int look = 0; look < 200 && !value.equals("12345"); look++) {
                Thread.sleep(50);
                value = admin.describeConfigs(List.of(topic)).all().get().get(topic).get("retention.ms").value();
            }
            System.out.println("retention " + value);

            admin.alterPartitionReassignments(move(partition, to)).all().get();
            while (!admin.listPartitionReassignments().reassignments().get().isEmpty()) {
                Thread.sleep(50);
            }
            System.out.println("moved " + awaited(admin, args[1], to));
            System.out.println("nothing to cancel " + failure(admin.alterPartitionReassignments(move(partition, null)).all()));
            System.out.println("broker 77 " + failure(admin.alterPartitionReassignments(move(partition, List.of(77))).all()));
            admin.deleteTopics(List.of(args[1])).all().get();
            System.out.println("deleted");
        }
    }

    private static Map<TopicPartition, Optional<NewPartitionReassignment>> move(TopicPartition partition, List<Integer> to) {
        return Map.of(partition, Optional.ofNullable(to).map(NewPartitionReassignment::new));
    }

    private static List<Integer> awaited(Admin admin, String topic, List<Integer> expected) throws Exception {
        List<Integer> seen = described(admin, topic);
        for (int look = 0; look < 200 && !seen.equals(expected); look++) {
            Thread.sleep(50);
            seen = described(admin, topic);
        }
        return seen;
    }

    /** Returns the replicas of partition 0; waits until the broker knows the topic. */
    private static List<Integer> described(Admin admin, String topic) throws Exception {
        for (int look = 0; ; look++) {
            try {
                return described(admin.describeTopics(List.of(topic)), topic);
            } catch (ExecutionException unknown) {
                if (look == 100) throw unknown;
                Thread.sleep(50);
            }
        }
    }

    /** The old name of the method exists before Kafka 4.0, the new one since 3.1. */
    private static List<Integer> described(Object result, String topic) throws Exception {
        Method all;
        try {
            all = result.getClass().getMethod("allTopicNames");
        } catch (NoSuchMethodException before31) {
            all = result.getClass().getMethod("all");
        }
        Map<?, ?> topics = (Map<?, ?>) ((KafkaFuture<?>) all.invoke(result)).get();
        TopicDescription description = (TopicDescription) topics.get(topic);
        return description.partitions().get(0).replicas().stream().map(node -> node.id()).collect(Collectors.toList());
    }

    private static String failure(KafkaFuture<Void> future) throws InterruptedException {
        try {
            future.get();
            return "0";
        } catch (ExecutionException failed) {
            return String.valueOf(Errors.forException(failed.getCause()).code());
        }
    }

    private static List<Integer> replicas(String text) {
        return Arrays.stream(text.split(",")).map(Integer::valueOf).collect(Collectors.toList());
    }
}
