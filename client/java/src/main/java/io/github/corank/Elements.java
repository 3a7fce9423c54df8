package io.github.corank;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Objects;

/**
 * A one-dimensional array of this process: a primitive array, or a {@link ByteBuffer} of
 * little-endian elements.
 *
 * <p>The array is not copied. Do not change it before the calls that read it have ended; until then
 * the client may send it again. Results are new primitive arrays, which belong to the caller.
 */
public final class Elements implements Input {
  private static final int MAX_RECORD_BYTES = 256;
  private static final int COPIED_ELEMENTS = 1 << 16; // bounds what a copy takes beside its result

  private final ElementType type;
  private final int elementBytes;
  private final long count;
  private final Object data;

  private Elements(ElementType type, int elementBytes, long count, Object data) {
    this.type = type;
    this.elementBytes = elementBytes;
    this.count = count;
    this.data = data;
  }

  /** Wraps INT8 elements. */
  public static Elements of(byte[] elements) {
    return of(ElementType.INT8, elements);
  }

  /** Wraps INT16 elements. */
  public static Elements of(short[] elements) {
    return of(ElementType.INT16, elements);
  }

  /** Wraps INT32 elements. */
  public static Elements of(int[] elements) {
    return of(ElementType.INT32, elements);
  }

  /** Wraps INT64 elements. */
  public static Elements of(long[] elements) {
    return of(ElementType.INT64, elements);
  }

  /** Wraps FLOAT32 elements. */
  public static Elements of(float[] elements) {
    return new Elements(ElementType.FLOAT32, 4, elements.length, elements);
  }

  /** Wraps FLOAT64 elements. */
  public static Elements of(double[] elements) {
    return new Elements(ElementType.FLOAT64, 8, elements.length, elements);
  }

  /**
   * Wraps elements of INT8 or UINT8.
   *
   * @throws CorankException.InvalidArgument elements of the type have another width
   */
  public static Elements of(ElementType type, byte[] elements) {
    return new Elements(checked(type, 1), 1, elements.length, elements);
  }

  /**
   * Wraps elements of INT16, UINT16, FLOAT16 or BFLOAT16.
   *
   * @throws CorankException.InvalidArgument elements of the type have another width
   */
  public static Elements of(ElementType type, short[] elements) {
    return new Elements(checked(type, 2), 2, elements.length, elements);
  }

  /**
   * Wraps elements of INT32 or UINT32, or the bits of FLOAT32.
   *
   * @throws CorankException.InvalidArgument elements of the type have another width
   */
  public static Elements of(ElementType type, int[] elements) {
    return new Elements(checked(type, 4), 4, elements.length, elements);
  }

  /**
   * Wraps elements of INT64 or UINT64, or the bits of FLOAT64.
   *
   * @throws CorankException.InvalidArgument elements of the type have another width
   */
  public static Elements of(ElementType type, long[] elements) {
    return new Elements(checked(type, 8), 8, elements.length, elements);
  }

  /**
   * Wraps the little-endian elements from the buffer's position to its limit, whatever its byte
   * order. The bytes of a heap buffer are sent as they are, those of a direct buffer after one
   * copy.
   *
   * @throws CorankException.InvalidArgument the bytes are not a whole number of elements, or the
   *     type is RECORD
   */
  public static Elements of(ElementType type, ByteBuffer elements) {
    if (type == ElementType.RECORD) {
      throw invalid("elements: say how long a record is: Elements.records(recordBytes, buffer)");
    }
    return wrapped(type, type.bytes(), elements.slice());
  }

  /**
   * Wraps records, one after the other.
   *
   * @param recordBytes bytes of a record, 1 to 256
   * @throws CorankException.InvalidArgument the bytes are not a whole number of records
   */
  public static Elements records(int recordBytes, byte[] records) {
    checkRecord(recordBytes, records.length);
    return new Elements(ElementType.RECORD, recordBytes, records.length / recordBytes, records);
  }

  /**
   * Wraps records, one after the other, from the buffer's position to its limit.
   *
   * @param recordBytes bytes of a record, 1 to 256
   * @throws CorankException.InvalidArgument the bytes are not a whole number of records
   */
  public static Elements records(int recordBytes, ByteBuffer records) {
    checkRecord(recordBytes, records.remaining());
    return wrapped(ElementType.RECORD, recordBytes, records.slice());
  }

  private static void checkRecord(int recordBytes, int length) {
    if (recordBytes < 1 || recordBytes > MAX_RECORD_BYTES) {
      throw invalid("recordBytes: must be 1 to 256, is " + recordBytes);
    }
    if (length % recordBytes != 0) {
      throw invalid(
          "records: "
              + length
              + " bytes are no whole number of records of "
              + recordBytes
              + " bytes");
    }
  }

  private static Elements wrapped(ElementType type, int width, ByteBuffer data) {
    if (data.remaining() % width != 0) {
      throw invalid(
          "elements: "
              + data.remaining()
              + " bytes are no whole number of elements of "
              + width
              + " bytes");
    }
    return new Elements(type, width, data.remaining() / width, data);
  }

  private static ElementType checked(ElementType type, int width) {
    if (Objects.requireNonNull(type, "type").bytes() != width) {
      throw invalid(
          "type: " + type + " elements do not have " + width + " bytes, as those of this array do");
    }
    return type;
  }

  private static CorankException invalid(String message) {
    return new CorankException.InvalidArgument(message, message.substring(0, message.indexOf(':')));
  }

  /** A result of the server: a new primitive array, as its type wants it. */
  static Elements result(ElementType type, int elementBytes, long count, Object data) {
    return new Elements(type, elementBytes, count, data);
  }

  @Override
  public ElementType type() {
    return type;
  }

  @Override
  public long count() {
    return count;
  }

  @Override
  public int elementBytes() {
    return elementBytes;
  }

  /**
   * The elements of INT8, UINT8 or records: the array itself, or a copy of a buffer.
   *
   * @throws IllegalStateException they are no bytes
   */
  public byte[] byteArray() {
    if (data instanceof byte[] array) {
      return array;
    }
    byte[] made = new byte[lengthOf(type == ElementType.RECORD ? elementBytes : 1)];
    buffer().get(made);
    return made;
  }

  /**
   * The elements, or their bits, of a type of 2 bytes: the array itself, or a copy of a buffer.
   *
   * @throws IllegalStateException elements have another width
   */
  public short[] shortArray() {
    if (data instanceof short[] array) {
      return array;
    }
    short[] made = new short[lengthOf(2)];
    buffer().asShortBuffer().get(made);
    return made;
  }

  /**
   * The elements of INT32 or UINT32, or the bits of FLOAT32: the array itself, or a copy.
   *
   * @throws IllegalStateException elements have another width
   */
  public int[] intArray() {
    if (data instanceof int[] array) {
      return array;
    }
    int[] made = new int[lengthOf(4)];
    toByteBuffer().asIntBuffer().get(made);
    return made;
  }

  /**
   * The elements of INT64 or UINT64, or the bits of FLOAT64: the array itself, or a copy.
   *
   * @throws IllegalStateException elements have another width
   */
  public long[] longArray() {
    if (data instanceof long[] array) {
      return array;
    }
    long[] made = new long[lengthOf(8)];
    toByteBuffer().asLongBuffer().get(made);
    return made;
  }

  /**
   * The elements of FLOAT32: the array itself, or a copy.
   *
   * @throws IllegalStateException elements have another width
   */
  public float[] floatArray() {
    if (data instanceof float[] array) {
      return array;
    }
    float[] made = new float[lengthOf(4)];
    toByteBuffer().asFloatBuffer().get(made);
    return made;
  }

  /**
   * The elements of FLOAT64: the array itself, or a copy.
   *
   * @throws IllegalStateException elements have another width
   */
  public double[] doubleArray() {
    if (data instanceof double[] array) {
      return array;
    }
    double[] made = new double[lengthOf(8)];
    toByteBuffer().asDoubleBuffer().get(made);
    return made;
  }

  /**
   * The positions of a result as numbers that have a sign: UINT32 as long. Java has no unsigned
   * types; an {@code int[]} from {@link #intArray} serves as it is while the indexed array has less
   * than 2^31 elements.
   *
   * @throws IllegalStateException the type is neither UINT32 nor UINT64
   */
  public long[] positions() {
    if (type == ElementType.UINT64) {
      return longArray();
    }
    if (type != ElementType.UINT32) {
      throw new IllegalStateException(type + " elements are no positions");
    }
    int[] found = intArray();
    long[] made = new long[found.length];
    for (int i = 0; i < made.length; ++i) {
      made[i] = Integer.toUnsignedLong(found[i]);
    }
    return made;
  }

  /**
   * The little-endian bytes of all elements, read only where the array is the caller's own buffer
   * or bytes; otherwise a copy.
   *
   * @throws IllegalStateException they have more than 2^31 - 1 bytes
   */
  public ByteBuffer toByteBuffer() {
    return slice(0, count).asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  private ByteBuffer buffer() {
    if (data instanceof ByteBuffer buffer) {
      return buffer.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    }
    throw new IllegalStateException(
        "elements are of " + type + ", in a " + data.getClass().getSimpleName());
  }

  private int lengthOf(int width) {
    if (width != elementBytes) {
      throw new IllegalStateException(
          type + " elements have " + elementBytes + " bytes, not " + width);
    }
    return type == ElementType.RECORD ? Math.toIntExact(byteSize()) : (int) count;
  }

  /** The bytes of a range: a view where the elements are bytes already, otherwise one bulk copy. */
  ByteString slice(long first, long length) {
    if (length * elementBytes > Integer.MAX_VALUE) {
      throw new IllegalStateException(
          "the elements have " + length * elementBytes + " bytes, more than a buffer holds");
    }
    int from = (int) first;
    int elements = (int) length;
    if (data instanceof ByteBuffer buffer) {
      return UnsafeByteOperations.unsafeWrap(
          buffer.slice(from * elementBytes, elements * elementBytes));
    }
    if (data instanceof byte[] array) {
      return UnsafeByteOperations.unsafeWrap(array, from * elementBytes, elements * elementBytes);
    }
    byte[] bytes = new byte[elements * elementBytes];
    ByteBuffer into = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    if (data instanceof int[] array) {
      into.asIntBuffer().put(array, from, elements);
    } else if (data instanceof float[] array) {
      into.asFloatBuffer().put(array, from, elements);
    } else if (data instanceof long[] array) {
      into.asLongBuffer().put(array, from, elements);
    } else if (data instanceof double[] array) {
      into.asDoubleBuffer().put(array, from, elements);
    } else {
      into.asShortBuffer().put((short[]) data, from, elements);
    }
    return UnsafeByteOperations.unsafeWrap(bytes);
  }

  /**
   * A copy of these elements and then others of the same type.
   *
   * @throws CorankException.ResourceExhausted there is no memory, or Java has no array as long
   */
  Elements followedBy(Elements others) {
    Sink sink = new Sink(type, elementBytes, count + others.count);
    long at = 0;
    for (Elements each : List.of(this, others)) {
      for (long first = 0; first < each.count; first += COPIED_ELEMENTS) {
        long length = Math.min(COPIED_ELEMENTS, each.count - first);
        sink.write(at + first, each.slice(first, length));
      }
      at += each.count;
    }
    return sink.result(at);
  }

  @Override
  public String toString() {
    return "Elements(" + count + " x " + type + ")";
  }
}
