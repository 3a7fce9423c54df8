package io.github.corank;

import java.util.List;

/** Removes the elements at many positions at once. The others keep their order. */
public final class Remove extends Operator<SelectResult> {
  private final Select others;

  private Remove(Input elements, Selection positions) {
    others = Select.of(elements, positions).negate();
  }

  /**
   * Removes elements of any type, records included.
   *
   * @param positions from 0, in any order; they may repeat
   */
  public static Remove of(Input elements, long... positions) {
    return new Remove(elements, Selection.positions(positions));
  }

  /** As {@link #of(Input, long...)}, with an INT64 array that may be on the server. */
  public static Remove of(Input elements, Input positions) {
    return new Remove(elements, Selection.positions(positions));
  }

  /** Keeps or removes one value with each element, of any type, records included. */
  public Remove values(Input values) {
    others.values(values);
    return this;
  }

  @Override
  Task task() {
    return others.task();
  }

  @Override
  SelectResult result(List<Elements> outputs) {
    return others.result(outputs);
  }
}
