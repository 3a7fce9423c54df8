package io.github.corank;

/** The type of an array's elements. Elements are little-endian on the wire. */
public enum ElementType {
  /** Two's complement, 1 byte; {@code byte[]}. */
  INT8(1),
  /** Two's complement, 2 bytes; {@code short[]}. */
  INT16(2),
  /** Two's complement, 4 bytes; {@code int[]}. */
  INT32(4),
  /** Two's complement, 8 bytes; {@code long[]}. The type of all counts and offsets. */
  INT64(8),
  /** Unsigned, 1 byte, in a {@code byte[]}. */
  UINT8(1),
  /** Unsigned, 2 bytes, in a {@code short[]}. */
  UINT16(2),
  /** Unsigned, 4 bytes, in an {@code int[]}. The type of positions that fit. */
  UINT32(4),
  /** Unsigned, 8 bytes, in a {@code long[]}. The type of all other positions. */
  UINT64(8),
  /** IEEE 754 binary16, in a {@code short[]}. */
  FLOAT16(2),
  /** The upper half of an IEEE 754 binary32, in a {@code short[]}. */
  BFLOAT16(2),
  /** IEEE 754 binary32, 4 bytes; {@code float[]}. */
  FLOAT32(4),
  /** IEEE 754 binary64, 8 bytes; {@code double[]}. */
  FLOAT64(8),
  /** Opaque records of 1 to 256 bytes each, one after the other in a {@code byte[]}. */
  RECORD(0);

  private final int bytes;

  ElementType(int bytes) {
    this.bytes = bytes;
  }

  /** Bytes of one element; 0 for records, whose array says how long they are. */
  public int bytes() {
    return bytes;
  }

  /** The type of the sums of such elements. */
  ElementType ofSums() {
    return switch (this) {
      case UINT8, UINT16, UINT32, UINT64 -> UINT64;
      case FLOAT16, BFLOAT16, FLOAT32, FLOAT64 -> FLOAT64;
      default -> INT64;
    };
  }

  io.github.corank.v1.ElementType wire() {
    return io.github.corank.v1.ElementType.forNumber(ordinal() + 1);
  }

  static ElementType of(io.github.corank.v1.ElementType wire) {
    int at = wire == io.github.corank.v1.ElementType.UNRECOGNIZED ? 0 : wire.getNumber();
    if (at < 1 || at > values().length) {
      throw new CorankException.Internal("the server sent an array of an unknown type, " + wire);
    }
    return values()[at - 1];
  }
}
