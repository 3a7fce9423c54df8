package io.github.corank;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.rpc.Code;
import io.github.corank.v1.Array;
import io.github.corank.v1.ExecuteRequest;
import io.github.corank.v1.ExecuteResponse;
import io.github.corank.v1.GroupInput;
import io.github.corank.v1.GroupRequest;
import io.github.corank.v1.GroupResponse;
import io.github.corank.v1.Operation;
import io.github.corank.v1.SortOrder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class GroupTest {
  private static final Elements KEYS = Elements.of(new short[] {3, 1, 3});
  private static final Elements VALUES = Elements.of(new float[] {1, 0.5f, 1.5f});

  private final List<GroupRequest> seen = new ArrayList<>();
  private FakeServer server;

  @BeforeEach
  void start() throws IOException {
    server = new FakeServer();
    server.onGroup =
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

  /** What a request asks for, with two groups. */
  private static GroupResponse answer(GroupRequest request) {
    GroupResponse.Builder made = GroupResponse.newBuilder();
    for (var output : request.getOutputsList()) {
      switch (output) {
        case GROUP_OUTPUT_KEYS -> made.setKeys(array(Elements.of(new short[] {1, 3})));
        case GROUP_OUTPUT_COUNTS -> made.setCounts(array(Elements.of(new long[] {1, 2})));
        case GROUP_OUTPUT_FIRSTS ->
            made.setFirsts(array(Elements.of(ElementType.UINT32, new int[] {1, 0})));
        case GROUP_OUTPUT_SUMS -> made.setSums(array(Elements.of(new double[] {0.5, 2.5})));
        case GROUP_OUTPUT_MINIMA -> made.setMinima(array(Elements.of(new float[] {0.5f, 1})));
        case GROUP_OUTPUT_VALUE_COUNTS ->
            made.setValueCounts(array(Elements.of(new long[] {1, 0})));
        default -> made.setMaxima(array(Elements.of(new float[] {0.5f, 1.5f})));
      }
    }
    return made.build();
  }

  @Test
  void returnsTheResultsThatAreNamed() {
    try (Client client = server.client().build()) {
      GroupResult counted = client.run(Group.of(KEYS));
      assertArrayEquals(new short[] {1, 3}, counted.keys().shortArray());
      assertArrayEquals(new long[] {1, 2}, counted.counts().longArray());
      assertNull(counted.sums());
      GroupResult reduced =
          client.run(
              Group.of(KEYS)
                  .values(VALUES)
                  .sorted()
                  .descending()
                  .outputs(GroupOutput.MAXIMA, GroupOutput.SUMS, GroupOutput.FIRSTS));
      assertArrayEquals(new double[] {0.5, 2.5}, reduced.sums().doubleArray());
      assertArrayEquals(new float[] {0.5f, 1.5f}, reduced.maxima().floatArray());
      assertArrayEquals(new long[] {1, 0}, reduced.firsts().positions());
      assertNull(reduced.keys());
      client.run(Group.of(KEYS).runs());
      GroupResult nullable =
          client.run(
              Group.of(KEYS)
                  .values(VALUES)
                  .valuesValidity(Column.packValidity(false, true, false))
                  .outputs(GroupOutput.VALUE_COUNTS));
      assertArrayEquals(new long[] {1, 0}, nullable.valueCounts().longArray());
    }
    assertEquals(
        ByteString.copyFrom(new byte[] {2}), seen.get(3).getValuesValidity().getInlineData());
    assertEquals(SortOrder.SORT_ORDER_UNSPECIFIED, seen.get(0).getOrder());
    assertFalse(seen.get(0).hasValues());
    assertEquals(GroupInput.GROUP_INPUT_SORTED, seen.get(1).getInput());
    assertEquals(SortOrder.SORT_ORDER_DESCENDING, seen.get(1).getOrder());
    assertEquals(3, seen.get(1).getValues().getCount());
    assertEquals(GroupInput.GROUP_INPUT_RUNS, seen.get(2).getInput());
  }

  @Test
  void sumsHaveTheTypeThatTheContractSays() {
    assertEquals(ElementType.INT64, ElementType.INT8.ofSums());
    assertEquals(ElementType.UINT64, ElementType.UINT32.ofSums());
    assertEquals(ElementType.FLOAT64, ElementType.BFLOAT16.ofSums());
  }

  @Test
  void handlesOfKeptGroupsHaveTheLengthThatTheAnswerTells() {
    AtomicInteger calls = new AtomicInteger();
    server.onGroup =
        (request, to) -> {
          if (calls.incrementAndGet() > 1) {
            to.onError(FakeServer.failure(Code.UNAVAILABLE, "gone"));
            return;
          }
          assertEquals("distinct", request.getKeysDestination().getStored().getName());
          Array keys = array(Elements.of(new short[] {1, 3}));
          Array counts = array(Elements.of(new long[] {1, 2}));
          to.onNext(
              GroupResponse.newBuilder()
                  .setKeys(keys.toBuilder().clearInlineData())
                  .setCounts(counts.toBuilder().clearInlineData())
                  .build());
          to.onCompleted();
        };
    try (Client client = server.client().build()) {
      List<StoredArray> kept = client.keep(Group.of(KEYS), "distinct", "numbers");
      assertEquals("StoredArray(distinct, 2 x INT16)", kept.get(0).toString());
      assertEquals(2, kept.get(1).count());
      assertThrows(
          CorankException.Unavailable.class, () -> client.keep(Group.of(KEYS), "distinct", "n"));
      assertEquals(2, calls.get(), "a name may be somebody else's before a second try");
    }
  }

  @Test
  void travelsInChunksIfOneGroupForEachKeyWouldNotFitIntoMessages() {
    Elements counts = Elements.of(new long[] {9_999_999, 1});
    server.onExecute = to -> new Streamed(to, counts);
    try (Client client = server.client().build()) {
      Group group = Group.of(Elements.of(new byte[10_000_000])).outputs(GroupOutput.COUNTS);
      assertArrayEquals(counts.longArray(), client.run(group).counts().longArray());
    }
  }

  /** Answers with these counts once all chunks have come. */
  private record Streamed(StreamObserver<ExecuteResponse> to, Elements counts)
      implements StreamObserver<ExecuteRequest> {
    @Override
    public void onNext(ExecuteRequest request) {}

    @Override
    public void onError(Throwable error) {}

    @Override
    public void onCompleted() {
      ExecuteResponse.Builder made = ExecuteResponse.newBuilder();
      made.getChunkBuilder().setData(counts.slice(0, counts.count()));
      to.onNext(made.build());
      made.getResultBuilder().getGroupBuilder().setCounts(array(counts).toBuilder().clearPlace());
      to.onNext(made.build());
      to.onCompleted();
    }
  }

  @Test
  void refusesGroupsThatCannotBe() {
    try (Client client = server.client().build()) {
      CorankException more =
          assertThrows(
              CorankException.Internal.class,
              () -> client.run(Group.of(Elements.of(new short[] {3}))));
      assertTrue(more.getMessage().contains("2 elements of 1 of keys"), more.getMessage());
      assertThrows(
          CorankException.Internal.class,
          () -> client.run(Group.of(Elements.of(new int[] {3, 1, 3}))));
      CorankException.InvalidArgument missing =
          assertThrows(
              CorankException.InvalidArgument.class,
              () -> client.run(Group.of(KEYS).outputs(GroupOutput.MINIMA)));
      assertEquals("values", missing.field());
    }
  }

  @Test
  void laterOperatorsOfChainsNameNoLengthOfGroups() {
    Array keys = array(Elements.of(new short[] {1, 3}));
    List<Operation> plan = new ArrayList<>();
    server.onExecute =
        to ->
            new StreamObserver<>() {
              @Override
              public void onNext(ExecuteRequest request) {
                plan.addAll(request.getPlan().getOperationsList());
              }

              @Override
              public void onError(Throwable error) {}

              @Override
              public void onCompleted() {
                ExecuteResponse.Builder group = ExecuteResponse.newBuilder();
                group.getResultBuilder().getGroupBuilder().setKeys(keys.toBuilder().clearPlace());
                to.onNext(group.build());
                ExecuteResponse.Builder sorted = ExecuteResponse.newBuilder();
                sorted.getChunkBuilder().setData(keys.getInlineData());
                to.onNext(sorted.build());
                Array streamed = keys.toBuilder().clearPlace().build();
                sorted.getResultBuilder().getSortBuilder().setKeys(streamed);
                to.onNext(sorted.build());
                to.onCompleted();
              }
            };
    try (Client client = server.client().build()) {
      Chain chain = client.chain();
      Chain.Step<GroupResult> group = chain.add(Group.of(KEYS).outputs(GroupOutput.KEYS));
      Pending found = group.output("keys");
      Chain.Step<SortResult> sort = chain.add(Sort.of(found).limit(5));
      assertEquals("Pending(keys, ? x INT16)", found.toString());
      chain.run();
      assertArrayEquals(new short[] {1, 3}, sort.result().keys().shortArray());
    }
    assertTrue(plan.get(1).getSort().getKeys().getStored().getTemporary());
    assertFalse(plan.get(1).getSort().getKeys().hasCount());
    assertEquals(5, plan.get(1).getSort().getLimit());
  }
}
