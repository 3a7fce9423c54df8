package io.github.corank;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.github.corank.v1.Array;
import io.github.corank.v1.Operation;
import io.github.corank.v1.OperationResult;
import io.github.corank.v1.RankRequest;
import io.github.corank.v1.RankResponse;
import io.github.corank.v1.SortOrder;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RankTest {
  private static final Elements KEYS = Elements.of(new short[] {7, 1, 7});
  private static final Elements MEANS = Elements.of(new double[] {2.5, 1, 2.5});
  private static final Elements RANKS = Elements.of(ElementType.UINT32, new int[] {2, 1, -1});

  private final List<RankRequest> seen = new ArrayList<>();
  private FakeServer server;

  @BeforeEach
  void start() throws IOException {
    server = new FakeServer();
    server.onRank =
        (request, to) -> {
          seen.add(request);
          boolean isMean = request.getMethod().name().endsWith("AVERAGE");
          Array.Builder ranks = array(isMean ? MEANS : RANKS).toBuilder();
          if (request.getRanksDestination().hasStored()) {
            ranks.clearPlace();
          }
          to.onNext(RankResponse.newBuilder().setRanks(ranks).build());
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

  @Test
  void ranksByEveryMethod() {
    try (Client client = server.client().build()) {
      assertArrayEquals(MEANS.doubleArray(), client.run(Rank.of(KEYS)).doubleArray());
      for (RankMethod method : RankMethod.values()) {
        Elements found = client.run(Rank.of(KEYS).method(method).descending().keysSorted());
        if (method == RankMethod.AVERAGE) {
          assertArrayEquals(MEANS.doubleArray(), found.doubleArray());
        } else {
          assertArrayEquals(new long[] {2, 1, 0xFFFFFFFFL}, found.positions());
        }
        RankRequest request = seen.get(seen.size() - 1);
        assertEquals("RANK_METHOD_" + method, request.getMethod().name());
        assertEquals(SortOrder.SORT_ORDER_DESCENDING, request.getOrder());
        assertTrue(request.getKeysSorted());
        assertEquals(array(KEYS), request.getKeys());
      }
    }
    assertEquals(SortOrder.SORT_ORDER_ASCENDING, seen.get(0).getOrder());
    assertFalse(seen.get(0).getKeysSorted());
  }

  @Test
  void segmentsTravel() {
    try (Client client = server.client().build()) {
      client.run(Rank.of(KEYS).segments(0, 1, 3));
      assertEquals(array(Elements.of(new long[] {0, 1, 3})), seen.get(0).getSegmentOffsets());
      client.run(Rank.of(KEYS));
      assertFalse(seen.get(1).hasSegmentOffsets());
    }
  }

  @Test
  void refusesRanksThatCannotBe() {
    try (Client client = server.client().build()) {
      assertThrows(
          CorankException.InvalidArgument.class, () -> client.run(Rank.of(KEYS).segments(KEYS)));
      Elements two = Elements.of(new short[] {7, 1});
      assertThrows(CorankException.Internal.class, () -> client.run(Rank.of(two)));
      server.onRank =
          (request, to) -> {
            to.onNext(RankResponse.newBuilder().setRanks(array(RANKS)).build());
            to.onCompleted();
          };
      assertThrows(CorankException.Internal.class, () -> client.run(Rank.of(KEYS)));
    }
  }

  @Test
  void keepsRanks() {
    try (Client client = server.client().build()) {
      StoredArray keys = new StoredArray("k", ElementType.FLOAT32, 4, 3, false);
      List<StoredArray> kept = client.keep(Rank.of(keys).method(RankMethod.DENSE), "ranks");
      assertEquals("StoredArray(ranks, 3 x UINT32)", kept.get(0).toString());
      kept = client.keep(Rank.of(KEYS), "means");
      assertEquals("StoredArray(means, 3 x FLOAT64)", kept.get(0).toString());
    }
    assertEquals("k", seen.get(0).getKeys().getStored().getName());
    assertEquals("ranks", seen.get(0).getRanksDestination().getStored().getName());
  }

  @Test
  void laterOperatorsOfChainsTakeRanks() {
    List<Operation> plan = new ArrayList<>();
    OperationResult.Builder ranks = OperationResult.newBuilder();
    ranks.getRankBuilder().setRanks(array(RANKS).toBuilder().clearPlace());
    OperationResult.Builder some = OperationResult.newBuilder();
    some.getSelectBuilder().setElements(array(RANKS).toBuilder().clearPlace());
    OperationResult.Builder means = OperationResult.newBuilder();
    means.getRankBuilder().setRanks(array(MEANS).toBuilder().clearPlace());
    server.onChain(plan, ranks.build(), some.build(), means.build());
    try (Client client = server.client().build()) {
      Chain chain = client.chain();
      Pending all = chain.add(Rank.of(KEYS).method(RankMethod.MIN)).output("ranks");
      assertEquals("Pending(ranks, 3 x UINT32)", all.toString());
      Pending found = chain.add(Select.of(all, Selection.positions(0, 1, 2))).output("elements");
      Chain.Step<Elements> again = chain.keep(Rank.of(found), "means");
      assertEquals("Pending(ranks, ? x FLOAT64)", again.output("ranks").toString());
      chain.run();
      assertEquals("StoredArray(means, 3 x FLOAT64)", again.kept().get(0).toString());
    }
    assertFalse(plan.get(2).getRank().getKeys().hasCount());
  }
}
