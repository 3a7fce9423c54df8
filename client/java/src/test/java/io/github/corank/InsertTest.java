package io.github.corank;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.github.corank.v1.Array;
import io.github.corank.v1.GatherIntervalsRequest;
import io.github.corank.v1.GatherIntervalsResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class InsertTest {
  private final List<GatherIntervalsRequest> seen = new ArrayList<>();
  private FakeServer server;

  @BeforeEach
  void start() throws IOException {
    server = new FakeServer();
    server.onGather =
        (request, to) -> {
          seen.add(request);
          to.onNext(GatherIntervalsResponse.newBuilder().setResult(gathered(request)).build());
          to.onCompleted();
        };
  }

  @AfterEach
  void stop() throws InterruptedException {
    server.close();
  }

  private static long[] longs(Array array) {
    ByteBuffer data = array.getInlineData().asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    long[] made = new long[(int) array.getCount()];
    data.asLongBuffer().get(made);
    return made;
  }

  private static Array gathered(GatherIntervalsRequest request) {
    byte[] source = request.getSource().getInlineData().toByteArray();
    int width = (int) (source.length / Math.max(1, request.getSource().getCount()));
    long[] offsets = longs(request.getSourceOffsets());
    long[] counts = longs(request.getCounts());
    ByteArrayOutputStream into = new ByteArrayOutputStream();
    for (int i = 0; i < counts.length; ++i) {
      into.write(source, (int) offsets[i] * width, (int) counts[i] * width);
    }
    Array.Builder made = request.getSource().toBuilder();
    made.setInlineData(ByteString.copyFrom(into.toByteArray()));
    return made.setCount(Arrays.stream(counts).sum()).build();
  }

  /** Each inserted element before the one at its position, in their order. */
  private static List<Integer> expected(int[] elements, long[] positions, int[] inserted) {
    List<Integer> made = new ArrayList<>();
    for (int at = 0; at <= elements.length; ++at) {
      for (int i = 0; i < positions.length; ++i) {
        if (positions[i] == at) {
          made.add(inserted[i]);
        }
      }
      if (at < elements.length) {
        made.add(elements[at]);
      }
    }
    return made;
  }

  @Test
  void insertsBeforePositionsInAnyOrder() {
    Random random = new Random(7);
    try (Client client = server.client().build()) {
      for (int turn = 0; turn < 60; ++turn) {
        int[] elements = random.ints(turn % 12).toArray();
        int[] inserted = random.ints(turn % 7).toArray();
        long[] positions = random.longs(inserted.length, 0, elements.length + 1).toArray();
        if (turn % 3 == 0) {
          Arrays.sort(positions);
        }
        Insert insert = Insert.of(Elements.of(elements), positions, Elements.of(inserted));
        int[] found = client.run(insert).intArray();
        List<Integer> wanted = expected(elements, positions, inserted);
        assertEquals(wanted, Arrays.stream(found).boxed().toList(), "turn " + turn);
      }
    }
  }

  @Test
  void neighboursShareAnInterval() {
    try (Client client = server.client().build()) {
      Elements few = Elements.of(new byte[] {1, 2, 3});
      Elements more = Elements.of(new byte[] {10, 20, 30, 40, 50});
      byte[] found = client.run(Insert.of(few, new long[] {3, 0, 1, 3, 0}, more)).byteArray();
      assertArrayEquals(new byte[] {20, 50, 1, 30, 2, 3, 10, 40}, found);
      client.run(Insert.of(few, new long[] {1, 1, 1, 1, 1}, more));
      client.run(Insert.of(few, new long[0], Elements.of(new byte[0])));
      client.run(Insert.of(few, new long[] {3, 3, 3, 3, 3}, more));
    }
    assertArrayEquals(new long[] {0, 3, 1}, longs(seen.get(1).getSourceOffsets()));
    assertArrayEquals(new long[] {1, 5, 2}, longs(seen.get(1).getCounts()));
    assertArrayEquals(new long[] {3}, longs(seen.get(2).getCounts()));
    assertArrayEquals(new long[] {8}, longs(seen.get(3).getCounts()), "in the order of the source");
  }

  @Test
  void takesElementsOfEveryType() {
    byte[] bytes = new byte[24 * 17];
    new Random(5).nextBytes(bytes);
    byte[] more = new byte[24];
    new Random(6).nextBytes(more);
    try (Client client = server.client().build()) {
      for (ElementType type : ElementType.values()) {
        int width = type == ElementType.RECORD ? 24 : type.bytes();
        Elements elements = elements(type, bytes);
        Elements inserted = elements(type, more);
        long[] positions = new long[(int) inserted.count()];
        Arrays.fill(positions, 3);
        Elements found = client.run(Insert.of(elements, positions, inserted));
        ByteBuffer wanted = ByteBuffer.allocate(bytes.length + more.length);
        wanted.put(bytes, 0, 3 * width).put(more);
        wanted.put(bytes, 3 * width, bytes.length - 3 * width).flip();
        assertEquals(wanted, found.toByteBuffer(), type.name());
        assertEquals(type, found.type());
      }
    }
  }

  private static Elements elements(ElementType type, byte[] bytes) {
    return type == ElementType.RECORD
        ? Elements.records(24, bytes)
        : Elements.of(type, ByteBuffer.wrap(bytes));
  }

  @Test
  void copiesLongArraysPieceByPiece() {
    long[] first = new Random(8).longs(200_001).toArray();
    long[] second = new Random(9).longs(65_536).toArray();
    long[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    assertArrayEquals(both, Elements.of(first).followedBy(Elements.of(second)).longArray());
  }

  @Test
  void refusesPositionsAndTypesBeforeTheCall() {
    Elements few = Elements.of(new short[] {1, 2, 3});
    Elements two = Elements.of(new short[] {7, 8});
    assertEquals("positions[1]", refused(few, new long[] {3, 4}, two));
    assertEquals("positions[0]", refused(few, new long[] {-1, 4}, two));
    assertEquals("positions", refused(few, new long[] {1}, two));
    assertEquals("inserted", refused(few, new long[] {1, 1}, Elements.of(new int[] {7, 8})));
    Elements records = Elements.records(2, new byte[4]);
    assertEquals("inserted", refused(records, new long[] {1}, Elements.records(3, new byte[3])));
    assertTrue(seen.isEmpty());
  }

  private String refused(Elements elements, long[] positions, Elements inserted) {
    try (Client client = server.client().build()) {
      Insert insert = Insert.of(elements, positions, inserted);
      CorankException error =
          assertThrows(CorankException.InvalidArgument.class, () -> client.run(insert));
      assertTrue(error.getMessage().startsWith(error.field() + ": "), error.getMessage());
      return error.field();
    }
  }
}
