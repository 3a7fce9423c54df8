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
import io.github.corank.v1.CombineSetsRequest;
import io.github.corank.v1.CombineSetsResponse;
import io.github.corank.v1.Operation;
import io.github.corank.v1.OperationResult;
import io.github.corank.v1.SortOrder;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CombineSetsTest {
  private static final Elements LEFT = Elements.of(new short[] {1, 3, 3});
  private static final Elements RIGHT = Elements.of(new short[] {3, 4});
  private static final Elements RECORDS = Elements.records(3, new byte[9]);
  private static final Array KEYS = array(Elements.of(new short[] {1, 3}));
  private static final Array COUNT = array(Elements.of(new long[] {2}));

  private final List<CombineSetsRequest> seen = new ArrayList<>();
  private FakeServer server;

  @BeforeEach
  void start() throws IOException {
    server = new FakeServer();
    server.onCombineSets =
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

  /** Two keys, or what else a request asks for. */
  private static CombineSetsResponse answer(CombineSetsRequest request) {
    CombineSetsResponse.Builder made = CombineSetsResponse.newBuilder();
    if (request.getCountOnly()) {
      return made.setCount(COUNT).build();
    }
    if (request.hasLeftValues()) {
      Array values = array(Elements.records(3, new byte[] {1, 2, 3, 4, 5, 6}));
      made.setValues(values.toBuilder().setRecordBytes(3));
    }
    return made.setKeys(KEYS).build();
  }

  @Test
  void sendsBothSidesAndTheirValues() {
    try (Client client = server.client().build()) {
      for (SetOperation operation : SetOperation.values()) {
        CombineSetsResult alone = client.run(CombineSets.of(operation, LEFT, RIGHT));
        assertArrayEquals(new short[] {1, 3}, alone.keys().shortArray());
        assertNull(alone.values());
        CombineSets with = CombineSets.of(operation, LEFT, RIGHT).descending();
        boolean fromLeft =
            operation == SetOperation.INTERSECTION || operation == SetOperation.DIFFERENCE;
        Elements ofRight = Elements.records(3, new byte[6]);
        with = fromLeft ? with.values(RECORDS) : with.values(RECORDS, ofRight);
        assertEquals(2, client.run(with).values().count());
        assertEquals(2L, client.run(CountSets.of(operation, LEFT, RIGHT)));
        client.run(CountSets.of(operation, LEFT, RIGHT).descending());

        assertEquals(List.of(false, false, true, true), all(CombineSetsRequest::getCountOnly));
        SortOrder up = SortOrder.SORT_ORDER_ASCENDING;
        SortOrder down = SortOrder.SORT_ORDER_DESCENDING;
        assertEquals(List.of(up, down, up, down), all(CombineSetsRequest::getOrder));
        for (CombineSetsRequest request : seen) {
          assertEquals("SET_OPERATION_" + operation, request.getOperation().name());
          assertEquals(array(LEFT), request.getLeft());
          assertEquals(array(RIGHT), request.getRight());
        }
        assertEquals(3, seen.get(1).getLeftValues().getCount());
        assertEquals(3, seen.get(1).getLeftValues().getRecordBytes());
        assertEquals(fromLeft ? 0 : 2, seen.get(1).getRightValues().getCount());
        assertEquals(!fromLeft, seen.get(1).hasRightValues());
        assertFalse(seen.get(0).hasLeftValues());
        seen.clear();
      }
    }
  }

  private <T> List<T> all(java.util.function.Function<CombineSetsRequest, T> field) {
    return seen.stream().map(field).toList();
  }

  @Test
  void resultsHaveAtMostTheLengthThatTheContractSays() {
    long[][] cases = {
      // left, right, union, intersection, difference, symmetric difference
      {5, 3, 8, 3, 5, 8}, {2, 3, 5, 2, 2, 5}, {-1, 3, -1, 3, -1, -1}, {2, -1, -1, 2, 2, -1}
    };
    for (long[] each : cases) {
      for (SetOperation operation : SetOperation.values()) {
        assertEquals(each[2 + operation.ordinal()], operation.most(each[0], each[1]));
      }
    }
    try (Client client = server.client().build()) {
      Elements one = Elements.of(new short[] {3});
      CorankException more =
          assertThrows(
              CorankException.Internal.class,
              () -> client.run(CombineSets.of(SetOperation.INTERSECTION, LEFT, one)));
      assertTrue(more.getMessage().contains("2 elements of 1 of keys"), more.getMessage());
    }
  }

  @Test
  void keptSetsAreHandlesAndAreNotCombinedTwice() {
    AtomicInteger calls = new AtomicInteger();
    server.onCombineSets =
        (request, to) -> {
          if (calls.incrementAndGet() > 2) {
            to.onError(FakeServer.failure(Code.UNAVAILABLE, "gone"));
            return;
          }
          assertEquals(
              request.getCountOnly() ? "number" : "",
              request.getCountDestination().getStored().getName());
          CombineSetsResponse.Builder made = answer(request).toBuilder();
          made.getKeysBuilder().clearPlace();
          made.getCountBuilder().clearPlace();
          to.onNext(made.build());
          to.onCompleted();
        };
    try (Client client = server.client().build()) {
      CombineSets union = CombineSets.of(SetOperation.UNION, LEFT, RIGHT);
      assertEquals("StoredArray(all, 2 x INT16)", client.keep(union, "all").get(0).toString());
      CountSets count = CountSets.of(SetOperation.UNION, LEFT, RIGHT);
      StoredArray number = client.keep(count, "number").get(0);
      assertEquals("StoredArray(number, 1 x INT64)", number.toString());
      assertThrows(CorankException.Unavailable.class, () -> client.keep(union, "all"));
      assertEquals(3, calls.get(), "a name may be somebody else's before a second try");
    }
  }

  @Test
  void laterOperatorsOfChainsNameNoLengthOfSets() {
    List<Operation> plan = new ArrayList<>();
    OperationResult.Builder kept = OperationResult.newBuilder();
    kept.getCombineSetsBuilder().setKeys(KEYS.toBuilder().clearPlace());
    OperationResult.Builder number = OperationResult.newBuilder();
    number.getCombineSetsBuilder().setCount(COUNT);
    server.onChain(plan, kept.build(), number.build());
    try (Client client = server.client().build()) {
      Chain chain = client.chain();
      Chain.Step<CombineSetsResult> union =
          chain.add(CombineSets.of(SetOperation.UNION, LEFT, RIGHT));
      Pending keys = union.output("keys");
      Chain.Step<Long> count = chain.add(CountSets.of(SetOperation.DIFFERENCE, keys, RIGHT));
      chain.run();
      assertEquals(2L, count.result());
      assertNull(union.result().keys());
    }
    CombineSetsRequest second = plan.get(1).getCombineSets();
    assertTrue(second.getLeft().getStored().getTemporary());
    assertFalse(second.getLeft().hasCount());
    assertTrue(second.getCountOnly());
  }
}
