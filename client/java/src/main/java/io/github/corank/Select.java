package io.github.corank;

import io.github.corank.v1.SelectOutput;
import io.github.corank.v1.SelectRequest;
import java.util.List;

/**
 * Selects elements by flags, bits, positions or a comparison, and keeps their order: a filter. Only
 * the answer tells how many there are; until then, the server makes room for all elements. {@link
 * Partition} puts the others behind them, and {@link Remove} leaves out those at given positions.
 */
public final class Select extends Selecting<SelectResult, Select> {
  private boolean hasElements = true;
  private boolean hasIndices;

  private Select(Input elements, Selection selection) {
    super(elements, selection);
  }

  /** Selects among elements of any type, records included. */
  public static Select of(Input elements, Selection selection) {
    return new Select(elements, selection);
  }

  /** Returns the positions of the selected elements, in ascending order, instead of them. */
  public Select indices() {
    hasElements = false;
    hasIndices = true;
    return this;
  }

  /** Returns the selected elements and their positions. */
  public Select withIndices() {
    hasElements = true;
    hasIndices = true;
    return this;
  }

  @Override
  Select self() {
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.SELECT);
    SelectRequest.Builder request = addTo(task);
    if (hasElements) {
      request.addOutputs(SelectOutput.SELECT_OUTPUT_ELEMENTS);
      task.outputUpTo(
          "elements",
          request.getElementsDestinationBuilder(),
          elements,
          elements.count(),
          found -> found.getSelect().getElements());
    }
    if (values != null) {
      task.outputUpTo(
          "values",
          request.getValuesDestinationBuilder(),
          values,
          elements.count(),
          found -> found.getSelect().getValues());
    }
    if (hasIndices) {
      request.addOutputs(SelectOutput.SELECT_OUTPUT_INDICES);
      task.outputUpTo(
          "indices",
          request.getIndicesDestinationBuilder(),
          Task.positionType(elements.count() - 1),
          elements.count(),
          found -> found.getSelect().getIndices());
    }
    return task;
  }

  @Override
  SelectResult result(List<Elements> outputs) {
    int at = 0;
    Elements selected = hasElements ? outputs.get(at++) : null;
    Elements moved = values == null ? null : outputs.get(at++);
    return new SelectResult(selected, moved, hasIndices ? outputs.get(at) : null);
  }
}
