package io.github.corank;

import io.github.corank.v1.SelectOutput;
import io.github.corank.v1.SelectRequest;
import java.util.List;

/**
 * Moves the elements that {@link Select} would return to the front, and counts them. Both parts
 * keep their order.
 */
public final class Partition extends Selecting<PartitionResult, Partition> {
  private Partition(Input elements, Selection selection) {
    super(elements, selection);
  }

  /** Parts elements of any type, records included. */
  public static Partition of(Input elements, Selection selection) {
    return new Partition(elements, selection);
  }

  @Override
  Partition self() {
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.SELECT);
    SelectRequest.Builder request = addTo(task);
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
