package io.github.corank;

import io.github.corank.v1.Array;
import io.github.corank.v1.Destination;
import io.github.corank.v1.GroupInput;
import io.github.corank.v1.GroupRequest;
import io.github.corank.v1.GroupResponse;
import io.github.corank.v1.SortOrder;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;

/**
 * Finds the groups of equal keys, counts them, and reduces the values of each. All NaNs are one
 * key, and so are both zeros. Groups come in the order of their keys, or of the array with {@link
 * #runs}.
 */
public final class Group extends Operator<GroupResult> {
  private final Input keys;
  private Input values;
  private Input valuesValidity;
  private GroupInput input = GroupInput.GROUP_INPUT_UNSORTED;
  private SortOrder order = SortOrder.SORT_ORDER_UNSPECIFIED;
  private Set<GroupOutput> outputs = EnumSet.of(GroupOutput.KEYS, GroupOutput.COUNTS);

  private Group(Input keys) {
    this.keys = Objects.requireNonNull(keys, "keys");
  }

  /** Groups keys of any type but records, in any order. */
  public static Group of(Input keys) {
    return new Group(keys);
  }

  /** Reduces values: one number for each key. Only with sums, minima, maxima or value counts. */
  public Group values(Input values) {
    this.values = Objects.requireNonNull(values, "values");
    return this;
  }

  /**
   * Says which values are null. They take no part in sums, minima, maxima and value counts.
   *
   * @param validity as {@link Column#validity} takes it; see {@link Column#packValidity}
   */
  public Group valuesValidity(Input validity) {
    valuesValidity = Objects.requireNonNull(validity, "validity");
    return this;
  }

  /** Returns these results. Default: keys and counts. */
  public Group outputs(GroupOutput first, GroupOutput... others) {
    outputs = EnumSet.of(first, others);
    return this;
  }

  /** Says that the keys are sorted, which the server checks and need not do. */
  public Group sorted() {
    input = GroupInput.GROUP_INPUT_SORTED;
    return this;
  }

  /** Makes a group of each run of equal neighbours: run-length encoding. */
  public Group runs() {
    input = GroupInput.GROUP_INPUT_RUNS;
    return this;
  }

  /** Puts the group of the greatest key first. Not with {@link #runs}. */
  public Group descending() {
    order = SortOrder.SORT_ORDER_DESCENDING;
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.GROUP);
    GroupRequest.Builder request = task.operation.getGroupBuilder();
    request.setInput(input).setOrder(order);
    task.input("keys", keys, request.getKeysBuilder());
    if (values != null) {
      task.input("values", values, request.getValuesBuilder());
    }
    if (valuesValidity != null) {
      task.input("values_validity", valuesValidity, request.getValuesValidityBuilder());
    }
    for (GroupOutput output : outputs) {
      if (values == null && output.needsValues()) {
        throw new CorankException.InvalidArgument(
            "values: missing, but the outputs have " + output, "values");
      }
      request.addOutputs(output.wire());
      add(task, output, request);
    }
    return task;
  }

  private void add(Task task, GroupOutput output, GroupRequest.Builder request) {
    switch (output) {
      case KEYS ->
          add(
              task,
              output,
              request.getKeysDestinationBuilder(),
              keys.type(),
              GroupResponse::getKeys);
      case COUNTS ->
          add(
              task,
              output,
              request.getCountsDestinationBuilder(),
              ElementType.INT64,
              GroupResponse::getCounts);
      case FIRSTS ->
          add(
              task,
              output,
              request.getFirstsDestinationBuilder(),
              Task.positionType(keys.count() - 1),
              GroupResponse::getFirsts);
      case SUMS ->
          add(
              task,
              output,
              request.getSumsDestinationBuilder(),
              values.type().ofSums(),
              GroupResponse::getSums);
      case MINIMA ->
          add(
              task,
              output,
              request.getMinimaDestinationBuilder(),
              values.type(),
              GroupResponse::getMinima);
      case MAXIMA ->
          add(
              task,
              output,
              request.getMaximaDestinationBuilder(),
              values.type(),
              GroupResponse::getMaxima);
      case VALUE_COUNTS ->
          add(
              task,
              output,
              request.getValueCountsDestinationBuilder(),
              ElementType.INT64,
              GroupResponse::getValueCounts);
    }
  }

  private void add(
      Task task,
      GroupOutput output,
      Destination.Builder destination,
      ElementType type,
      Function<GroupResponse, Array> found) {
    String field = output.name().toLowerCase(Locale.ROOT);
    task.outputUpTo(
        field, destination, type, keys.count(), answer -> found.apply(answer.getGroup()));
  }

  @Override
  GroupResult result(List<Elements> made) {
    Elements[] all = new Elements[GroupOutput.values().length];
    Iterator<Elements> next = made.iterator();
    outputs.forEach(output -> all[output.ordinal()] = next.next());
    return new GroupResult(all[0], all[1], all[2], all[3], all[4], all[5], all[6]);
  }
}
