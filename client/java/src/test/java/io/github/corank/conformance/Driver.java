package io.github.corank.conformance;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.corank.CallOptions;
import io.github.corank.Chain;
import io.github.corank.Client;
import io.github.corank.ClientBuilder;
import io.github.corank.CorankException;
import io.github.corank.Health;
import io.github.corank.Input;
import io.github.corank.Operator;
import io.github.corank.Place;
import io.github.corank.Priority;
import io.github.corank.Progress;
import io.github.corank.ServerInfo;
import io.github.corank.Stats;
import io.github.corank.StoredArray;
import io.github.corank.StoredArrays;
import io.grpc.ManagedChannel;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Drives the Java client for the conformance suite; client/conformance/README.md defines the
 * protocol.
 */
public final class Driver {
  private static final Gson GSON = new GsonBuilder().serializeNulls().create();

  private final Map<String, Client> clients = new HashMap<>();

  /** A feature that the client lacks. */
  private static final class Unsupported extends RuntimeException {
    private static final long serialVersionUID = 1;

    Unsupported(String feature) {
      super(feature);
    }
  }

  /** Answers the commands of stdin. */
  public static void main(String[] arguments) throws IOException {
    Driver driver = new Driver();
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonObject command = JsonParser.parseString(line).getAsJsonObject();
      JsonObject answer = driver.answer(command);
      answer.add("id", command.get("id"));
      out.println(GSON.toJson(answer));
      out.flush();
    }
    driver.clients.values().forEach(Client::close);
  }

  static void checkMembers(JsonObject given, Set<String> known) {
    for (String name : given.keySet()) {
      if (!known.contains(name)) {
        System.err.println("the driver does not know '" + name + "' of " + given);
        System.exit(1);
      }
    }
  }

  private JsonObject answer(JsonObject command) {
    JsonObject answer = new JsonObject();
    try {
      JsonObject made = run(command);
      answer.add("ok", made == null ? new JsonObject() : made);
    } catch (Unsupported missing) {
      answer.addProperty("unsupported", missing.getMessage());
    } catch (CorankException error) {
      answer.add("error", failure(error));
    } catch (CancellationException error) {
      answer.add("error", plain("CANCELLED", "cancelled"));
    } catch (IllegalArgumentException | NullPointerException error) {
      answer.add("error", plain("INVALID_ARGUMENT", String.valueOf(error.getMessage())));
    } catch (IllegalStateException error) {
      if (!String.valueOf(error.getMessage()).contains("closed")) {
        throw error;
      }
      answer.add("error", plain("CLOSED", error.getMessage()));
    }
    return answer;
  }

  private static JsonObject plain(String code, String message) {
    JsonObject made = new JsonObject();
    made.addProperty("code", code);
    made.addProperty("reason", "");
    made.addProperty("field", "");
    made.add("retry_after_s", JsonNull.INSTANCE);
    made.addProperty("request_id", "");
    made.addProperty("message", message);
    return made;
  }

  private static JsonObject failure(CorankException error) {
    JsonObject made = plain(error.code().name(), error.getMessage());
    made.addProperty("reason", error.reason());
    made.addProperty("field", error.field());
    error.retryAfter().ifPresent(delay -> made.addProperty("retry_after_s", delay.toNanos() / 1e9));
    made.addProperty("request_id", error.requestId());
    error.rows().ifPresent(rows -> made.addProperty("rows", rows));
    return made;
  }

  private JsonObject run(JsonObject command) {
    String name = command.get("command").getAsString();
    return switch (name) {
      case "hello" -> hello();
      case "connect" -> connect(command);
      case "call" -> call(command);
      case "chain" -> chain(command);
      case "store" -> store(command);
      case "fetch" -> fetch(command);
      case "list" -> list(command);
      case "delete" -> {
        expect(command, "name");
        client(command).delete(command.get("name").getAsString());
        yield null;
      }
      case "info" -> info(command);
      case "health" -> health(command);
      case "close" -> {
        expect(command);
        client(command).close();
        yield null;
      }
      case "resources" -> {
        System.gc();
        yield null;
      }
      default -> throw new AssertionError("no command " + name);
    };
  }

  private static void expect(JsonObject command, String... names) {
    List<String> known = new ArrayList<>(List.of(names));
    known.addAll(List.of("id", "command", "client"));
    checkMembers(command, Set.copyOf(known));
  }

  private Client client(JsonObject command) {
    return clients.get(command.get("client").getAsString());
  }

  private static JsonObject hello() {
    JsonObject made = new JsonObject();
    made.addProperty("language", "java");
    made.addProperty("version", System.getProperty("corank.version", "0.1.0"));
    made.addProperty(
        "library", "grpc-java " + ManagedChannel.class.getPackage().getImplementationVersion());
    return made;
  }

  private JsonObject connect(JsonObject command) {
    expect(command, "options");
    ClientBuilder builder = Client.builder();
    CallOptions defaults = CallOptions.none();
    JsonObject options = options(command);
    for (Map.Entry<String, JsonElement> each : options.entrySet()) {
      JsonElement value = each.getValue();
      switch (each.getKey()) {
        case "address" -> {
          if (value.getAsString().startsWith("unix:")) {
            throw new Unsupported("unix");
          }
          builder.address(value.getAsString());
        }
        case "token" -> builder.token(value.getAsString());
        case "token_file" -> builder.tokenFile(Path.of(value.getAsString()));
        case "tls" -> tls(builder, value.getAsJsonObject());
        case "deadline_s", "retries", "traceparent", "connections" ->
            defaults = option(defaults, each.getKey(), value);
        default -> checkMembers(options, Set.of());
      }
    }
    Client before =
        clients.put(command.get("client").getAsString(), builder.defaults(defaults).build());
    if (before != null) {
      before.close();
    }
    return null;
  }

  private static void tls(ClientBuilder builder, JsonObject tls) {
    checkMembers(tls, Set.of("ca", "certificate", "key", "server_name"));
    builder.tls();
    if (tls.has("ca")) {
      builder.trust(Path.of(tls.get("ca").getAsString()));
    }
    if (tls.has("certificate") || tls.has("key")) {
      builder.clientCertificate(path(tls, "certificate"), path(tls, "key"));
    }
    if (tls.has("server_name")) {
      builder.serverName(tls.get("server_name").getAsString());
    }
  }

  private static Path path(JsonObject object, String name) {
    return object.has(name) ? Path.of(object.get(name).getAsString()) : null;
  }

  private static JsonObject options(JsonObject command) {
    return command.has("options") ? command.getAsJsonObject("options") : new JsonObject();
  }

  private static CallOptions option(CallOptions options, String name, JsonElement value) {
    return switch (name) {
      case "deadline_s" ->
          value.isJsonNull()
              ? options.noDeadline()
              : options.deadline(Duration.ofNanos((long) (value.getAsDouble() * 1e9)));
      case "retries" -> options.retries(value.getAsInt());
      case "traceparent" -> options.traceparent(value.getAsString());
      case "request_id" -> options.requestId(value.getAsString());
      case "priority" ->
          options.priority(Priority.valueOf(value.getAsString().toUpperCase(Locale.ROOT)));
      case "connections" -> options.connections(value.getAsInt());
      case "place" -> {
        if (value.getAsString().equals("shared_memory")) {
          throw new Unsupported("shared_memory");
        }
        yield options.place(Place.valueOf(value.getAsString().toUpperCase(Locale.ROOT)));
      }
      case "cancel_after_ms", "progress" -> options;
      default -> throw new AssertionError("no option " + name);
    };
  }

  private static CallOptions callOptions(JsonObject command) {
    CallOptions made = CallOptions.none();
    for (Map.Entry<String, JsonElement> each : options(command).entrySet()) {
      made = option(made, each.getKey(), each.getValue());
    }
    return command.has("sharded") && command.get("sharded").getAsBoolean() ? made.sharded() : made;
  }

  /** Waits for a call, and cancels it if the command says so. */
  private static <R> R await(CompletableFuture<R> future, JsonObject command) {
    if (options(command).has("cancel_after_ms")) {
      CompletableFuture.delayedExecutor(
              options(command).get("cancel_after_ms").getAsLong(), TimeUnit.MILLISECONDS)
          .execute(() -> future.cancel(true));
    }
    try {
      return future.join();
    } catch (CompletionException error) {
      throw error.getCause() instanceof RuntimeException cause ? cause : error;
    }
  }

  private static boolean isDigest(JsonObject command) {
    return command.has("digest") && command.get("digest").getAsBoolean();
  }

  private JsonObject call(JsonObject command) {
    expect(command, "operator", "arguments", "options", "keep", "sharded", "digest");
    Client client = client(command);
    AtomicReference<Stats> stats = new AtomicReference<>();
    AtomicReference<Progress> progress = new AtomicReference<>();
    CallOptions options = callOptions(command).onStats(stats::set);
    boolean tellsProgress = options(command).has("progress");
    if (tellsProgress) {
      options = options.onProgress(progress::set);
    }
    Operators operators = new Operators(each -> client.stored(each.get("kept").getAsString()));
    Operators.Made made =
        operators.make(command.get("operator").getAsString(), command.getAsJsonObject("arguments"));
    JsonObject results;
    if (command.has("keep")) {
      results = kept(client, command, made, options);
    } else {
      Object result = waited(client, command, made.operator(), options);
      results = Operators.results(result, made.names(), isDigest(command));
    }
    JsonObject ok = new JsonObject();
    ok.add("results", results);
    JsonObject told = new JsonObject();
    told.addProperty("request_id", stats.get().requestId());
    told.addProperty("engine", stats.get().engine());
    told.addProperty("algorithm", stats.get().algorithm());
    ok.add("stats", told);
    if (tellsProgress) {
      JsonObject bytes = new JsonObject();
      bytes.addProperty("sent", progress.get().sent());
      bytes.addProperty("received", progress.get().received());
      ok.add("progress", bytes);
    }
    return ok;
  }

  private static <R> R waited(
      Client client, JsonObject command, Operator<R> operator, CallOptions options) {
    return options(command).has("cancel_after_ms")
        ? await(client.submit(operator, options), command)
        : client.run(operator, options);
  }

  private static JsonObject kept(
      Client client, JsonObject command, Operators.Made made, CallOptions options) {
    JsonObject keep = command.getAsJsonObject("keep");
    String[] names =
        made.names().stream()
            .filter(keep::has)
            .map(each -> keep.get(each).getAsString())
            .toArray(String[]::new);
    List<StoredArray> found = await(client.submitKeep(made.operator(), options, names), command);
    JsonObject results = new JsonObject();
    for (int at = 0; at < found.size(); ++at) {
      results.add(made.names().get(at), Arrays.json(found.get(at)));
    }
    return results;
  }

  private JsonObject chain(JsonObject command) {
    expect(command, "operations", "options", "digest");
    Client client = client(command);
    Chain chain = client.chain();
    List<Chain.Step<?>> steps = new ArrayList<>();
    List<Operators.Made> made = new ArrayList<>();
    List<JsonObject> keeps = new ArrayList<>();
    Operators operators = new Operators(each -> handle(client, steps, each));
    for (JsonElement each : command.getAsJsonArray("operations")) {
      JsonObject operation = each.getAsJsonObject();
      checkMembers(operation, Set.of("operator", "arguments", "keep"));
      Operators.Made operator =
          operators.make(
              operation.get("operator").getAsString(), operation.getAsJsonObject("arguments"));
      JsonObject keep = operation.has("keep") ? operation.getAsJsonObject("keep") : null;
      made.add(operator);
      keeps.add(keep);
      if (keep == null) {
        steps.add(chain.add(operator.operator()));
      } else {
        String[] names =
            operator.names().stream()
                .filter(keep::has)
                .map(name -> keep.get(name).getAsString())
                .toArray(String[]::new);
        steps.add(chain.keep(operator.operator(), names));
      }
    }
    await(chain.submit(callOptions(command)), command);
    JsonArray operations = new JsonArray();
    for (int at = 0; at < steps.size(); ++at) {
      JsonObject results = new JsonObject();
      if (keeps.get(at) == null) {
        results =
            Operators.results(steps.get(at).result(), made.get(at).names(), isDigest(command));
      } else {
        List<StoredArray> kept = steps.get(at).kept();
        for (int of = 0; of < kept.size(); ++of) {
          results.add(made.get(at).names().get(of), Arrays.json(kept.get(of)));
        }
      }
      operations.add(results);
    }
    JsonObject ok = new JsonObject();
    ok.add("operations", operations);
    return ok;
  }

  private static Input handle(Client client, List<Chain.Step<?>> steps, JsonObject array) {
    return array.has("kept")
        ? client.stored(array.get("kept").getAsString())
        : steps.get(array.get("of").getAsInt()).output(array.get("result").getAsString());
  }

  private JsonObject store(JsonObject command) {
    expect(command, "name", "array", "expires_s", "sharded", "options");
    Duration expires =
        command.has("expires_s")
            ? Duration.ofNanos((long) (command.get("expires_s").getAsDouble() * 1e9))
            : null;
    return Arrays.json(
        client(command)
            .store(
                command.get("name").getAsString(),
                Arrays.elements(command.getAsJsonObject("array")),
                expires,
                callOptions(command)));
  }

  private JsonObject fetch(JsonObject command) {
    expect(command, "name", "options", "digest");
    JsonObject ok = new JsonObject();
    ok.add(
        "array",
        Arrays.json(
            client(command).fetch(command.get("name").getAsString(), callOptions(command)),
            false,
            isDigest(command)));
    return ok;
  }

  private JsonObject list(JsonObject command) {
    expect(command);
    StoredArrays found = client(command).arrays();
    JsonArray arrays = new JsonArray();
    found.arrays().forEach(each -> arrays.add(Arrays.json(each)));
    JsonObject ok = new JsonObject();
    ok.add("arrays", arrays);
    ok.addProperty("used_bytes", found.usedBytes());
    ok.addProperty("quota_bytes", found.quotaBytes());
    return ok;
  }

  private JsonObject info(JsonObject command) {
    expect(command, "options");
    ServerInfo found = client(command).info(callOptions(command));
    JsonObject ok = new JsonObject();
    ok.addProperty("version", found.version());
    ok.addProperty("engine", found.engine());
    ok.add("places", GSON.toJsonTree(found.places()));
    ok.addProperty("max_request_bytes", found.limits().maxRequestBytes());
    ok.addProperty("max_chunk_bytes", found.limits().maxChunkBytes());
    ok.addProperty("max_parts", found.limits().maxParts());
    return ok;
  }

  private JsonObject health(JsonObject command) {
    expect(command, "service");
    String service = command.has("service") ? command.get("service").getAsString() : "";
    Health found = client(command).health(service);
    JsonObject ok = new JsonObject();
    ok.addProperty("status", found.name().toLowerCase(Locale.ROOT));
    return ok;
  }
}
