import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterPartitionReassignmentsOptions;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/**
 * Kafka's Java Admin client behind lines of JSON: a request {"do": NAME, ...} on stdin, its outcome on stdout.
 *
 * The process uses one client. An outcome is {"value": ...} or
 * {"error": CLASS, "message": TEXT}; partitions are written "TOPIC-PARTITION".
 */
public class AdminShell {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Admin admin;

    private AdminShell(Admin admin) {
        this.admin = admin;
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> properties =
            Map.of("bootstrap.servers", args[0], "default.api.timeout.ms", 20000, "request.timeout.ms", 10000);
        try (Admin admin = Admin.create(properties)) {
            AdminShell shell = new AdminShell(admin);
            BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                System.out.println(JSON.writeValueAsString(shell.answer(JSON.readTree(line))));
            }
        }
    }

    private Map<String, Object> answer(JsonNode request) throws Exception {
        Map<String, Object> outcome = new HashMap<>();
        try {
            outcome.put("value", carryOut(request));
        } catch (ExecutionException failed) {
            outcome.putAll(error(failed.getCause()));
        } catch (IllegalArgumentException refusedByClient) {
            outcome.putAll(error(refusedByClient));
        }
        return outcome;
    }

    private Object carryOut(JsonNode request) throws Exception {
        return switch (request.get("do").asText()) {
            case "cluster" -> cluster();
            case "quorum" -> admin.describeMetadataQuorum().quorumInfo().get().leaderId();
            case "create" -> create(request);
            case "grow" -> grow(request);
            case "delete" -> admin.deleteTopics(strings(request.get("topics"))).all().get();
            case "describe" -> describe(request.get("topic").asText());
            case "alter" -> alter(request);
            case "list" -> list(request);
            case "configs" -> configs(request);
            case "set_configs" -> setConfigs(request);
            case "elect" -> elect(request);
            case "log_dirs" -> logDirs(request.get("broker").asInt());
            default -> throw new IllegalArgumentException(request.toString());
        };
    }

    private Object cluster() throws Exception {
        var described = admin.describeCluster();
        List<Integer> brokers = new ArrayList<>();
        described.nodes().get().forEach(node -> brokers.add(node.id()));
        return Map.of("id", described.clusterId().get(), "controller", described.controller().get().id(), "brokers", brokers);
    }

    private Object create(JsonNode request) throws Exception {
        Map<Integer, List<Integer>> assignment = new HashMap<>();
        request.get("assignment").forEach(replicas -> assignment.put(assignment.size(), integers(replicas)));
        var created = admin.createTopics(List.of(new NewTopic(request.get("topic").asText(), assignment)));
        return created.all().get();
    }

    private Object grow(JsonNode request) throws Exception {
        var more = Map.of(request.get("topic").asText(), NewPartitions.increaseTo(request.get("partitions").asInt()));
        return admin.createPartitions(more).all().get();
    }

    private Object describe(String topic) throws Exception {
        Map<String, Object> rows = new LinkedHashMap<>();
        for (var partition : admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions()) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("leader", partition.leader() == null ? null : partition.leader().id());
            row.put("replicas", ids(partition.replicas()));
            row.put("isr", ids(partition.isr()));
            rows.put(topic + "-" + partition.partition(), row);
        }
        return rows;
    }

    private Object alter(JsonNode request) throws Exception {
        Map<TopicPartition, Optional<NewPartitionReassignment>> moves = new LinkedHashMap<>();
        request.get("moves").properties().forEach(move -> moves.put(
            partition(move.getKey()),
            move.getValue().isNull() ? Optional.empty() : Optional.of(new NewPartitionReassignment(integers(move.getValue())))));
        AlterPartitionReassignmentsOptions options = new AlterPartitionReassignmentsOptions();
        if (request.has("allow_replication_factor_change")) {
            options.allowReplicationFactorChange(request.get("allow_replication_factor_change").asBoolean());
        }
        return rows(admin.alterPartitionReassignments(moves, options).values());
    }

    private Object list(JsonNode request) throws Exception {
        var listed = request.has("partitions")
            ? admin.listPartitionReassignments(partitions(request.get("partitions")))
            : admin.listPartitionReassignments();
        Map<String, Object> rows = new TreeMap<>();
        listed.reassignments().get().forEach((partition, state) -> rows.put(partition.toString(), Map.of(
            "replicas", state.replicas(), "adding", state.addingReplicas(), "removing", state.removingReplicas())));
        return rows;
    }

    private Object configs(JsonNode request) throws Exception {
        ConfigResource resource = resource(request);
        Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        Map<String, Object> rows = new TreeMap<>();
        for (ConfigEntry entry : config.entries()) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("value", entry.value());
            row.put("source", entry.source().name());
            row.put("type", entry.type().name());
            rows.put(entry.name(), row);
        }
        return rows;
    }

    /** {"ops": [[OPERATION, NAME, VALUE], ...]} on the resource. */
    private Object setConfigs(JsonNode request) throws Exception {
        List<AlterConfigOp> ops = new ArrayList<>();
        request.get("ops").forEach(op -> ops.add(new AlterConfigOp(
            new ConfigEntry(op.get(1).asText(), op.get(2).isNull() ? null : op.get(2).asText()),
            AlterConfigOp.OpType.valueOf(op.get(0).asText()))));
        return admin.incrementalAlterConfigs(Map.of(resource(request), ops)).all().get();
    }

    private Object elect(JsonNode request) throws Exception {
        ElectionType type = ElectionType.valueOf(request.get("type").asText());
        Set<TopicPartition> wanted = partitions(request.get("partitions"));
        Map<String, Object> rows = new TreeMap<>();
        admin.electLeaders(type, wanted).partitions().get().forEach(
            (partition, failure) -> rows.put(partition.toString(), failure.isEmpty() ? null : error(failure.get())));
        return rows;
    }

    private Object logDirs(int broker) throws Exception {
        Map<String, Object> rows = new TreeMap<>();
        admin.describeLogDirs(List.of(broker)).allDescriptions().get().get(broker).forEach((path, dir) -> {
            Map<String, Object> replicas = new TreeMap<>();
            dir.replicaInfos().forEach((partition, replica) -> replicas.put(partition.toString(), replica.size()));
            rows.put(path, replicas);
        });
        return rows;
    }

    private static Map<String, Object> rows(Map<TopicPartition, KafkaFuture<Void>> futures) throws Exception {
        Map<String, Object> rows = new TreeMap<>();
        for (var future : futures.entrySet()) {
            Object outcome = null;
            try {
                future.getValue().get();
            } catch (ExecutionException failed) {
                outcome = error(failed.getCause());
            }
            rows.put(future.getKey().toString(), outcome);
        }
        return rows;
    }

    private static Map<String, Object> error(Throwable cause) {
        return Map.of("error", cause.getClass().getSimpleName(), "message", String.valueOf(cause.getMessage()));
    }

    private static ConfigResource resource(JsonNode request) {
        return new ConfigResource(ConfigResource.Type.valueOf(request.get("type").asText()), request.get("name").asText());
    }

    private static TopicPartition partition(String text) {
        int dash = text.lastIndexOf('-');
        return new TopicPartition(text.substring(0, dash), Integer.parseInt(text.substring(dash + 1)));
    }

    private static Set<TopicPartition> partitions(JsonNode texts) {
        Set<TopicPartition> partitions = new LinkedHashSet<>();
        texts.forEach(text -> partitions.add(partition(text.asText())));
        return partitions;
    }

    private static List<Integer> integers(JsonNode array) {
        List<Integer> values = new ArrayList<>();
        array.forEach(value -> values.add(value.asInt()));
        return values;
    }

    private static List<String> strings(JsonNode array) {
        List<String> values = new ArrayList<>();
        array.forEach(value -> values.add(value.asText()));
        return values;
    }

    private static List<Integer> ids(List<Node> nodes) {
        return nodes.stream().map(Node::id).toList();
    }
}
