package io.github.corank;

import io.github.corank.v1.LoadBalanceRequest;
import java.util.List;
import java.util.Objects;

/** Finds, for each work item, the object that made it, and its rank among that object's items. */
public final class LoadBalance extends Operator<LoadBalanceResult> {
  private final Input counts;

  private LoadBalance(Input counts) {
    this.counts = Objects.requireNonNull(counts, "counts");
  }

  /** Balances the items of objects; object i makes counts[i] items, 0 or more. */
  public static LoadBalance of(long... counts) {
    return new LoadBalance(Elements.of(counts));
  }

  /** As {@link #of(long...)}, with INT64 counts that may be on the server. */
  public static LoadBalance of(Input counts) {
    return new LoadBalance(counts);
  }

  @Override
  Task task() {
    Task task = new Task(Method.LOAD_BALANCE);
    LoadBalanceRequest.Builder request = task.operation.getLoadBalanceBuilder();
    task.integers("counts", counts, request.getCountsBuilder());
    long total = Counts.total(counts);
    long greatest = Math.max(counts.count(), total) - 1;
    task.positions(
        "objects",
        request.getObjectsDestinationBuilder(),
        greatest,
        total,
        false,
        found -> found.getLoadBalance().getObjects());
    task.positions(
        "ranks",
        request.getRanksDestinationBuilder(),
        greatest,
        total,
        false,
        found -> found.getLoadBalance().getRanks());
    return task;
  }

  @Override
  LoadBalanceResult result(List<Elements> outputs) {
    return new LoadBalanceResult(outputs.get(0), outputs.get(1));
  }
}
