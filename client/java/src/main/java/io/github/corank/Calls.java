package io.github.corank;

import io.github.corank.v1.CorankServiceGrpc;
import io.github.corank.v1.GetServerInfoRequest;
import io.github.corank.v1.GetServerInfoResponse;
import io.github.corank.v1.Operation;
import io.github.corank.v1.OperationResult;
import io.github.corank.v1.StoredPlace;
import io.grpc.MethodDescriptor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;

/**
 * Does calls of any operator: chooses places, sends messages, retries, and reports costs.
 * Thread-safe.
 */
final class Calls {
  /** Arrays of a call that take more travel in chunks, unless it says otherwise. */
  private static final long INLINE_BYTES = 64 << 20;

  /** Streamed arrays that take more travel over several connections. */
  private static final long MANY_BYTES = 128 << 20;

  private static final int CONNECTIONS = 4;
  private static final int CHUNK_BYTES = 2 << 20;
  private static final long MESSAGE_SLACK = 64 << 10;

  private final Channels channels;
  private final CallOptions defaults;
  private final Retrier retrier;
  private volatile ServerInfo info;

  Calls(Channels channels, CallOptions defaults, Clock clock) {
    this.channels = channels;
    this.defaults = defaults;
    retrier = new Retrier(clock);
  }

  Channels channels() {
    return channels;
  }

  Retrier retrier() {
    return retrier;
  }

  CallOptions withDefaults(CallOptions options) {
    return options.over(defaults);
  }

  Limit limit(CallOptions options, long bytes) {
    return new Limit(retrier.clock, options.deadlineFor(bytes));
  }

  Caller caller(String operator, CallOptions options, long bytes) {
    return new Caller(operator, channels, options.deadlineFor(bytes), options);
  }

  /** The answer of a unary call. */
  record Answer<A>(A message, String requestId, int attempts) {}

  /** Calls a unary method, with as many tries as may help. */
  <Q, A> CompletableFuture<Answer<A>> unary(
      MethodDescriptor<Q, A> method,
      Q request,
      Caller caller,
      Limit limit,
      int retries,
      Retrier.Repeat repeat,
      Scope scope,
      Executor executor) {
    return retrier.run(
        attempt -> {
          List<A> found = new ArrayList<>(1);
          return new Rpc<>(
                  channels,
                  0,
                  method,
                  new Rpc.One<>(request),
                  found::add,
                  caller,
                  limit,
                  scope,
                  executor)
              .start()
              .thenApply(
                  id -> {
                    if (found.size() != 1) {
                      throw new CorankException.Internal(
                          caller.operator()
                              + ": the server answered "
                              + found.size()
                              + " messages, not one");
                    }
                    return new Answer<>(found.get(0), id, attempt);
                  });
        },
        caller,
        limit,
        retries,
        repeat,
        scope);
  }

  /** Asks for information about the server. */
  CompletableFuture<ServerInfo> ask(CallOptions options, Limit limit, Scope scope) {
    Caller caller = caller("GetServerInfo", options, 0);
    MethodDescriptor<GetServerInfoRequest, GetServerInfoResponse> method =
        CorankServiceGrpc.getGetServerInfoMethod();
    return unary(
            method,
            GetServerInfoRequest.getDefaultInstance(),
            caller,
            limit,
            options.retries(),
            Retrier.Repeat.ALWAYS,
            scope,
            null)
        .thenApply(
            answer -> {
              ServerInfo found = ServerInfo.of(answer.message());
              info = found;
              return found;
            });
  }

  /** Information about the server. Asks once, and again after the server was unreachable. */
  CompletableFuture<ServerInfo> server(CallOptions options, Limit limit, Scope scope) {
    ServerInfo known = info;
    return known != null ? CompletableFuture.completedFuture(known) : ask(options, limit, scope);
  }

  int chunkBytes(ServerInfo server) {
    long most = server.limits().maxChunkBytes();
    return most <= 0 ? CHUNK_BYTES : (int) Math.min(CHUNK_BYTES, most);
  }

  /**
   * Does operators one after the other in one call.
   *
   * @param execute uses Execute, whatever places there are
   * @param isWaitedFor whether a thread waits for the result, so that callbacks need no other
   *     thread
   * @return the results of each operator, in the order of its outputs; null: it stayed on the
   *     server
   */
  CompletableFuture<List<List<Elements>>> perform(
      List<Placing.Step> steps,
      CallOptions given,
      boolean execute,
      Scope scope,
      boolean isWaitedFor) {
    CallOptions options = withDefaults(given);
    long start = System.nanoTime();
    Placing placing = new Placing(steps);
    if (options.isSharded() && !placing.isSharded()) {
      throw new CorankException.InvalidArgument(
          "sharded: is for results that the server keeps; call keep", "sharded");
    }
    long send = placing.toSend();
    long receive = placing.mostToReceive();
    long bytes = Math.max(send, receive);
    Limit limit = limit(options, bytes);
    if (options.priority() != null) {
      steps.forEach(
          step ->
              step.task()
                  .method
                  .options()
                  .apply(step.task().operation)
                  .setPriority(options.priority().wire()));
    }
    boolean small = bytes <= Placing.SMALL_BYTES && placing.isReceiveKnown();
    CompletableFuture<List<List<Elements>>> result;
    if (!execute && (options.place() == Place.INLINE || (options.place() == Place.AUTO && small))) {
      result =
          inline(
              placing,
              steps.get(0),
              options,
              limit,
              scope,
              start,
              small && isWaitedFor ? Runnable::run : null);
    } else {
      result =
          server(options, limit, scope)
              .thenCompose(
                  server ->
                      execute || options.place() == Place.STREAM || !fits(server, send, receive)
                          ? execute(placing, steps, server, options, limit, scope, start, execute)
                          : inline(placing, steps.get(0), options, limit, scope, start, null));
    }
    return result.whenComplete(
        (found, error) -> {
          Throwable cause = error instanceof CompletionException ? error.getCause() : error;
          if (cause instanceof CorankException.Unavailable) {
            // Another server may answer from now on.
            info = null;
          }
        });
  }

  private static boolean fits(ServerInfo server, long send, long receive) {
    return !server.places().contains("stream")
        || (send <= most(server.limits().maxRequestBytes())
            && receive <= most(server.limits().maxResponseBytes()));
  }

  private static long most(long limit) {
    return Math.min(INLINE_BYTES, (limit <= 0 ? INLINE_BYTES : limit) - MESSAGE_SLACK);
  }

  private static Retrier.Repeat repeat(Placing placing) {
    // A second try could replace an array that another caller stored under the name in between.
    return placing.keeps() ? Retrier.Repeat.UNLESS_LOST : Retrier.Repeat.ALWAYS;
  }

  private CompletableFuture<List<List<Elements>>> inline(
      Placing placing,
      Placing.Step step,
      CallOptions options,
      Limit limit,
      Scope scope,
      long start,
      Executor executor) {
    placing.put(false);
    return inline(placing, step, step.task().method, options, limit, scope, start, executor);
  }

  private <Q, A> CompletableFuture<List<List<Elements>>> inline(
      Placing placing,
      Placing.Step step,
      Method<Q, A> method,
      CallOptions options,
      Limit limit,
      Scope scope,
      long start,
      Executor executor) {
    long bytes = Math.max(placing.toSend(), placing.mostToReceive());
    Caller caller = caller(method.name(), options, bytes);
    Q request = method.request().apply(step.task().operation.build());
    return unary(
            method.descriptor(),
            request,
            caller,
            limit,
            options.retries(),
            repeat(placing),
            scope,
            executor)
        .thenApply(
            answer -> {
              OperationResult result =
                  method.wrap().apply(OperationResult.newBuilder(), answer.message()).build();
              List<Elements> found = placing.results(step, result);
              if (options.onProgress() != null) {
                long received =
                    found.stream().mapToLong(each -> each == null ? 0 : each.byteSize()).sum();
                long sent = placing.toSend();
                options
                    .onProgress()
                    .accept(new Progress(sent, sent, received, received, answer.attempts()));
              }
              report(
                  options,
                  List.of(step),
                  List.of(result),
                  start,
                  answer.attempts(),
                  answer.requestId());
              return List.of(found);
            });
  }

  private CompletableFuture<List<List<Elements>>> execute(
      Placing placing,
      List<Placing.Step> steps,
      ServerInfo server,
      CallOptions options,
      Limit limit,
      Scope scope,
      long start,
      boolean isChain) {
    placing.put(true);
    if (!isChain && placing.sources.isEmpty() && placing.sinks.isEmpty()) {
      return inline(
          placing, steps.get(0), steps.get(0).task().method, options, limit, scope, start, null);
    }
    long send = placing.toSend();
    long receive = placing.toReceive();
    List<Operation> operations = steps.stream().map(step -> step.task().operation.build()).toList();
    Meter meter = new Meter(options.onProgress(), send, receive);
    int parts = parts(placing, server, options, Math.max(send, receive));
    String name = steps.size() == 1 ? steps.get(0).task().method.name() : "Execute";
    Caller caller = caller(name, options, Math.max(send, placing.mostToReceive()));
    int[] attempts = {1};
    return retrier
        .run(
            attempt -> {
              attempts[0] = attempt;
              placing.sinks.values().forEach(Sink::restart);
              meter.restart(attempt);
              return new Job(
                      channels,
                      operations,
                      placing.sources,
                      placing.sinks,
                      parts,
                      chunkBytes(server),
                      meter)
                  .start(caller, limit, scope);
            },
            caller,
            limit,
            options.retries(),
            repeat(placing),
            scope)
        .thenApply(
            answer -> {
              List<List<Elements>> results = results(name, placing, steps, answer.results());
              report(options, steps, answer.results(), start, attempts[0], answer.requestId());
              return results;
            });
  }

  private int parts(Placing placing, ServerInfo server, CallOptions options, long bytes) {
    // Parts of a job must reach the same server, which only one address is sure to do.
    if (placing.sources.isEmpty() || Address.isSeveral(channels.address())) {
      return 1;
    }
    int wanted =
        options.connections() > 0 ? options.connections() : bytes > MANY_BYTES ? CONNECTIONS : 1;
    return Math.min(wanted, Math.max(server.limits().maxParts(), 1));
  }

  private static List<List<Elements>> results(
      String name, Placing placing, List<Placing.Step> steps, List<OperationResult> answers) {
    if (answers.size() != steps.size()) {
      throw new CorankException.Internal(
          name
              + ": the server answered "
              + answers.size()
              + " results for "
              + steps.size()
              + " operations");
    }
    List<List<Elements>> made = new ArrayList<>();
    for (int at = 0; at < answers.size(); ++at) {
      if (answers.get(at).getResultCase() != steps.get(at).task().method.kind()) {
        throw new CorankException.Internal(
            name + ": the server answered another operation's result");
      }
      made.add(placing.results(steps.get(at), answers.get(at)));
    }
    return made;
  }

  private static void report(
      CallOptions options,
      List<Placing.Step> steps,
      List<OperationResult> answers,
      long start,
      int attempts,
      String requestId) {
    if (options.onStats() == null) {
      return;
    }
    long elapsed = System.nanoTime() - start;
    for (int at = 0; at < steps.size(); ++at) {
      Method<?, ?> method = steps.get(at).task().method;
      OperationResult answer = answers.get(at);
      options
          .onStats()
          .accept(
              Stats.of(
                  method.name(),
                  method.stats().apply(answer),
                  method.algorithm().apply(answer),
                  elapsed,
                  attempts,
                  requestId));
    }
  }

  /**
   * The places of results that stay on the server under names.
   *
   * @throws CorankException.InvalidArgument there is another number of results, or a name for two
   *     of them
   */
  static List<StoredPlace> kept(Task task, List<String> names, boolean sharded) {
    if (names.size() != task.outputs.size()) {
      throw new CorankException.InvalidArgument(
          "keep: "
              + names.size()
              + " names for the "
              + task.outputs.size()
              + " results of "
              + task.method.name(),
          "keep");
    }
    if (names.stream().distinct().count() < names.size()) {
      throw new CorankException.InvalidArgument(
          "keep: a name is there twice in " + names + "; each result needs its own", "keep");
    }
    return names.stream()
        .map(name -> StoredPlace.newBuilder().setName(name).setSharded(sharded).build())
        .toList();
  }

  /** The handles of results that stayed on the server. */
  static List<StoredArray> handles(Task task, List<StoredPlace> places) {
    List<StoredArray> made = new ArrayList<>();
    for (int at = 0; at < places.size(); ++at) {
      Task.Out out = task.outputs.get(at);
      StoredPlace place = places.get(at);
      made.add(
          new StoredArray(
              place.getName(),
              out.type(),
              out.elementBytes(),
              task.counts[at],
              place.getSharded()));
    }
    return made;
  }
}
