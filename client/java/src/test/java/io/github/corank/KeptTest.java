package io.github.corank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.corank.v1.Array;
import io.github.corank.v1.Operation;
import io.github.corank.v1.OperationResult;
import io.github.corank.v1.SortResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

@Timeout(60)
class KeptTest {
  private static final Elements KEYS = Elements.of(new int[] {3, 1, 2});
  private static final CallOptions SHARDED = CallOptions.none().sharded();

  private FakeServer server;

  @BeforeEach
  void start() throws IOException {
    server = new FakeServer();
    Array.Builder keys = Array.newBuilder().setType(ElementType.INT32.wire()).setCount(3);
    server.onSort =
        (call, answer) -> {
          answer.onNext(SortResponse.newBuilder().setKeys(keys).build());
          answer.onCompleted();
        };
  }

  @AfterEach
  void stop() throws InterruptedException {
    server.close();
  }

  @Test
  void shardedArraysAndResultsAreAskedForAndShown() {
    try (Client client = server.client().build()) {
      StoredArray big = client.store("big", KEYS, null, SHARDED);
      assertTrue(big.isSharded());
      assertEquals("StoredArray(big, 3 x INT32, sharded)", big.toString());
      StoredArray ordered = client.keep(Sort.of(big), SHARDED, "ordered").get(0);
      assertTrue(ordered.isSharded());
      assertTrue(server.sorts.get(0).getKeysDestination().getStored().getSharded());
      StoredArray whole = client.keep(Sort.of(KEYS), "whole").get(0);
      assertFalse(whole.isSharded());
      assertFalse(server.sorts.get(1).getKeysDestination().getStored().getSharded());
      assertFalse(client.store("big", KEYS).isSharded());
    }
  }

  @Test
  void stepsOfChainsKeepTheirResultsSharded() {
    List<Operation> plan = new ArrayList<>();
    OperationResult.Builder sorted = OperationResult.newBuilder();
    sorted
        .getSortBuilder()
        .setKeys(Array.newBuilder().setType(ElementType.INT32.wire()).setCount(3));
    server.onChain(plan, sorted.build(), sorted.build());
    try (Client client = server.client().build()) {
      Chain chain = client.chain();
      Chain.Step<SortResult> divided = chain.keepSharded(Sort.of(KEYS), "divided");
      Chain.Step<SortResult> whole = chain.keep(Sort.of(KEYS), "whole");
      chain.run();
      assertTrue(divided.kept().get(0).isSharded());
      assertFalse(whole.kept().get(0).isSharded());
    }
    assertTrue(plan.get(0).getSort().getKeysDestination().getStored().getSharded());
    assertFalse(plan.get(1).getSort().getKeysDestination().getStored().getSharded());
  }

  @Test
  void shardedIsForWhatTheServerKeeps() {
    try (Client client = server.client().build()) {
      Chain chain = client.chain();
      chain.add(Sort.of(KEYS));
      for (Executable call :
          new Executable[] {() -> client.run(Sort.of(KEYS), SHARDED), () -> chain.run(SHARDED)}) {
        var error = assertThrows(CorankException.InvalidArgument.class, call);
        assertEquals("sharded", error.field());
      }
      assertEquals(0, server.sorts.size());
    }
  }
}
