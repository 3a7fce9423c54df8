package io.github.corank;

import io.github.corank.v1.StoredPlace;

/** A result of an operator of a {@link Chain}, as an input of later operators of the same chain. */
public final class Pending implements Input {
  private final Chain chain;
  private final String name;
  private final Task.Out output;
  private final StoredPlace kept;
  private boolean taken;

  Pending(Chain chain, String name, Task.Out output, StoredPlace kept) {
    this.chain = chain;
    this.name = name;
    this.output = output;
    this.kept = kept;
  }

  @Override
  public ElementType type() {
    return output.type();
  }

  @Override
  public int elementBytes() {
    return output.elementBytes();
  }

  @Override
  public long count() {
    return output.count();
  }

  Chain chain() {
    return chain;
  }

  void take() {
    taken = true;
  }

  /**
   * The name that the caller gave the result; null: there is none, and it comes back unless a later
   * operator reads it.
   */
  StoredPlace kept() {
    return kept;
  }

  /** Where the server has the result during the chain; null: it comes back. */
  StoredPlace destination() {
    return kept != null || !taken ? kept : temporary();
  }

  StoredPlace place() {
    return kept != null ? kept : temporary();
  }

  private StoredPlace temporary() {
    return StoredPlace.newBuilder().setName(name).setTemporary(true).build();
  }

  @Override
  public String toString() {
    String count = count() < 0 ? "?" : Long.toString(count());
    return "Pending(" + output.field() + ", " + count + " x " + output.type() + ")";
  }
}
