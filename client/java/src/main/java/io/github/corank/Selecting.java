package io.github.corank;

import io.github.corank.v1.SelectRequest;
import java.util.Objects;

/**
 * An operator that takes elements, perhaps with values, and what selects among them.
 *
 * @param <R> the type of its results
 * @param <S> its own type
 */
public abstract sealed class Selecting<R, S extends Selecting<R, S>> extends Operator<R>
    permits Select, Partition {
  final Input elements;
  Input values;
  private final Selection selection;
  private boolean negate;

  Selecting(Input elements, Selection selection) {
    this.elements = Objects.requireNonNull(elements, "elements");
    this.selection = Objects.requireNonNull(selection, "selection");
  }

  /** Moves one value with each element, of any type, records included. */
  public final S values(Input values) {
    this.values = Objects.requireNonNull(values, "values");
    return self();
  }

  /** Takes the elements that are not selected for selected, and the other way round. */
  public final S negate() {
    negate = true;
    return self();
  }

  abstract S self();

  /** Adds the elements, the values and what selects to a request. */
  final SelectRequest.Builder addTo(Task task) {
    return selection.addTo(task, elements, values, negate);
  }
}
