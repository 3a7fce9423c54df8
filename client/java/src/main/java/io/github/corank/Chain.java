package io.github.corank;

import io.github.corank.v1.StoredPlace;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Operators that run one after the other on the server, in one call. A result that a later operator
 * reads stays on the server and ends with the chain; all others come back. Not thread-safe. A chain
 * runs once.
 *
 * <pre>{@code
 * Chain chain = client.chain();
 * Chain.Step<SortResult> sort = chain.add(Sort.of(keys));
 * Chain.Step<Elements> search = chain.add(Search.of(sort.output("keys"), needles));
 * chain.run();
 * long[] positions = search.result().positions();
 * }</pre>
 */
public final class Chain {
  private static final int MAX_OPERATIONS = 16;

  private final Client client;
  private final List<Step<?>> steps = new ArrayList<>();
  private boolean started;
  private boolean done;

  Chain(Client client) {
    this.client = client;
  }

  /**
   * Appends an operator.
   *
   * @throws CorankException.InvalidArgument it does not fit, or there are 16 already
   */
  public <R> Step<R> add(Operator<R> operator) {
    return add(operator, null, false);
  }

  /**
   * Appends an operator whose results stay on the server, under names, also after the chain.
   *
   * @param names one for each result of the operator
   * @throws CorankException.InvalidArgument it does not fit, or there are 16 already
   */
  public <R> Step<R> keep(Operator<R> operator, String... names) {
    return add(operator, names, false);
  }

  /**
   * As {@link #keep}, and the server divides these results among its GPUs; see {@link
   * CallOptions#sharded}.
   */
  public <R> Step<R> keepSharded(Operator<R> operator, String... names) {
    return add(operator, names, true);
  }

  private <R> Step<R> add(Operator<R> operator, String[] names, boolean sharded) {
    if (started) {
      throw new IllegalStateException("the chain has run; make another one");
    }
    if (steps.size() == MAX_OPERATIONS) {
      throw new CorankException.InvalidArgument(
          "chain: at most " + MAX_OPERATIONS + " operators", "operations");
    }
    Task task = operator.task();
    for (Task.In in : task.inputs) {
      if (in.value() instanceof Pending pending && pending.chain() != this) {
        throw new CorankException.InvalidArgument(
            in.field() + ": is a result of another chain", in.field());
      }
    }
    List<StoredPlace> kept = names == null ? null : Calls.kept(task, List.of(names), sharded);
    task.inputs.stream()
        .filter(in -> in.value() instanceof Pending)
        .forEach(in -> ((Pending) in.value()).take());
    Step<R> step = new Step<>(this, operator, task, kept, steps.size());
    steps.add(step);
    return step;
  }

  /**
   * Runs the chain.
   *
   * @throws CorankException it failed; nothing has changed
   * @throws IllegalStateException it has run, or the client is closed
   */
  public void run() {
    run(CallOptions.none());
  }

  /**
   * Runs the chain.
   *
   * @throws CorankException it failed; nothing has changed
   * @throws IllegalStateException it has run, or the client is closed
   */
  public void run(CallOptions options) {
    Scope scope = new Scope();
    client.await(start(options, scope), scope);
  }

  /**
   * Runs the chain; the future ends once its steps have their results. Cancel it to cancel the
   * chain.
   */
  public CompletableFuture<Void> submit(CallOptions options) {
    Scope scope = new Scope();
    return Client.flight(start(options, scope), scope);
  }

  private CompletableFuture<Void> start(CallOptions options, Scope scope) {
    if (started) {
      throw new IllegalStateException("the chain has run; make another one");
    }
    client.checkOpen();
    started = true;
    if (steps.isEmpty()) {
      done = true;
      return CompletableFuture.completedFuture(null);
    }
    List<Placing.Step> placed = steps.stream().map(each -> each.placed()).toList();
    return client.calls().perform(placed, options, true, scope, false).thenAccept(this::take);
  }

  private void take(List<List<Elements>> results) {
    for (int at = 0; at < results.size(); ++at) {
      steps.get(at).take(results.get(at));
    }
    done = true;
  }

  /**
   * One operator of a chain.
   *
   * @param <R> the type of its results
   */
  public static final class Step<R> {
    private final Chain chain;
    private final Operator<R> operator;
    private final Task task;
    private final List<Pending> outputs = new ArrayList<>();
    private R result;

    Step(Chain chain, Operator<R> operator, Task task, List<StoredPlace> kept, int number) {
      this.chain = chain;
      this.operator = operator;
      this.task = task;
      for (int at = 0; at < task.outputs.size(); ++at) {
        StoredPlace place = kept == null ? null : kept.get(at);
        outputs.add(new Pending(chain, "t" + number + "." + at, task.outputs.get(at), place));
      }
    }

    /**
     * A result, for later operators of the chain.
     *
     * @param field {@code keys}, {@code elements}, {@code values}, {@code indices}, {@code
     *     positions}, {@code objects}, {@code ranks}, {@code result}, {@code counts}, {@code
     *     firsts}, {@code sums}, {@code minima}, {@code maxima}, {@code count}, {@code left_rows},
     *     {@code right_rows}, or for columns {@code key_columns[0].data}, {@code
     *     key_columns[0].offsets} and {@code key_columns[0].validity}
     * @throws IllegalArgumentException the operator has no such result
     */
    public Pending output(String field) {
      for (int at = 0; at < outputs.size(); ++at) {
        if (task.outputs.get(at).field().equals(field)) {
          return outputs.get(at);
        }
      }
      String[] known = task.outputs.stream().map(Task.Out::field).toArray(String[]::new);
      throw new IllegalArgumentException(
          "output: "
              + task.method.name()
              + " has no result '"
              + field
              + "' here, but "
              + Arrays.toString(known));
    }

    /**
     * The results that came back, once the chain has run. Those that a later operator read, or that
     * the server keeps, are null.
     *
     * @throws IllegalStateException the chain has not run
     */
    public R result() {
      checkDone();
      return result;
    }

    /**
     * The handles of the results that the server keeps, once the chain has run.
     *
     * @throws IllegalStateException the chain has not run, or keeps none of this step
     */
    public List<StoredArray> kept() {
      checkDone();
      if (outputs.stream().anyMatch(each -> each.kept() == null)) {
        throw new IllegalStateException(
            "the server keeps no result of this step; append it with keep()");
      }
      List<StoredPlace> places = outputs.stream().map(Pending::kept).toList();
      return Calls.handles(task, places);
    }

    private void checkDone() {
      if (!chain.done) {
        throw new IllegalStateException("the chain has not run; call run() first");
      }
    }

    private Placing.Step placed() {
      List<StoredPlace> places = new ArrayList<>();
      outputs.forEach(each -> places.add(each.destination()));
      return new Placing.Step(task, places);
    }

    private void take(List<Elements> found) {
      result = operator.result(found);
    }
  }
}
