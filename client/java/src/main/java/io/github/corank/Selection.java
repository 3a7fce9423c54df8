package io.github.corank;

import io.github.corank.v1.SelectRequest;
import java.util.Objects;

/**
 * Which elements {@link Select} and {@link Partition} select: by flags, bits, positions or a
 * comparison. Immutable; its array must not change before the calls that read it have ended.
 */
public final class Selection {
  private final String field;
  private final Input by;
  private final Comparison comparison;

  private Selection(String field, Input by, Comparison comparison) {
    this.field = field;
    this.by = Objects.requireNonNull(by, field);
    this.comparison = comparison;
  }

  /**
   * Selects the elements whose flag is true.
   *
   * @param flags one for each element
   */
  public static Selection flags(boolean... flags) {
    byte[] made = new byte[flags.length];
    for (int i = 0; i < made.length; ++i) {
      made[i] = (byte) (flags[i] ? 1 : 0);
    }
    return flags(Elements.of(ElementType.UINT8, made));
  }

  /**
   * Selects the elements whose flag is not 0.
   *
   * @param flags UINT8, one for each element
   */
  public static Selection flags(Input flags) {
    return new Selection("flags", flags, null);
  }

  /**
   * Selects the elements whose bit is 1.
   *
   * @param bitmap UINT8, one byte for each 8 elements or part of 8: bit i % 8 of byte i / 8, the
   *     least significant first, is that of element i
   */
  public static Selection bitmap(Input bitmap) {
    return new Selection("bitmap", bitmap, null);
  }

  /**
   * Selects the elements at these positions.
   *
   * @param positions from 0, in any order; an element that is there twice is selected once
   */
  public static Selection positions(long... positions) {
    return positions(Elements.of(positions));
  }

  /** As {@link #positions(long...)}, with an INT64 array that may be on the server. */
  public static Selection positions(Input positions) {
    return new Selection("positions", positions, null);
  }

  /** Selects the elements, of INT8, that compare so with the threshold. */
  public static Selection where(Comparison comparison, byte threshold) {
    return where(comparison, Elements.of(new byte[] {threshold}));
  }

  /** Selects the elements, of INT16, that compare so with the threshold. */
  public static Selection where(Comparison comparison, short threshold) {
    return where(comparison, Elements.of(new short[] {threshold}));
  }

  /** Selects the elements, of INT32, that compare so with the threshold. */
  public static Selection where(Comparison comparison, int threshold) {
    return where(comparison, Elements.of(new int[] {threshold}));
  }

  /** Selects the elements, of INT64, that compare so with the threshold. */
  public static Selection where(Comparison comparison, long threshold) {
    return where(comparison, Elements.of(new long[] {threshold}));
  }

  /** Selects the elements, of FLOAT32, that compare so with the threshold. */
  public static Selection where(Comparison comparison, float threshold) {
    return where(comparison, Elements.of(new float[] {threshold}));
  }

  /** Selects the elements, of FLOAT64, that compare so with the threshold. */
  public static Selection where(Comparison comparison, double threshold) {
    return where(comparison, Elements.of(new double[] {threshold}));
  }

  /**
   * Selects the elements that compare so with the threshold.
   *
   * @param threshold one element, of the type of the elements, which is any but records
   */
  public static Selection where(Comparison comparison, Input threshold) {
    return new Selection("threshold", threshold, Objects.requireNonNull(comparison, "comparison"));
  }

  /** The elements of a request, and what selects them. */
  SelectRequest.Builder addTo(Task task, Input elements, Input values, boolean negate) {
    SelectRequest.Builder request = task.operation.getSelectBuilder().setNegate(negate);
    task.input("elements", elements, request.getElementsBuilder());
    if (values != null) {
      task.input("values", values, request.getValuesBuilder());
    }
    switch (field) {
      case "flags" -> task.input(field, by, request.getFlagsBuilder());
      case "bitmap" -> task.input(field, by, request.getBitmapBuilder());
      case "positions" -> task.integers(field, by, request.getPositionsBuilder());
      default -> {
        request.setComparison(comparison.wire());
        task.input(field, by, request.getThresholdBuilder());
      }
    }
    return request;
  }
}
