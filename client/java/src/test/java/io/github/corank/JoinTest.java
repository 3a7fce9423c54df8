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
import com.google.rpc.ErrorInfo;
import io.github.corank.v1.Array;
import io.github.corank.v1.JoinRequest;
import io.github.corank.v1.JoinResponse;
import io.github.corank.v1.Operation;
import io.github.corank.v1.OperationResult;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class JoinTest {
  private static final Elements LEFT = Elements.of(new short[] {3, 1, 3});
  private static final Elements RIGHT = Elements.of(new short[] {4, 3});
  private static final Array LEFT_ROWS = array(Elements.of(new int[] {0, 2}));
  private static final Array RIGHT_ROWS = array(Elements.of(new int[] {1, -1}));
  private static final Array COUNT = array(Elements.of(new long[] {2}));

  private final List<JoinRequest> seen = new ArrayList<>();
  private FakeServer server;

  @BeforeEach
  void start() throws IOException {
    server = new FakeServer();
    server.onJoin =
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

  /** Two rows, or what else a request asks for. */
  private static JoinResponse answer(JoinRequest request) {
    JoinResponse.Builder made = JoinResponse.newBuilder();
    if (request.getCountOnly()) {
      return made.setCount(COUNT).build();
    }
    boolean hasRight = request.getKindValue() < io.github.corank.v1.JoinKind.JOIN_KIND_SEMI_VALUE;
    return (hasRight ? made.setRightRows(RIGHT_ROWS) : made).setLeftRows(LEFT_ROWS).build();
  }

  /** The refusal of a join that has more rows than there is room for. */
  private static StatusRuntimeException tooMany(String rows) {
    BadRequest.Builder request = BadRequest.newBuilder();
    request.addFieldViolationsBuilder().setField("max_rows");
    ErrorInfo.Builder info = ErrorInfo.newBuilder().setDomain("corank").setReason("TOO_MANY_ROWS");
    info.putMetadata("rows", rows);
    return FakeServer.failure(
        Code.INVALID_ARGUMENT, "too many rows", request.build(), info.build());
  }

  @Test
  void sendsBothSides() {
    try (Client client = server.client().build()) {
      for (JoinKind kind : JoinKind.values()) {
        JoinResult rows = client.run(Join.of(kind, LEFT, RIGHT));
        assertArrayEquals(new int[] {0, 2}, rows.leftRows().intArray());
        if (kind == JoinKind.SEMI || kind == JoinKind.ANTI) {
          assertNull(rows.rightRows());
        } else {
          assertArrayEquals(new int[] {1, -1}, rows.rightRows().intArray());
        }
        client.run(Join.of(kind, LEFT, RIGHT).rightSorted().maxRows(2));
        assertEquals(2L, client.run(CountJoin.of(kind, LEFT, RIGHT)));
        client.run(CountJoin.of(kind, LEFT, RIGHT).rightSorted());

        assertEquals(List.of(false, false, true, true), all(JoinRequest::getCountOnly));
        assertEquals(List.of(false, true, false, true), all(JoinRequest::getRightSorted));
        assertEquals(List.of(false, true, false, false), all(JoinRequest::hasMaxRows));
        assertEquals(2, seen.get(1).getMaxRows());
        for (JoinRequest request : seen) {
          assertEquals("JOIN_KIND_" + kind, request.getKind().name());
          assertEquals(array(LEFT), request.getLeft());
          assertEquals(array(RIGHT), request.getRight());
        }
        seen.clear();
      }
    }
  }

  private <T> List<T> all(java.util.function.Function<JoinRequest, T> field) {
    return seen.stream().map(field).toList();
  }

  @Test
  void aJoinWithMoreRowsThanBothSidesIsCalledAgainOnce() throws InterruptedException {
    Elements rows = Elements.of(new int[9]);
    server.onJoin =
        (request, to) -> {
          seen.add(request);
          if (request.getMaxRows() < 9) {
            to.onError(tooMany("9"));
            return;
          }
          Array.Builder found = array(rows).toBuilder();
          if (request.getLeftRowsDestination().hasStored()) {
            found.clearPlace();
          }
          to.onNext(JoinResponse.newBuilder().setLeftRows(found).setRightRows(found).build());
          to.onCompleted();
        };
    try (Client client = server.client().build()) {
      Join join = Join.of(JoinKind.INNER, LEFT, LEFT).rightSorted();
      assertEquals(9, client.run(join).rightRows().count());
      assertEquals(List.of(false, true), all(JoinRequest::hasMaxRows));
      assertEquals(List.of(true, true), all(JoinRequest::getRightSorted));
      assertEquals(9, client.submit(join).get().leftRows().count());
      assertEquals(9, client.keep(join, "left", "right").get(1).count());
      assertEquals(6, seen.size(), "an operator may run again");

      Join bounded = Join.of(JoinKind.INNER, LEFT, LEFT).maxRows(8);
      CorankException error =
          assertThrows(CorankException.InvalidArgument.class, () -> client.run(bounded));
      assertEquals("TOO_MANY_ROWS", error.reason());
      assertEquals("max_rows", error.field());
      assertEquals(OptionalLong.of(9), error.rows());
      assertEquals(7, seen.size());
    } catch (ExecutionException error) {
      throw new AssertionError(error);
    }
  }

  @Test
  void aServerThatNamesAnotherNumberEachTimeIsAskedTwice() {
    server.onJoin =
        (request, to) -> {
          seen.add(request);
          to.onError(tooMany(request.hasMaxRows() ? "9" : "8"));
        };
    try (Client client = server.client().build()) {
      Join join = Join.of(JoinKind.INNER, LEFT, LEFT);
      CorankException error = assertThrows(CorankException.class, () -> client.run(join));
      assertEquals(OptionalLong.of(9), error.rows());
      assertEquals(2, seen.size());
      server.onJoin = (request, to) -> to.onError(tooMany("many"));
      error = assertThrows(CorankException.InvalidArgument.class, () -> client.run(join));
      assertEquals("max_rows", error.field());
      assertEquals(OptionalLong.empty(), error.rows());
    }
  }

  @Test
  void resultsHaveAtMostTheRowsForWhichTheServerMakesRoom() {
    long[][] cases = {
      // left, right, wanted (-1: none), inner, left, right, full, semi, anti
      {5, 3, -1, 8, 8, 8, 8, 5, 5},
      {5, 3, 100, 15, 15, 15, 15, 5, 5},
      {5, 3, 4, 4, 4, 4, 4, 4, 4},
      {5, 0, -1, 0, 5, 0, 5, 5, 5},
      {0, 3, -1, 0, 0, 3, 3, 0, 0},
      {-1, 3, -1, -1, -1, -1, -1, -1, -1},
      {5, -1, -1, -1, -1, -1, -1, 5, 5},
      {-1, 3, 7, 7, 7, 7, 7, 7, 7}
    };
    for (long[] each : cases) {
      for (JoinKind kind : JoinKind.values()) {
        Long wanted = each[2] < 0 ? null : Long.valueOf(each[2]);
        assertEquals(each[3 + kind.ordinal()], kind.most(each[0], each[1], wanted), kind.name());
      }
    }
    long huge = 1L << 40;
    assertEquals(Long.MAX_VALUE, JoinKind.INNER.most(huge, huge, Long.MAX_VALUE));
    try (Client client = server.client().build()) {
      Elements one = Elements.of(new short[] {3});
      Join join = Join.of(JoinKind.INNER, one, one);
      CorankException more = assertThrows(CorankException.Internal.class, () -> client.run(join));
      assertTrue(more.getMessage().contains("2 elements of 1 of left_rows"), more.getMessage());
    }
  }

  @Test
  void laterOperatorsOfChainsNameNoNumberOfRows() {
    List<Operation> plan = new ArrayList<>();
    OperationResult.Builder rows = OperationResult.newBuilder();
    rows.getJoinBuilder().setLeftRows(LEFT_ROWS.toBuilder().clearPlace()).setRightRows(RIGHT_ROWS);
    OperationResult.Builder number = OperationResult.newBuilder();
    number.getJoinBuilder().setCount(COUNT);
    server.onChain(plan, rows.build(), number.build());
    try (Client client = server.client().build()) {
      Chain chain = client.chain();
      Chain.Step<JoinResult> join = chain.add(Join.of(JoinKind.LEFT, LEFT, RIGHT).maxRows(4));
      Elements some = Elements.of(new int[] {2});
      Chain.Step<Long> count =
          chain.add(CountJoin.of(JoinKind.INNER, join.output("left_rows"), some));
      chain.run();
      assertEquals(2L, count.result());
      assertNull(join.result().leftRows());
      assertArrayEquals(new int[] {1, -1}, join.result().rightRows().intArray());
    }
    assertEquals(4, plan.get(0).getJoin().getMaxRows());
    JoinRequest second = plan.get(1).getJoin();
    assertTrue(second.getLeft().getStored().getTemporary());
    assertFalse(second.getLeft().hasCount());
    assertTrue(second.getCountOnly());
  }
}
