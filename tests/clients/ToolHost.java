import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command line tools one after another in one JVM, because a start of a JVM takes a second or more.
 *
 * A line {"main": CLASS, "args": [...], "stdin": TEXT} on stdin is answered by a line {"exit": N, "stdout": ..., "stderr": ...}.
 */
public class ToolHost {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ByteArrayOutputStream STDOUT = new ByteArrayOutputStream();
    private static final ByteArrayOutputStream STDERR = new ByteArrayOutputStream();

    /** Replaces System.exit: the tool still runs its finally blocks. */
    private static class ExitRequested extends Error {
    }

    /** The tool's exit hooks. */
    private static final List<Runnable> HOOKS = new ArrayList<>();

    /** The output at the first exit. Some tools catch the exception, print an error, and exit again. */
    private static Map<String, Object> outcome;

    public static void main(String[] args) throws Exception {
        PrintStream replies = System.out;
        // Set once and emptied before each run, because Scala's library keeps the first stream.
        System.setOut(new PrintStream(STDOUT, true, "UTF-8"));
        System.setErr(new PrintStream(STDERR, true, "UTF-8"));
        Exit.Procedure refuse = (status, message) -> {
            if (message != null) {
                System.err.println(message);
            }
            end(status);
            throw new ExitRequested();
        };
        Exit.setExitProcedure(refuse);
        Exit.setHaltProcedure(refuse);
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            replies.println(JSON.writeValueAsString(run(JSON.readTree(line))));
        }
    }

    private static Map<String, Object> run(JsonNode request) throws Exception {
        List<String> args = new ArrayList<>();
        request.get("args").forEach(arg -> args.add(arg.asText()));
        STDOUT.reset();
        STDERR.reset();
        outcome = null;
        System.setIn(new ByteArrayInputStream(request.get("stdin").asText().getBytes(StandardCharsets.UTF_8)));
        try {
            Class<?> tool = Class.forName(request.get("main").asText());
            tool.getMethod("main", String[].class).invoke(null, (Object) args.toArray(new String[0]));
            end(0);
        } catch (InvocationTargetException thrown) {
            if (outcome == null) {
                thrown.getCause().printStackTrace();
                end(1);
            }
        } finally {
            HOOKS.forEach(Runnable::run);
            HOOKS.clear();
        }
        return outcome;
    }

    private static void end(int status) {
        if (outcome == null) {
            String stdout = STDOUT.toString(StandardCharsets.UTF_8);
            String stderr = STDERR.toString(StandardCharsets.UTF_8);
            outcome = Map.of("exit", status, "stdout", stdout, "stderr", stderr);
        }
    }
}
