import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * Cruise Control's API as Strimzi's operators call it, behind lines of JSON, as in AdminShell. An answer that they could
 * not read is an error here too. The cluster operator reads parts of JSON trees; the topic operator maps whole answers to
 * records, and fails at a field that it does not know.
 */
public class StrimziShell {
    record UserTask(@JsonProperty("Status") String status, @JsonProperty("ClientIdentity") String client,
        @JsonProperty("RequestURL") String url, @JsonProperty("UserTaskId") String id, @JsonProperty("StartMs") long started) { }

    record UserTasks(List<UserTask> userTasks, int version) { }

    record Refusal(String stackTrace, String errorMessage, int version) { }

    record FactorChanges(@JsonProperty("replication_factor") Factors factors) { }

    record Factors(@JsonProperty("topic_by_replication_factor") Map<String, String> topics) { }

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern INSTANT = Pattern.compile("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ");
    private static final List<String> STATUSES = List.of("Active", "InExecution", "Completed", "CompletedWithError");
    private static final List<String> MOVING = List.of("INTER_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS",
        "INTRA_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS", "LEADER_MOVEMENT_TASK_IN_PROGRESS");
    private static final List<String> OTHER = List.of("NO_TASK_IN_PROGRESS", "STARTING_EXECUTION", "STOPPING_EXECUTION");
    private static final List<String> INTS = List.of("Broker", "Leaders", "Replicas");
    private static final List<String> DOUBLES = List.of("CpuPct", "DiskPct", "DiskMB", "NwOutRate", "LeaderNwInRate",
        "FollowerNwInRate", "PnwOutRate");

    private HttpClient client;
    private String url;
    private String login;

    public static void main(String[] args) throws Exception {
        StrimziShell shell = new StrimziShell();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            System.out.println(JSON.writeValueAsString(shell.answer(JSON.readTree(line))));
        }
    }

    private Map<String, Object> answer(JsonNode request) {
        try {
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("value", carryOut(request));
            return answer;
        } catch (Exception failed) {
            return Map.of("error", failed.getClass().getSimpleName(), "message", String.valueOf(failed.getMessage()));
        }
    }

    private Object carryOut(JsonNode request) throws Exception {
        return switch (request.get("do").asText()) {
            case "connect" -> connect(request);
            case "plan" -> plan(request.get("endpoint").asText(), request.get("options"));
            case "task" -> task(request.get("id").asText());
            case "progress" -> progress();
            case "stop" -> stop();
            case "change_factors" -> changeFactors(request.get("factors"));
            case "topic_task" -> topicTask(request.get("id").asText());
            default -> throw new IllegalArgumentException(request.toString());
        };
    }

    /** Takes TLS 1.3 only, and trusts one authority. */
    private Object connect(JsonNode request) throws Exception {
        url = request.get("url").asText() + "/kafkacruisecontrol/";
        String user = request.path("user").asText("");
        login = user.isEmpty() ? null : "Basic " + Base64.getEncoder().encodeToString(user.getBytes(StandardCharsets.UTF_8));
        HttpClient.Builder builder = HttpClient.newBuilder();
        if (request.hasNonNull("ca")) {
            KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
            trusted.load(null, null);
            try (FileInputStream file = new FileInputStream(request.get("ca").asText())) {
                trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(file));
            }
            TrustManagerFactory managers = TrustManagerFactory.getInstance("PKIX");
            managers.init(trusted);
            SSLContext tls = SSLContext.getInstance("TLSv1.3");
            tls.init(null, managers.getTrustManagers(), null);
            builder.sslContext(tls);
        }
        client = builder.build();
        return null;
    }

    private HttpRequest.Builder request(String endpoint, Map<String, String> options) {
        StringBuilder path = new StringBuilder(url).append(endpoint).append("?json=true");
        options.forEach((name, value) ->
            path.append('&').append(name).append('=').append(URLEncoder.encode(value, StandardCharsets.UTF_8)));
        HttpRequest.Builder builder = HttpRequest.newBuilder().uri(URI.create(path.toString())).timeout(Duration.ofSeconds(60));
        return login == null ? builder : builder.header("Authorization", login);
    }

    private HttpResponse<String> get(String endpoint, Map<String, String> options) throws Exception {
        return client.send(request(endpoint, options).GET().build(), HttpResponse.BodyHandlers.ofString());
    }

    private HttpResponse<String> post(String endpoint, Map<String, String> options) throws Exception {
        HttpRequest sent = request(endpoint, options).POST(HttpRequest.BodyPublishers.noBody()).build();
        return client.send(sent, HttpResponse.BodyHandlers.ofString());
    }

    /** Returns a result, or what is to be asked again: "calculating" with a task, or "not ready". */
    private Object plan(String endpoint, JsonNode options) throws Exception {
        Map<String, String> query = new LinkedHashMap<>();
        options.properties().forEach(option -> query.put(option.getKey(), option.getValue().asText()));
        HttpResponse<String> response = post(endpoint, query);
        String task = response.headers().firstValue("User-Task-ID").orElseThrow();
        JsonNode answer = JSON.readTree(response.body());
        switch (response.statusCode()) {
            case 200:
                return optimization(answer, Map.of("state", "planned", "task", task));
            case 202:
                require(answer.has("progress"), "an answer 202 without progress: " + answer);
                return Map.of("state", "calculating", "task", task);
            case 500:
                String reason = answer.get("errorMessage").asText();
                if (reason.contains("NotEnoughValidWindowsException")) {
                    return Map.of("state", "not ready", "reason", reason);
                }
                boolean unknown = reason.contains("IllegalArgumentException") && reason.contains("does not exist.");
                throw new IllegalStateException(unknown ? "Some brokers do not exist" : reason);
            default:
                throw new IllegalStateException("Unexpected status " + response.statusCode());
        }
    }

    private Map<String, Object> optimization(JsonNode answer, Map<String, Object> more) {
        Map<String, Object> result = new LinkedHashMap<>(more);
        require(answer.get("summary").isObject(), "no summary: " + answer);
        result.put("summary", JSON.convertValue(answer.get("summary"), Map.class));
        result.put("after", brokers(answer.get("loadAfterOptimization")));
        if (answer.has("proposals")) {
            result.put("proposals", JSON.convertValue(answer.get("proposals"), List.class));
        }
        if (answer.has("loadBeforeOptimization")) {
            result.put("before", brokers(answer.get("loadBeforeOptimization")));
            require(((List<?>) result.get("before")).size() == ((List<?>) result.get("after")).size(), "other brokers");
        }
        return result;
    }

    private List<Integer> brokers(JsonNode load) {
        List<Integer> brokers = new ArrayList<>();
        for (JsonNode row : load.get("brokers")) {
            INTS.forEach(name -> require(row.get(name).isInt(), name + " of " + row));
            DOUBLES.forEach(name -> require(!row.has(name) || row.get(name).isDouble(), name + " of " + row));
            brokers.add(row.get("Broker").intValue());
        }
        return brokers;
    }

    private Object task(String id) throws Exception {
        HttpResponse<String> response = get("user_tasks", Map.of("fetch_completed_task", "true", "user_task_ids", id));
        require(response.statusCode() == 200, "Unexpected status " + response.statusCode());
        JsonNode tasks = JSON.readTree(response.body()).get("userTasks");
        if (tasks.isEmpty()) {
            return Map.of("status", "lost");
        }
        String status = tasks.get(0).get("Status").asText();
        require(STATUSES.contains(status), status);
        if (status.equals("InExecution") || status.equals("Completed")) {
            return optimization(JSON.readTree(tasks.get(0).get("originalResponse").asText()), Map.of("status", status));
        }
        return Map.of("status", status);
    }

    private Object progress() throws Exception {
        HttpResponse<String> response = get("state", Map.of("verbose", "false"));
        require(response.statusCode() == 200, "Unexpected status " + response.statusCode());
        JsonNode executor = JSON.readTree(response.body()).get("ExecutorState");
        String state = executor.get("state").asText();
        if (!MOVING.contains(state)) {
            require(OTHER.contains(state), state);
            return Map.of("state", state);
        }
        JsonNode total = executor.get("totalDataToMove");
        JsonNode finished = executor.get("finishedDataMovement");
        require(total.isInt() && finished.isInt() && finished.intValue() <= total.intValue(), executor.toString());
        Matcher started = INSTANT.matcher(executor.get("triggeredTaskReason").asText());
        require(started.find(), executor.toString());
        return Map.of("state", state, "total", total.intValue(), "finished", finished.intValue(),
            "started", Instant.parse(started.group()).toEpochMilli());
    }

    private Object stop() throws Exception {
        HttpResponse<String> response = post("stop_proposal_execution", Map.of());
        require(response.statusCode() == 200, "Unexpected status " + response.statusCode());
        JsonNode answer = JSON.readTree(response.body());
        require(!answer.has("errorMessage"), answer.toString());
        return answer.get("message").asText();
    }

    /** The topic operator takes an answer of 202 for a failure. */
    private Object changeFactors(JsonNode factors) throws Exception {
        Map<String, String> topics = new LinkedHashMap<>();
        factors.properties().forEach(each -> topics.put(each.getKey(), each.getValue().asText()));
        String body = JSON.writeValueAsString(new FactorChanges(new Factors(topics)));
        Map<String, String> options = Map.of("skip_rack_awareness_check", "true", "dryrun", "false");
        HttpRequest sent = request("topic_configuration", options).header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body)).build();
        HttpResponse<String> response = client.send(sent, HttpResponse.BodyHandlers.ofString());
        requireNoRefusal(response);
        return response.headers().firstValue("User-Task-ID").orElseThrow();
    }

    private Object topicTask(String id) throws Exception {
        HttpResponse<String> response = get("user_tasks", Map.of("fetch_completed_task", "false", "user_task_ids", id));
        requireNoRefusal(response);
        UserTasks tasks = JSON.readValue(response.body(), UserTasks.class);
        return tasks.userTasks().isEmpty() ? "lost" : tasks.userTasks().get(0).status();
    }

    private void requireNoRefusal(HttpResponse<String> response) throws Exception {
        if (response.statusCode() == 200) {
            return;
        }
        require(response.statusCode() != 401, "Authorization error");
        String reason = JSON.readValue(response.body(), Refusal.class).errorMessage();
        boolean busy = reason.contains("OngoingExecutionException") || reason.contains("stop_ongoing_execution");
        require(!busy, "Another task is executing");
        throw new IllegalStateException(response.statusCode() + " " + reason);
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }
}
