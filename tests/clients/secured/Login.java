import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Logins of Kafka's Java Admin client. A line {"bootstrap": ..., "config": FILE} on stdin is answered by a line
 * {"topics": [...]}, or {"error": CLASS, "message": TEXT}. With "matching": TOPIC, the answer has the number of
 * ACLs that apply to the topic instead; with "seconds", the client lists topics for so long, and the answer has the
 * numbers of its connections and of its later logins.
 */
public class Login {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static Map<String, Object> answer(JsonNode request) throws Exception {
        Properties properties = new Properties();
        try (FileReader file = new FileReader(request.get("config").asText())) {
            properties.load(file);
        }
        // The client refuses other places of tokens.
        String place = properties.getProperty("sasl.oauthbearer.token.endpoint.url", "");
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", place);
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.files", place.replace("file://", ""));
        properties.put("bootstrap.servers", request.get("bootstrap").asText());
        properties.put("default.api.timeout.ms", "20000");
        properties.put("request.timeout.ms", "10000");
        Map<String, Object> outcome = new HashMap<>();
        try (Admin admin = Admin.create(properties)) {
            if (request.has("matching")) {
                ResourcePatternFilter topic =
                    new ResourcePatternFilter(ResourceType.TOPIC, request.get("matching").asText(), PatternType.MATCH);
                AccessControlEntryFilter any = new AccessControlEntryFilter(null, null, AclOperation.ANY, AclPermissionType.ANY);
                outcome.put("acls", admin.describeAcls(new AclBindingFilter(topic, any)).values().get().size());
            } else if (request.has("seconds")) {
                listFor(request.get("seconds").asInt(), admin);
                outcome.put("connections", total(admin, "connection-creation-total"));
                outcome.put("logins", total(admin, "successful-reauthentication-total"));
            } else {
                outcome.put("topics", List.copyOf(admin.listTopics().names().get()).stream().sorted().toList());
            }
        } catch (ExecutionException failed) {
            outcome.put("error", failed.getCause().getClass().getSimpleName());
            outcome.put("message", String.valueOf(failed.getCause().getMessage()));
        }
        return outcome;
    }

    private static void listFor(int seconds, Admin admin) throws Exception {
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        while (System.nanoTime() < end) {
            admin.listTopics().names().get();
            Thread.sleep(50);
        }
    }

    private static double total(Admin admin, String name) {
        return admin.metrics().values().stream()
            .filter(metric -> metric.metricName().name().equals(name) && metric.metricName().group().equals("admin-client-metrics"))
            .mapToDouble(metric -> (Double) metric.metricValue())
            .sum();
    }
}
