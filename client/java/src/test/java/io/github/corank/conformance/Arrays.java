package io.github.corank.conformance;

import com.google.gson.JsonObject;
import io.github.corank.ElementType;
import io.github.corank.Elements;
import io.github.corank.StoredArray;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Locale;

/** Arrays of commands and answers. */
final class Arrays {
  private Arrays() {}

  static ElementType type(JsonObject array) {
    return ElementType.valueOf(array.get("type").getAsString().toUpperCase(Locale.ROOT));
  }

  private static String name(ElementType type) {
    return type.name().toLowerCase(Locale.ROOT);
  }

  /**
   * The elements of an array of a command. Data become a primitive array, generated elements a
   * buffer.
   */
  static Elements elements(JsonObject array) {
    ElementType type = type(array);
    int width = type == ElementType.RECORD ? array.get("record_bytes").getAsInt() : type.bytes();
    if (array.has("data")) {
      return primitive(type, width, Base64.getDecoder().decode(array.get("data").getAsString()));
    }
    int count = array.get("count").getAsInt();
    byte[] made =
        array.get("generator").getAsString().equals("ramp")
            ? ramp(array.get("start").getAsLong(), array.get("step").getAsLong(), count, width)
            : hashed(array.get("seed").getAsInt(), count * width);
    ByteBuffer buffer = ByteBuffer.wrap(made);
    return type == ElementType.RECORD ? Elements.records(width, buffer) : Elements.of(type, buffer);
  }

  private static Elements primitive(ElementType type, int width, byte[] data) {
    if (type == ElementType.RECORD) {
      return Elements.records(width, data);
    }
    Elements buffer = Elements.of(type, ByteBuffer.wrap(data));
    return switch (type) {
      case INT8, UINT8 -> Elements.of(type, buffer.byteArray());
      case INT16, UINT16, FLOAT16, BFLOAT16 -> Elements.of(type, buffer.shortArray());
      case INT32, UINT32 -> Elements.of(type, buffer.intArray());
      case INT64, UINT64 -> Elements.of(type, buffer.longArray());
      case FLOAT32 -> Elements.of(buffer.floatArray());
      case FLOAT64 -> Elements.of(buffer.doubleArray());
      default -> throw new IllegalArgumentException(type.toString());
    };
  }

  private static byte[] ramp(long start, long step, int count, int width) {
    byte[] made = new byte[count * width];
    for (int i = 0; i < count; ++i) {
      long value = start + i * step;
      for (int at = 0; at < width; ++at) {
        made[i * width + at] = (byte) (value >> 8 * at);
      }
    }
    return made;
  }

  private static byte[] hashed(int seed, int size) {
    ByteBuffer made = ByteBuffer.allocate((size + 3) / 4 * 4).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; made.hasRemaining(); ++i) {
      int word = seed + i;
      word ^= word >>> 16;
      word *= 0x85ebca6b;
      word ^= word >>> 13;
      word *= 0xc2b2ae35;
      word ^= word >>> 16;
      made.putInt(word);
    }
    return java.util.Arrays.copyOf(made.array(), size);
  }

  /** Elements as an answer holds them. */
  static JsonObject json(Elements elements, boolean isIndex, boolean digest) {
    JsonObject made = new JsonObject();
    boolean isWidened = isIndex && digest && elements.type() != ElementType.FLOAT64;
    Elements told = isWidened ? Elements.of(elements.positions()) : elements;
    made.addProperty("type", name(told.type()));
    made.addProperty("count", told.count());
    if (told.type() == ElementType.RECORD) {
      made.addProperty("record_bytes", told.elementBytes());
    }
    ByteBuffer buffer = told.toByteBuffer();
    if (digest) {
      made.addProperty("sha256", sha256(buffer));
    } else {
      byte[] data = new byte[buffer.remaining()];
      buffer.get(data);
      made.addProperty("data", Base64.getEncoder().encodeToString(data));
    }
    return made;
  }

  private static String sha256(ByteBuffer data) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(data);
      return HexFormat.of().formatHex(digest.digest());
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }

  /** The handle of a kept array as an answer holds it. */
  static JsonObject json(StoredArray array) {
    JsonObject made = new JsonObject();
    made.addProperty("kept", array.name());
    made.addProperty("type", name(array.type()));
    made.addProperty("count", array.count());
    made.addProperty("sharded", array.isSharded());
    if (array.type() == ElementType.RECORD) {
      made.addProperty("record_bytes", array.elementBytes());
    }
    return made;
  }
}
