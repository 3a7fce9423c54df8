package io.github.corank;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ElementsTest {
  @Test
  void primitiveArraysBecomeLittleEndianBytes() {
    assertArrayEquals(new byte[] {2, 1}, bytes(Elements.of(new short[] {0x0102})));
    assertArrayEquals(new byte[] {4, 3, 2, 1}, bytes(Elements.of(new int[] {0x01020304})));
    assertArrayEquals(
        new byte[] {8, 7, 6, 5, 4, 3, 2, 1}, bytes(Elements.of(new long[] {0x0102030405060708L})));
    assertArrayEquals(new byte[] {0, 0, (byte) 0x80, 0x3f}, bytes(Elements.of(new float[] {1f})));
    assertArrayEquals(
        new byte[] {0, 0, 0, 0, 0, 0, (byte) 0xf0, 0x3f}, bytes(Elements.of(new double[] {1})));
    assertArrayEquals(new byte[] {1, 2}, bytes(Elements.of(new byte[] {1, 2})));
  }

  private static byte[] bytes(Elements elements) {
    return elements.slice(0, elements.count()).toByteArray();
  }

  @Test
  void bytesAndHeapBuffersAreSentWithoutACopy() {
    byte[] array = {1, 2, 3};
    ByteString sent = Elements.of(ElementType.UINT8, array).slice(1, 2);
    array[1] = 9;
    assertEquals(9, sent.byteAt(0));
    ByteBuffer buffer = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
    sent = Elements.of(ElementType.INT32, buffer).slice(1, 1);
    buffer.putInt(4, 7);
    assertEquals(7, sent.byteAt(0));
  }

  @Test
  void bufferIsReadFromItsPositionToItsLimitWhateverItsOrder() {
    ByteBuffer buffer = ByteBuffer.allocate(12);
    buffer.order(ByteOrder.LITTLE_ENDIAN).putInt(1).putInt(2).putInt(3);
    buffer.order(ByteOrder.BIG_ENDIAN).position(4).limit(12);
    Elements elements = Elements.of(ElementType.INT32, buffer);
    assertArrayEquals(new int[] {2, 3}, elements.intArray());
    assertEquals(4, buffer.position());
  }

  @Test
  void wrongWidthsAreRefusedByName() {
    CorankException.InvalidArgument refused =
        assertThrows(
            CorankException.InvalidArgument.class,
            () -> Elements.of(ElementType.INT64, new int[] {1}));
    assertEquals("type", refused.field());
    assertThrows(
        CorankException.InvalidArgument.class,
        () -> Elements.of(ElementType.INT32, ByteBuffer.allocate(6)));
    assertThrows(CorankException.InvalidArgument.class, () -> Elements.records(257, new byte[257]));
    assertThrows(CorankException.InvalidArgument.class, () -> Elements.records(4, new byte[6]));
    assertThrows(
        CorankException.InvalidArgument.class,
        () -> Elements.of(ElementType.RECORD, ByteBuffer.allocate(6)));
    assertThrows(IllegalStateException.class, () -> Elements.of(new int[] {1}).longArray());
  }

  @Test
  void positionsHaveNoSign() {
    Elements found = Elements.of(ElementType.UINT32, new int[] {-1, 5});
    assertArrayEquals(new long[] {0xffffffffL, 5}, found.positions());
    assertThrows(IllegalStateException.class, () -> Elements.of(new int[] {1}).positions());
  }

  @Test
  void sinkTakesChunksInAnyOrderAndGrows() {
    for (long known : new long[] {3, -1}) {
      Sink sink = new Sink(ElementType.INT32, 4, known);
      sink.write(1, Elements.of(new int[] {20, 30}).slice(0, 2));
      sink.write(0, Elements.of(new int[] {10}).slice(0, 1));
      assertArrayEquals(new int[] {10, 20, 30}, sink.result(3).intArray());
    }
  }

  @Test
  void sinkRefusesWhatIsNoPartOfTheResult() {
    Sink sink = new Sink(ElementType.INT32, 4, 2);
    ByteString one = Elements.of(new int[] {1}).slice(0, 1);
    assertThrows(CorankException.Internal.class, () -> sink.write(2, one));
    assertThrows(CorankException.Internal.class, () -> sink.write(-1, one));
    assertThrows(CorankException.Internal.class, () -> sink.write(0, one.substring(1)));
    sink.write(0, one);
    assertThrows(CorankException.Internal.class, () -> sink.result(2));
  }

  @Test
  void resultWithoutMemoryIsAnErrorOfTheClient() {
    assertThrows(
        CorankException.ResourceExhausted.class,
        () -> new Sink(ElementType.INT64, 8, Integer.MAX_VALUE + 1L));
  }

  @Test
  void chunksOfAllPartsCoverEachArrayOnce() {
    for (int parts : new int[] {1, 2, 3, 7}) {
      for (int count : new int[] {0, 1, 5, 1000}) {
        List<Chunks.Source> sources =
            List.of(
                new Chunks.Source(0, Elements.of(new int[count])),
                new Chunks.Source(1, Elements.records(3, new byte[3 * count])));
        int[][] seen = new int[2][count];
        List<Integer> sizes = new ArrayList<>();
        for (int part = 0; part < parts; ++part) {
          Chunks chunks = new Chunks(sources, part, parts, 64);
          while (chunks.hasNext()) {
            var chunk = chunks.next();
            int width = chunk.getStreamId() == 0 ? 4 : 3;
            sizes.add(chunk.getData().size());
            for (int i = 0; i < chunk.getData().size() / width; ++i) {
              ++seen[chunk.getStreamId()][(int) chunk.getFirstElement() + i];
            }
          }
        }
        int[] once = new int[count];
        java.util.Arrays.fill(once, 1);
        assertArrayEquals(once, seen[0]);
        assertArrayEquals(once, seen[1]);
        assertEquals(true, sizes.stream().allMatch(size -> size <= 64));
      }
    }
  }
}
