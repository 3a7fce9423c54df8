package io.github.corank;

import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;

/**
 * A connection to a corank server. Make one and share it: it is thread-safe, and all its calls
 * share its connections.
 *
 * <pre>{@code
 * try (Client client = Client.connect()) {
 *   float[] sorted = client.sort(keys);
 * }
 * }</pre>
 *
 * <p>Every method that calls the server throws a {@link CorankException} if that fails, and an
 * {@link IllegalStateException} on a closed client. An interrupt of the waiting thread cancels the
 * call. The methods named {@code submit} return at once; cancel their future to cancel the call.
 */
public final class Client implements AutoCloseable {
  private final Calls calls;
  private final Kept kept;

  Client(Calls calls) {
    this.calls = calls;
    kept = new Kept(calls);
  }

  /** Connects to the server that the environment names; see {@link ClientBuilder}. */
  public static Client connect() {
    return builder().build();
  }

  /** Connects to a server; see {@link ClientBuilder#address}. */
  public static Client connect(String address) {
    return builder().address(address).build();
  }

  /** Settings of a new client. */
  public static ClientBuilder builder() {
    return new ClientBuilder();
  }

  /** Sorts in ascending order into a new array; {@link Sort} has the options. */
  public byte[] sort(byte... keys) {
    return run(Sort.of(Elements.of(keys))).keys().byteArray();
  }

  /** Sorts in ascending order into a new array; {@link Sort} has the options. */
  public short[] sort(short... keys) {
    return run(Sort.of(Elements.of(keys))).keys().shortArray();
  }

  /** Sorts in ascending order into a new array; {@link Sort} has the options. */
  public int[] sort(int... keys) {
    return run(Sort.of(Elements.of(keys))).keys().intArray();
  }

  /** Sorts in ascending order into a new array; {@link Sort} has the options. */
  public long[] sort(long... keys) {
    return run(Sort.of(Elements.of(keys))).keys().longArray();
  }

  /** Sorts in ascending order, NaNs last, into a new array; {@link Sort} has the options. */
  public float[] sort(float... keys) {
    return run(Sort.of(Elements.of(keys))).keys().floatArray();
  }

  /** Sorts in ascending order, NaNs last, into a new array; {@link Sort} has the options. */
  public double[] sort(double... keys) {
    return run(Sort.of(Elements.of(keys))).keys().doubleArray();
  }

  /** Finds the stable permutation that sorts keys: keys[result[i]] is the i-th sorted key. */
  public int[] argsort(byte... keys) {
    return indices(Elements.of(keys));
  }

  /** Finds the stable permutation that sorts keys: keys[result[i]] is the i-th sorted key. */
  public int[] argsort(short... keys) {
    return indices(Elements.of(keys));
  }

  /** Finds the stable permutation that sorts keys: keys[result[i]] is the i-th sorted key. */
  public int[] argsort(int... keys) {
    return indices(Elements.of(keys));
  }

  /** Finds the stable permutation that sorts keys: keys[result[i]] is the i-th sorted key. */
  public int[] argsort(long... keys) {
    return indices(Elements.of(keys));
  }

  /** Finds the stable permutation that sorts keys: keys[result[i]] is the i-th sorted key. */
  public int[] argsort(float... keys) {
    return indices(Elements.of(keys));
  }

  /** Finds the stable permutation that sorts keys: keys[result[i]] is the i-th sorted key. */
  public int[] argsort(double... keys) {
    return indices(Elements.of(keys));
  }

  private int[] indices(Elements keys) {
    return run(Sort.of(keys).indices()).indices().intArray();
  }

  /** Runs an operator and waits for its results. */
  public <R> R run(Operator<R> operator) {
    return run(operator, CallOptions.none());
  }

  /** Runs an operator and waits for its results. */
  public <R> R run(Operator<R> operator, CallOptions options) {
    Scope scope = new Scope();
    return await(start(operator, options, scope, true), scope);
  }

  /** Runs an operator. Its future holds the results, or a CorankException. */
  public <R> CompletableFuture<R> submit(Operator<R> operator) {
    return submit(operator, CallOptions.none());
  }

  /** Runs an operator. Its future holds the results, or a CorankException. */
  public <R> CompletableFuture<R> submit(Operator<R> operator, CallOptions options) {
    Scope scope = new Scope();
    return flight(start(operator, options, scope, false), scope);
  }

  private <R> CompletableFuture<R> start(
      Operator<R> operator, CallOptions options, Scope scope, boolean isWaitedFor) {
    checkOpen();
    Placing.Step step = new Placing.Step(operator.task(), null);
    CompletableFuture<R> first =
        calls
            .perform(List.of(step), options, false, scope, isWaitedFor)
            .thenApply(results -> operator.result(results.get(0)));
    return again(first, operator, next -> start(next, options, scope, isWaitedFor));
  }

  /** A call of an operator, and the one that follows if it fails so. */
  private static <R, T> CompletableFuture<T> again(
      CompletableFuture<T> call,
      Operator<R> operator,
      Function<Operator<R>, CompletableFuture<T>> following) {
    return call.exceptionallyCompose(
        thrown -> {
          Throwable error = thrown instanceof CompletionException ? thrown.getCause() : thrown;
          Operator<R> next =
              error instanceof CorankException failed ? operator.again(failed) : null;
          return next == null ? CompletableFuture.failedFuture(error) : following.apply(next);
        });
  }

  /**
   * Runs an operator whose results stay on the server, and waits for it.
   *
   * @param names one for each result, in the order of the fields of its results; an array of that
   *     name is replaced
   * @return the handles of the results
   */
  public List<StoredArray> keep(Operator<?> operator, String... names) {
    return keep(operator, CallOptions.none(), names);
  }

  /** As {@link #keep(Operator, String...)}, with options. */
  public List<StoredArray> keep(Operator<?> operator, CallOptions options, String... names) {
    Scope scope = new Scope();
    return await(startKeep(operator, options, scope, names), scope);
  }

  /** As {@link #keep(Operator, String...)}, without waiting. */
  public CompletableFuture<List<StoredArray>> submitKeep(
      Operator<?> operator, CallOptions options, String... names) {
    Scope scope = new Scope();
    return flight(startKeep(operator, options, scope, names), scope);
  }

  private <R> CompletableFuture<List<StoredArray>> startKeep(
      Operator<R> operator, CallOptions options, Scope scope, String... names) {
    checkOpen();
    Task task = operator.task();
    Placing.Step step =
        new Placing.Step(task, Calls.kept(task, List.of(names), options.isSharded()));
    CompletableFuture<List<StoredArray>> first =
        calls
            .perform(List.of(step), options, false, scope, false)
            .thenApply(results -> Calls.handles(task, step.kept()));
    return again(first, operator, next -> startKeep(next, options, scope, names));
  }

  /** Begins a chain of operators that run in one call. */
  public Chain chain() {
    return new Chain(this);
  }

  /**
   * Has the server keep an array under a name, 1 to 128 characters of [A-Za-z0-9._-], in place of
   * another one.
   */
  public StoredArray store(String name, Elements array) {
    return store(name, array, null, CallOptions.none());
  }

  /**
   * Has the server keep an array under a name.
   *
   * @param expires time without use after which the server deletes it, null: the server's default
   */
  public StoredArray store(String name, Elements array, Duration expires, CallOptions options) {
    Scope scope = new Scope();
    checkOpen();
    return await(kept.store(name, array, expires, options, scope), scope);
  }

  /** As {@link #store(String, Elements, Duration, CallOptions)}, without waiting. */
  public CompletableFuture<StoredArray> submitStore(
      String name, Elements array, Duration expires, CallOptions options) {
    Scope scope = new Scope();
    checkOpen();
    return flight(kept.store(name, array, expires, options, scope), scope);
  }

  /** Copies a kept array from the server. */
  public Elements fetch(String name) {
    return fetch(name, CallOptions.none());
  }

  /** Copies a kept array from the server. */
  public Elements fetch(String name, CallOptions options) {
    Scope scope = new Scope();
    checkOpen();
    return await(kept.fetch(name, null, options, scope), scope);
  }

  /**
   * Copies a kept array from the server.
   *
   * @throws CorankException.NotFound the server keeps none of this name, or one of another type
   */
  public Elements fetch(StoredArray array) {
    return fetch(array, CallOptions.none());
  }

  /** As {@link #fetch(StoredArray)}, with options. */
  public Elements fetch(StoredArray array, CallOptions options) {
    Scope scope = new Scope();
    checkOpen();
    return await(kept.fetch(array.name(), array, options, scope), scope);
  }

  /** As {@link #fetch(StoredArray)}, without waiting. */
  public CompletableFuture<Elements> submitFetch(StoredArray array, CallOptions options) {
    Scope scope = new Scope();
    checkOpen();
    return flight(kept.fetch(array.name(), array, options, scope), scope);
  }

  /** Lists the arrays that the server keeps for this caller. */
  public StoredArrays arrays() {
    Scope scope = new Scope();
    checkOpen();
    return await(kept.list(CallOptions.none(), scope), scope);
  }

  /**
   * The handle of a kept array.
   *
   * @throws CorankException.NotFound the server keeps none of this name
   */
  public StoredArray stored(String name) {
    return arrays().arrays().stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow(
            () -> new CorankException.NotFound("the server keeps no array '" + name + "'"));
  }

  /**
   * Has the server forget a kept array.
   *
   * @throws CorankException.NotFound the server keeps none of this name
   */
  public void delete(String name) {
    Scope scope = new Scope();
    checkOpen();
    await(kept.delete(name, CallOptions.none(), scope), scope);
  }

  /** Asks what the server is. */
  public ServerInfo info() {
    return info(CallOptions.none());
  }

  /** Asks what the server is. */
  public ServerInfo info(CallOptions options) {
    Scope scope = new Scope();
    checkOpen();
    CallOptions given = calls.withDefaults(options);
    return await(calls.ask(given, calls.limit(given, 0), scope), scope);
  }

  /** Asks how the server is. */
  public Health health() {
    return health("");
  }

  /**
   * Asks how a service of the server is.
   *
   * @param service its name, such as {@code corank.v1.CorankService}; empty: the whole server
   */
  public Health health(String service) {
    Scope scope = new Scope();
    checkOpen();
    CallOptions given = calls.withDefaults(CallOptions.none());
    CompletableFuture<HealthCheckResponse> asked =
        calls
            .unary(
                HealthGrpc.getCheckMethod(),
                HealthCheckRequest.newBuilder().setService(service).build(),
                calls.caller("Check", given, 0),
                calls.limit(given, 0),
                given.retries(),
                Retrier.Repeat.ALWAYS,
                scope,
                null)
            .thenApply(Calls.Answer::message);
    try {
      return switch (await(asked, scope).getStatus()) {
        case SERVING -> Health.SERVING;
        case NOT_SERVING -> Health.NOT_SERVING;
        default -> Health.UNKNOWN;
      };
    } catch (CorankException error) {
      if (error.code() == Status.Code.NOT_FOUND) {
        return Health.UNKNOWN;
      }
      throw error;
    }
  }

  /**
   * Ends all connections. Calls in flight are cancelled; later ones throw IllegalStateException.
   */
  @Override
  public void close() {
    calls.channels().close();
  }

  Calls calls() {
    return calls;
  }

  void checkOpen() {
    calls.channels().checkOpen();
  }

  /** Waits for a call. */
  <R> R await(CompletableFuture<R> future, Scope scope) {
    try {
      return future.get();
    } catch (InterruptedException error) {
      scope.cancel();
      Thread.currentThread().interrupt();
      CorankException cancelled =
          new CorankException.Cancelled("the thread was interrupted while it waited");
      cancelled.initCause(error);
      throw cancelled;
    } catch (ExecutionException error) {
      Throwable cause = error.getCause();
      if (cause instanceof RuntimeException failed) {
        // The caller's frames say more than those of gRPC's threads.
        failed.fillInStackTrace();
        throw failed;
      }
      if (cause instanceof Error fatal) {
        throw fatal;
      }
      throw new IllegalStateException(cause);
    }
  }

  /** The future of a call, which cancels it. */
  static <R> CompletableFuture<R> flight(CompletableFuture<R> work, Scope scope) {
    CompletableFuture<R> made =
        new CompletableFuture<>() {
          @Override
          public boolean cancel(boolean mayInterruptIfRunning) {
            boolean cancelled = super.cancel(mayInterruptIfRunning);
            scope.cancel();
            return cancelled;
          }
        };
    work.whenComplete(
        (result, thrown) -> {
          Throwable error = thrown instanceof CompletionException ? thrown.getCause() : thrown;
          if (error == null) {
            made.complete(result);
          } else if (!(error instanceof CancellationException)) {
            made.completeExceptionally(error);
          }
        });
    return made;
  }
}
