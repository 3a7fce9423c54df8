package io.github.corank;

import io.github.corank.v1.Array;
import io.github.corank.v1.Destination;
import io.github.corank.v1.Operation;
import io.github.corank.v1.OperationResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;

/**
 * An operator on its way: its request without places, the arrays that need places, and its results.
 */
final class Task {
  /** An input, and the field of the request that describes it. */
  record In(String field, Input value, Array.Builder slot, boolean inPieces) {
    long bytes() {
      return value instanceof Elements ? value.byteSize() : 0;
    }
  }

  /**
   * A result.
   *
   * @param count its length; -1: the answer tells it
   * @param most the most elements that it may have; -1: not known
   * @param inPieces whether the server makes it piece by piece from streams
   */
  record Out(
      String field,
      Destination.Builder destination,
      ElementType type,
      int elementBytes,
      long count,
      long most,
      boolean inPieces,
      Function<OperationResult, Array> found) {
    long bytes() {
      return bytesOf(count);
    }

    long mostBytes() {
      return bytesOf(most);
    }

    private long bytesOf(long elements) {
      return elements <= 0
          ? 0
          : elements > Long.MAX_VALUE / 512 ? Long.MAX_VALUE / 2 : elements * elementBytes;
    }
  }

  final Method<?, ?> method;
  final Operation.Builder operation = Operation.newBuilder();
  final List<In> inputs = new ArrayList<>();
  final List<Out> outputs = new ArrayList<>();

  /** The lengths of the outputs, once the answer has come. */
  long[] counts;

  Task(Method<?, ?> method) {
    this.method = method;
  }

  void input(String field, Input value, Array.Builder slot) {
    add(field, value, slot, false);
  }

  /** An input that the server takes in pieces if all of its kind are streams. */
  void pieces(String field, Input value, Array.Builder slot) {
    add(field, value, slot, true);
  }

  private void add(String field, Input value, Array.Builder slot, boolean inPieces) {
    Objects.requireNonNull(value, field);
    slot.setType(value.type().wire());
    if (value.count() >= 0) {
      slot.setCount(value.count());
    }
    if (value.type() == ElementType.RECORD) {
      slot.setRecordBytes(value.elementBytes());
    }
    inputs.add(new In(field, value, slot, inPieces));
  }

  /** An input of counts or offsets. */
  void integers(String field, Input value, Array.Builder slot) {
    Objects.requireNonNull(value, field);
    if (value.type() != ElementType.INT64) {
      throw new CorankException.InvalidArgument(
          field + ": counts and offsets are INT64, these are " + value.type() + "; pass a long[]",
          field);
    }
    add(field, value, slot, false);
  }

  void output(
      String field,
      Destination.Builder destination,
      Input like,
      long count,
      Function<OperationResult, Array> found) {
    add(field, destination, like.type(), like.elementBytes(), count, false, found);
  }

  void output(
      String field,
      Destination.Builder destination,
      ElementType type,
      long count,
      Function<OperationResult, Array> found) {
    add(field, destination, type, type.bytes(), count, false, found);
  }

  void outputInPieces(
      String field,
      Destination.Builder destination,
      Input like,
      long count,
      Function<OperationResult, Array> found) {
    add(field, destination, like.type(), like.elementBytes(), count, true, found);
  }

  /** A result of a sort, which has these rows. */
  void outputInPieces(
      String field,
      Destination.Builder destination,
      Input like,
      FirstRows rows,
      Function<OperationResult, Array> found) {
    outputs.add(
        new Out(
            field,
            destination,
            like.type(),
            like.elementBytes(),
            rows.count(),
            rows.most(),
            true,
            found));
  }

  /** Positions in a sort, the greatest of which is known. */
  void positions(
      String field,
      Destination.Builder destination,
      long greatest,
      FirstRows rows,
      Function<OperationResult, Array> found) {
    ElementType type = positionType(greatest);
    outputs.add(
        new Out(field, destination, type, type.bytes(), rows.count(), rows.most(), true, found));
  }

  /** A result of positions, the greatest of which is known. */
  void positions(
      String field,
      Destination.Builder destination,
      long greatest,
      long count,
      boolean inPieces,
      Function<OperationResult, Array> found) {
    ElementType type = positionType(greatest);
    add(field, destination, type, type.bytes(), count, inPieces, found);
  }

  /** A result whose length only the answer tells. */
  void outputUpTo(
      String field,
      Destination.Builder destination,
      ElementType type,
      long most,
      Function<OperationResult, Array> found) {
    outputs.add(new Out(field, destination, type, type.bytes(), -1, most, false, found));
  }

  /** A result like an input, whose length only the answer tells. */
  void outputUpTo(
      String field,
      Destination.Builder destination,
      Input like,
      long most,
      Function<OperationResult, Array> found) {
    outputs.add(
        new Out(field, destination, like.type(), like.elementBytes(), -1, most, false, found));
  }

  /** A result of one INT64. */
  void number(
      String field, Destination.Builder destination, Function<OperationResult, Array> found) {
    output(field, destination, ElementType.INT64, 1, found);
  }

  private void add(
      String field,
      Destination.Builder destination,
      ElementType type,
      int elementBytes,
      long count,
      boolean inPieces,
      Function<OperationResult, Array> found) {
    outputs.add(new Out(field, destination, type, elementBytes, count, count, inPieces, found));
  }

  /** The type of positions, the greatest of which is known. */
  static ElementType positionType(long greatest) {
    return greatest < 1L << 32 ? ElementType.UINT32 : ElementType.UINT64;
  }
}
