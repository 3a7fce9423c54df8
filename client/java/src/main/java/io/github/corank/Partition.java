package io.github.corank;

import io.github.corank.v1.SelectOutput;
import io.github.corank.v1.SelectRequest;
import java.util.List;
import java.util.Objects;

/**
 * Moves the elements that {@link Select} would return to the front, and counts them. Both parts
 * keep their order.
 */
public final class Partition extends Operator<PartitionResult> {
  private final Input elements;
  private final Selection selection;
  private Input values;
  private boolean negate;

  private Partition(Input elements, Selection selection) {
    this.elements = Objects.requireNonNull(elements, "elements");
    this.selection = Objects.requireNonNull(selection, "selection");
  }

  /** Parts elements of any type, records included. */
  public static Partition of(Input elements, Selection selection) {
    return new Partition(elements, selection);
  }

  /** Moves one value with each element, of any type, records included. */
  public Partition values(Input values) {
    this.values = Objects.requireNonNull(values, "values");
    return this;
  }

  /** Moves the other elements to the front. */
  public Partition negate() {
    negate = true;
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.SELECT);
    SelectRequest.Builder request = selection.addTo(task, elements, values, negate);
    request.setPartition(true);
    request.addOutputs(SelectOutput.SELECT_OUTPUT_ELEMENTS);
    request.addOutputs(SelectOutput.SELECT_OUTPUT_COUNT);
    task.output(
        "elements",
        request.getElementsDestinationBuilder(),
        elements,
        elements.count(),
        found -> found.getSelect().getElements());
    if (values != null) {
      task.output(
          "values",
          request.getValuesDestinationBuilder(),
          values,
          elements.count(),
          found -> found.getSelect().getValues());
    }
    task.number(
        "count", request.getCountDestinationBuilder(), found -> found.getSelect().getCount());
    return task;
  }

  @Override
  PartitionResult result(List<Elements> outputs) {
    Elements count = outputs.get(outputs.size() - 1);
    return new PartitionResult(
        outputs.get(0),
        values == null ? null : outputs.get(1),
        count == null ? null : count.longArray()[0]);
  }
}
