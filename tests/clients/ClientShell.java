import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Kafka's Java producer and consumer behind lines of JSON, as in AdminShell. Arguments: ADDRESS [PROPERTIES_FILE]. */
public class ClientShell {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Properties properties = new Properties();

    public static void main(String[] args) throws Exception {
        ClientShell shell = new ClientShell();
        if (args.length > 1) {
            try (FileReader file = new FileReader(args[1])) {
                shell.properties.load(file);
            }
        }
        shell.properties.put("bootstrap.servers", args[0]);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            System.out.println(JSON.writeValueAsString(shell.answer(JSON.readTree(line))));
        }
    }

    private Map<String, Object> answer(JsonNode request) {
        try {
            return Map.of("value", carryOut(request, request.get("topic").asText()));
        } catch (Exception failed) {
            return Map.of("error", failed.getClass().getSimpleName(), "message", String.valueOf(failed.getMessage()));
        }
    }

    private Object carryOut(JsonNode request, String topic) throws Exception {
        return switch (request.get("do").asText()) {
            case "transactions" -> transactions(topic, request.get("count").asInt());
            case "copy" -> copy(topic, request.get("to").asText());
            case "read" -> read(topic, request.get("count").asInt());
            case "send_and_log_in" -> sendUntilLoggedIn(topic, request.get("again").asInt());
            default -> throw new IllegalArgumentException(request.toString());
        };
    }

    private KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> all = new HashMap<>(more);
        properties.forEach((name, value) -> all.put(name.toString(), value));
        return new KafkaProducer<>(all, new StringSerializer(), new StringSerializer());
    }

    private KafkaConsumer<String, String> consumer(String group) {
        Properties all = new Properties();
        all.putAll(properties);
        all.putAll(Map.of("group.id", group, "auto.offset.reset", "earliest", "isolation.level", "read_committed",
            "enable.auto.commit", "false"));
        return new KafkaConsumer<>(all, new StringDeserializer(), new StringDeserializer());
    }

    /** Aborts every second transaction. */
    private Object transactions(String topic, int count) {
        try (var producer = producer(Map.of("transactional.id", "of-" + topic))) {
            producer.initTransactions();
            for (int number = 0; number < count; number++) {
                producer.beginTransaction();
                for (int record = 0; record < 10; record++) {
                    producer.send(new ProducerRecord<>(topic, number + "-" + record));
                }
                if (number % 2 == 0) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
        return count;
    }

    /** Reads, writes and commits offsets in one transaction; returns how many were copied. */
    private Object copy(String topic, String to) {
        int copied = 0;
        try (var consumer = consumer("copy-" + topic); var producer = producer(Map.of("transactional.id", "to-" + to))) {
            producer.initTransactions();
            consumer.subscribe(List.of(topic));
            long deadline = System.nanoTime() + 20_000_000_000L;
            while (copied == 0 && System.nanoTime() < deadline) {
                var records = consumer.poll(Duration.ofMillis(500));
                if (records.isEmpty()) {
                    continue;
                }
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                producer.beginTransaction();
                for (var record : records) {
                    producer.send(new ProducerRecord<>(to, record.value()));
                    offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
                    copied++;
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
            }
        }
        return copied;
    }

    private Object read(String topic, int count) {
        List<String> values = new ArrayList<>();
        try (var consumer = consumer("read-" + topic)) {
            consumer.subscribe(List.of(topic));
            long deadline = System.nanoTime() + 20_000_000_000L;
            while (values.size() < count && System.nanoTime() < deadline) {
                consumer.poll(Duration.ofMillis(500)).forEach(record -> values.add(record.value()));
            }
        }
        return values;
    }

    /** Sends records one by one until the connection was authenticated again so often; returns their number. */
    private Object sendUntilLoggedIn(String topic, int again) throws Exception {
        int sent = 0;
        try (var producer = producer(Map.of("acks", "all"))) {
            while (reauthentications(producer) < again) {
                producer.send(new ProducerRecord<>(topic, "" + sent)).get();
                sent++;
                Thread.sleep(50);
            }
        }
        return sent;
    }

    private static double reauthentications(KafkaProducer<String, String> producer) {
        return producer.metrics().entrySet().stream()
            .filter(metric -> metric.getKey().name().equals("successful-reauthentication-total"))
            .mapToDouble(metric -> (Double) metric.getValue().metricValue())
            .sum();
    }
}
