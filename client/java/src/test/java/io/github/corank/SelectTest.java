package io.github.corank;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.rpc.BadRequest;
import com.google.rpc.Code;
import io.github.corank.v1.Array;
import io.github.corank.v1.ExecuteRequest;
import io.github.corank.v1.ExecuteResponse;
import io.github.corank.v1.Operation;
import io.github.corank.v1.OperationResult;
import io.github.corank.v1.SelectOutput;
import io.github.corank.v1.SelectRequest;
import io.github.corank.v1.SelectResponse;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SelectTest {
  private static final Elements ELEMENTS = Elements.of(new short[] {7, 1, 7, 9});
  private static final Elements VALUES = Elements.records(3, "aaabbbcccddd".getBytes());

  private final List<SelectRequest> seen = new ArrayList<>();
  private FakeServer server;

  @BeforeEach
  void start() throws IOException {
    server = new FakeServer();
    server.onSelect =
        (request, to) -> {
          seen.add(request);
          to.onNext(answer(request));
          to.onCompleted();
        };
  }

  @AfterEach
  void stop() throws InterruptedException {
    server.close();
  }

  private static Array array(Elements elements) {
    ByteString data = elements.slice(0, elements.count());
    Array.Builder made = Array.newBuilder().setType(elements.type().wire());
    return made.setCount(elements.count()).setInlineData(data).build();
  }

  private static ByteBuffer data(Array array) {
    return array.getInlineData().asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Whether element i of a request is selected. Elements that a threshold selects are INT16. */
  private static boolean isSelected(SelectRequest request, int i) {
    boolean is;
    if (request.hasFlags()) {
      is = data(request.getFlags()).get(i) != 0;
    } else if (request.hasBitmap()) {
      is = (data(request.getBitmap()).get(i / 8) >> i % 8 & 1) == 1;
    } else if (request.hasPositions()) {
      ByteBuffer positions = data(request.getPositions());
      is = IntStream.range(0, positions.limit() / 8).anyMatch(at -> positions.getLong(8 * at) == i);
    } else {
      int order =
          Short.compare(
              data(request.getElements()).getShort(2 * i),
              data(request.getThreshold()).getShort(0));
      is =
          switch (request.getComparison()) {
            case COMPARISON_LESS -> order < 0;
            case COMPARISON_EQUAL -> order == 0;
            case COMPARISON_LESS_OR_EQUAL -> order <= 0;
            case COMPARISON_GREATER -> order > 0;
            case COMPARISON_NOT_EQUAL -> order != 0;
            case COMPARISON_GREATER_OR_EQUAL -> order >= 0;
            default -> throw new AssertionError(request.getComparison());
          };
    }
    return is != request.getNegate();
  }

  /** Answers as the contract says. */
  private static SelectResponse answer(SelectRequest request) {
    List<Integer> order = new ArrayList<>();
    int count = (int) request.getElements().getCount();
    IntStream.range(0, count).filter(i -> isSelected(request, i)).forEach(order::add);
    int selected = order.size();
    if (request.getPartition()) {
      IntStream.range(0, count).filter(i -> !isSelected(request, i)).forEach(order::add);
    }
    SelectResponse.Builder made = SelectResponse.newBuilder();
    if (request.getOutputsList().contains(SelectOutput.SELECT_OUTPUT_ELEMENTS)) {
      made.setElements(taken(request.getElements(), order));
    }
    if (request.hasValues()) {
      made.setValues(taken(request.getValues(), order));
    }
    if (request.getOutputsList().contains(SelectOutput.SELECT_OUTPUT_INDICES)) {
      int[] indices = order.stream().mapToInt(Integer::intValue).toArray();
      made.setIndices(array(Elements.of(ElementType.UINT32, indices)));
    }
    if (request.getOutputsList().contains(SelectOutput.SELECT_OUTPUT_COUNT)) {
      made.setCount(array(Elements.of(new long[] {selected})));
    }
    return made.build();
  }

  private static Array taken(Array from, List<Integer> order) {
    byte[] bytes = from.getInlineData().toByteArray();
    int width = (int) (bytes.length / from.getCount());
    ByteArrayOutputStream into = new ByteArrayOutputStream();
    order.forEach(at -> into.write(bytes, at * width, width));
    ByteString data = ByteString.copyFrom(into.toByteArray());
    return from.toBuilder().setCount(order.size()).setInlineData(data).build();
  }

  @Test
  void selectsByFlagsBitsAndPositions() {
    Elements bits = Elements.of(ElementType.UINT8, new byte[] {0b1011});
    List<Selection> all =
        List.of(
            Selection.flags(true, true, false, true),
            Selection.flags(Elements.of(ElementType.UINT8, new byte[] {1, -1, 0, 64})),
            Selection.bitmap(bits),
            Selection.positions(3, 0, 1, 0),
            Selection.positions(Elements.of(new long[] {1, 3, 0})));
    try (Client client = server.client().build()) {
      for (Selection by : all) {
        SelectResult found = client.run(Select.of(ELEMENTS, by));
        assertArrayEquals(new short[] {7, 1, 9}, found.elements().shortArray());
        assertNull(found.values());
        assertNull(found.indices());

        found = client.run(Select.of(ELEMENTS, by).values(VALUES).withIndices());
        assertArrayEquals(new short[] {7, 1, 9}, found.elements().shortArray());
        assertArrayEquals("aaabbbddd".getBytes(), found.values().byteArray());
        assertArrayEquals(new long[] {0, 1, 3}, found.indices().positions());

        found = client.run(Select.of(ELEMENTS, by).negate().indices());
        assertArrayEquals(new long[] {2}, found.indices().positions());
        assertNull(found.elements());

        found = client.run(Select.of(VALUES, by).values(ELEMENTS).indices());
        assertArrayEquals(new short[] {7, 1, 9}, found.values().shortArray());
        assertArrayEquals(new long[] {0, 1, 3}, found.indices().positions());
      }
    }
    for (SelectRequest request : seen) {
      assertEquals(0, request.getComparisonValue());
      assertFalse(request.getPartition());
      int given = request.hasFlags() ? 1 : 0;
      given += (request.hasBitmap() ? 1 : 0) + (request.hasPositions() ? 1 : 0);
      assertEquals(1, given);
    }
    assertEquals(3, seen.get(1).getValues().getRecordBytes());
  }

  @Test
  void selectsByComparison() {
    Map<Comparison, short[]> all =
        Map.of(
            Comparison.LESS, new short[] {1},
            Comparison.EQUAL, new short[] {7, 7},
            Comparison.LESS_OR_EQUAL, new short[] {7, 1, 7},
            Comparison.GREATER, new short[] {9},
            Comparison.NOT_EQUAL, new short[] {1, 9},
            Comparison.GREATER_OR_EQUAL, new short[] {7, 7, 9});
    assertEquals(Comparison.values().length, all.size());
    try (Client client = server.client().build()) {
      all.forEach(
          (comparison, expected) -> {
            Select select = Select.of(ELEMENTS, Selection.where(comparison, (short) 7));
            assertArrayEquals(expected, client.run(select).elements().shortArray());
          });
    }
  }

  @Test
  void thresholdsHaveTheTypeOfTheirNumber() {
    List<Selection> all =
        List.of(
            Selection.where(Comparison.LESS, (byte) 7),
            Selection.where(Comparison.LESS, (short) 7),
            Selection.where(Comparison.LESS, 7),
            Selection.where(Comparison.LESS, 7L),
            Selection.where(Comparison.LESS, 7f),
            Selection.where(Comparison.LESS, 7.0),
            Selection.where(Comparison.LESS, Elements.of(ElementType.UINT32, new int[] {7})));
    List<Elements> expected =
        List.of(
            Elements.of(new byte[] {7}),
            Elements.of(new short[] {7}),
            Elements.of(new int[] {7}),
            Elements.of(new long[] {7}),
            Elements.of(new float[] {7}),
            Elements.of(new double[] {7}),
            Elements.of(ElementType.UINT32, new int[] {7}));
    for (int at = 0; at < all.size(); ++at) {
      Task task = Select.of(ELEMENTS, all.get(at)).task();
      Elements threshold = (Elements) task.inputs.get(1).value();
      assertEquals(array(expected.get(at)), array(threshold));
    }
  }

  @Test
  void partitionsAndRemoves() {
    Selection by = Selection.where(Comparison.EQUAL, (short) 7);
    try (Client client = server.client().build()) {
      PartitionResult parts = client.run(Partition.of(ELEMENTS, by).values(VALUES));
      assertArrayEquals(new short[] {7, 7, 1, 9}, parts.elements().shortArray());
      assertArrayEquals("aaacccbbbddd".getBytes(), parts.values().byteArray());
      assertEquals(2L, parts.selected());
      parts = client.run(Partition.of(ELEMENTS, Selection.positions(3)).negate());
      assertArrayEquals(new short[] {7, 1, 7, 9}, parts.elements().shortArray());
      assertEquals(3L, parts.selected());
      assertNull(parts.values());

      SelectResult rest = client.run(Remove.of(ELEMENTS, 3, 0, 3).values(VALUES));
      assertArrayEquals(new short[] {1, 7}, rest.elements().shortArray());
      assertArrayEquals("bbbccc".getBytes(), rest.values().byteArray());
      rest = client.run(Remove.of(ELEMENTS, Elements.of(new long[0])));
      assertArrayEquals(ELEMENTS.shortArray(), rest.elements().shortArray());
    }
    assertTrue(seen.get(0).getPartition());
    assertTrue(seen.get(2).getNegate());
  }

  @Test
  void refusesWhatCannotBe() {
    assertEquals(
        "positions",
        assertThrows(
                CorankException.InvalidArgument.class,
                () -> Remove.of(ELEMENTS, Elements.of(new int[] {1})).task())
            .field());
    SelectResponse many = SelectResponse.newBuilder().setElements(array(ELEMENTS)).build();
    server.onSelect =
        (request, to) -> {
          to.onNext(many);
          to.onCompleted();
        };
    try (Client client = server.client().build()) {
      Elements two = Elements.of(new short[] {1, 2});
      Selection both = Selection.positions(0, 1);
      CorankException more =
          assertThrows(CorankException.Internal.class, () -> client.run(Select.of(two, both)));
      assertTrue(more.getMessage().contains("4 elements of 2 of elements"), more.getMessage());
      Elements other = Elements.of(new int[5]);
      assertThrows(CorankException.Internal.class, () -> client.run(Select.of(other, both)));
      assertThrows(CorankException.Internal.class, () -> client.run(Partition.of(two, both)));

      BadRequest.Builder blamed = BadRequest.newBuilder();
      blamed.addFieldViolationsBuilder().setField("positions[1]");
      server.onSelect =
          (request, to) ->
              to.onError(
                  FakeServer.failure(Code.INVALID_ARGUMENT, "is no element", blamed.build()));
      CorankException error =
          assertThrows(
              CorankException.InvalidArgument.class, () -> client.run(Remove.of(two, 0, 2)));
      assertEquals("positions[1]", error.field());
    }
  }

  @Test
  void cancelsTheCallOfAFuture() throws InterruptedException {
    server.onSelect = (request, to) -> seen.add(request);
    try (Client client = server.client().build()) {
      CompletableFuture<SelectResult> future =
          client.submit(Select.of(ELEMENTS, Selection.positions(0)));
      future.cancel(true);
      assertTrue(seen.isEmpty() || server.cancelled.await(10, TimeUnit.SECONDS));
    }
  }

  @Test
  void handlesOfKeptElementsHaveTheLengthThatTheAnswerTells() {
    server.onSelect =
        (request, to) -> {
          seen.add(request);
          Array some = array(Elements.of(new short[] {7, 9})).toBuilder().clearPlace().build();
          to.onNext(SelectResponse.newBuilder().setElements(some).setValues(some).build());
          to.onCompleted();
        };
    try (Client client = server.client().build()) {
      Selection by = Selection.positions(0, 3);
      List<StoredArray> kept =
          client.keep(Select.of(ELEMENTS, by).values(ELEMENTS), "some", "their values");
      assertEquals("StoredArray(some, 2 x INT16)", kept.get(0).toString());
      assertEquals(2, kept.get(1).count());
      Selection stored = Selection.flags(new StoredArray("f", ElementType.UINT8, 1, 4, false));
      client.keep(Select.of(new StoredArray("e", ElementType.INT16, 2, 4, false), stored), "some");
    }
    assertEquals("some", seen.get(0).getElementsDestination().getStored().getName());
    assertEquals("their values", seen.get(0).getValuesDestination().getStored().getName());
    assertEquals("e", seen.get(1).getElements().getStored().getName());
    assertEquals("f", seen.get(1).getFlags().getStored().getName());
  }

  @Test
  void laterOperatorsOfChainsNameNoNumberOfSelectedElements() {
    List<Operation> plan = new ArrayList<>();
    OperationResult.Builder some = OperationResult.newBuilder();
    some.getSelectBuilder().setElements(array(ELEMENTS).toBuilder().setCount(3).clearPlace());
    OperationResult.Builder parts = OperationResult.newBuilder();
    Array.Builder parted = array(ELEMENTS).toBuilder().setCount(3).clearPlace();
    Array.Builder number = array(Elements.of(new long[1])).toBuilder().clearPlace();
    parts.getSelectBuilder().setElements(parted).setCount(number);
    server.onChain(plan, some.build(), parts.build());
    try (Client client = server.client().build()) {
      Chain chain = client.chain();
      Chain.Step<SelectResult> select =
          chain.add(
              Select.of(ELEMENTS, Selection.bitmap(Elements.of(ElementType.UINT8, new byte[1]))));
      Pending found = select.output("elements");
      assertEquals("Pending(elements, ? x INT16)", found.toString());
      Chain.Step<PartitionResult> partition =
          chain.keep(
              Partition.of(found, Selection.where(Comparison.GREATER, (short) 5)),
              "parts",
              "number");
      chain.run();
      assertEquals(
          "[StoredArray(parts, 3 x INT16), StoredArray(number, 1 x INT64)]",
          partition.kept().toString());
      assertNull(partition.result().selected());
      assertNull(select.result().elements());
    }
    SelectRequest last = plan.get(1).getSelect();
    assertTrue(last.getElements().getStored().getTemporary());
    assertFalse(last.getElements().hasCount());
    assertEquals(2, last.getThreshold().getInlineData().size());
  }

  @Test
  void travelsInChunksIfAllElementsWouldNotFitIntoMessages() {
    byte[] flags = new byte[10_000_000];
    flags[4] = 1;
    List<Operation> plan = new ArrayList<>();
    server.onExecute = to -> new Streamed(to, plan);
    try (Client client = server.client().build()) {
      Elements elements = Elements.of(new long[flags.length]);
      Select select = Select.of(elements, Selection.flags(Elements.of(ElementType.UINT8, flags)));
      assertArrayEquals(new long[] {17}, client.run(select).elements().longArray());
    }
    SelectRequest request = plan.get(0).getSelect();
    assertTrue(request.getElements().hasStream());
    assertTrue(request.getFlags().hasStream());
    assertTrue(request.getElementsDestination().hasStream());
  }

  /** Answers with one element once all chunks have come. */
  private record Streamed(StreamObserver<ExecuteResponse> to, List<Operation> plan)
      implements StreamObserver<ExecuteRequest> {
    @Override
    public void onNext(ExecuteRequest request) {
      plan.addAll(request.getPlan().getOperationsList());
    }

    @Override
    public void onError(Throwable error) {}

    @Override
    public void onCompleted() {
      Array one = array(Elements.of(new long[] {17}));
      ExecuteResponse.Builder made = ExecuteResponse.newBuilder();
      made.getChunkBuilder().setData(one.getInlineData());
      to.onNext(made.build());
      made.getResultBuilder().getSelectBuilder().setElements(one.toBuilder().clearPlace());
      to.onNext(made.build());
      to.onCompleted();
    }
  }
}
