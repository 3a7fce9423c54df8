package io.github.corank;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.rpc.BadRequest;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.github.corank.v1.Array;
import io.github.corank.v1.ExecuteRequest;
import io.github.corank.v1.ExecuteResponse;
import io.github.corank.v1.SortResponse;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ClientTest {
  private FakeServer server;

  @BeforeEach
  void start() throws IOException {
    server = new FakeServer();
  }

  @AfterEach
  void stop() throws InterruptedException {
    server.close();
  }

  private static SortResponse keys(ElementType type, byte... bytes) {
    Array.Builder keys = Array.newBuilder().setType(type.wire());
    keys.setInlineData(ByteString.copyFrom(bytes));
    return SortResponse.newBuilder().setKeys(keys).build();
  }

  private static void answer(StreamObserver<SortResponse> to, SortResponse response) {
    to.onNext(response);
    to.onCompleted();
  }

  @Test
  void sendsLittleEndianKeysAndTakesSuchResults() {
    server.onSort =
        (n, to) -> answer(to, keys(ElementType.INT32, new byte[] {1, 0, 0, 0, 2, 1, 0, 0}));
    try (Client client = server.client().build()) {
      assertArrayEquals(new int[] {1, 258}, client.sort(258, 1));
    }
    assertArrayEquals(
        new byte[] {2, 1, 0, 0, 1, 0, 0, 0},
        server.sorts.get(0).getKeys().getInlineData().toByteArray());
    assertEquals(2, server.sorts.get(0).getKeys().getCount());
  }

  @Test
  void errorTellsFieldReasonAndCode() {
    BadRequest.Builder bad = BadRequest.newBuilder();
    bad.addFieldViolationsBuilder().setField("segment_offsets[2]");
    ErrorInfo info = ErrorInfo.newBuilder().setDomain("corank").setReason("OUT_OF_ORDER").build();
    ErrorInfo other = ErrorInfo.newBuilder().setDomain("proxy").setReason("MINE").build();
    server.onSort =
        (n, to) ->
            to.onError(
                FakeServer.failure(Code.INVALID_ARGUMENT, "falls", bad.build(), info, other));
    try (Client client = server.client().build()) {
      CorankException.InvalidArgument error =
          assertThrows(
              CorankException.InvalidArgument.class,
              () -> client.run(Sort.of(Elements.of(new int[2])).segments(0, 2, 1)));
      assertEquals("segment_offsets[2]", error.field());
      assertEquals("OUT_OF_ORDER", error.reason());
      assertEquals(Status.Code.INVALID_ARGUMENT, error.code());
      assertEquals("Sort: segment_offsets[2]: falls", error.getMessage());
      assertTrue(
          java.util.Arrays.stream(error.getStackTrace())
              .anyMatch(frame -> frame.getClassName().equals(ClientTest.class.getName())));
    }
    assertEquals(1, server.sorts.size());
  }

  /** A clock on which no time passes but that of the waits. */
  private static final class FakeClock extends Clock {
    private long now;

    @Override
    synchronized long nanos() {
      return now;
    }

    @Override
    void after(long nanos, Runnable task) {
      synchronized (this) {
        now += nanos;
      }
      CompletableFuture.runAsync(task);
    }

    @Override
    double random() {
      return 0.5;
    }
  }

  @Test
  void waitsAsLongAsTheServerAsksAndTriesAgain() {
    RetryInfo.Builder delay = RetryInfo.newBuilder();
    delay.getRetryDelayBuilder().setSeconds(7);
    server.onSort =
        (n, to) -> {
          if (n == 1) {
            to.onError(FakeServer.failure(Code.UNAVAILABLE, "drains", delay.build()));
          } else {
            answer(to, keys(ElementType.INT32, new byte[4]));
          }
        };
    FakeClock clock = new FakeClock();
    AtomicReference<Stats> stats = new AtomicReference<>();
    try (Client client = server.client().clock(clock).build()) {
      client.run(Sort.of(Elements.of(new int[1])), CallOptions.none().onStats(stats::set));
    }
    assertEquals(2, stats.get().attempts());
    assertTrue(clock.nanos() >= TimeUnit.SECONDS.toNanos(7), "waited " + clock.nanos());
  }

  @Test
  void budgetEndsTheRetriesOfAFailingServer() {
    RetryInfo.Builder delay = RetryInfo.newBuilder();
    delay.getRetryDelayBuilder().setNanos(1);
    server.onSort =
        (n, to) -> to.onError(FakeServer.failure(Code.RESOURCE_EXHAUSTED, "full", delay.build()));
    try (Client client = server.client().clock(new FakeClock()).build()) {
      for (int i = 0; i < 20; ++i) {
        assertThrows(CorankException.ResourceExhausted.class, () -> client.sort(1));
      }
    }
    // The first call takes 6 tokens for 5 retries, the second 4 for 3: half of the budget is gone.
    assertEquals(20 + 5 + 3, server.sorts.size());
  }

  @Test
  void serverThatWouldBeLateSaysWhy() {
    for (String reason : new String[] {"DEADLINE_UNREACHABLE", "DEADLINE_PASSED"}) {
      ErrorInfo info = ErrorInfo.newBuilder().setReason(reason).setDomain("corank").build();
      server.onSort =
          (n, to) -> to.onError(FakeServer.failure(Code.DEADLINE_EXCEEDED, "too busy", info));
      try (Client client = server.client().build()) {
        CorankException error =
            assertThrows(CorankException.DeadlineExceeded.class, () -> client.sort(1));
        boolean isLate = reason.equals("DEADLINE_PASSED");
        String text = isLate ? "not done within its deadline" : "Sort: too busy";
        assertTrue(error.getMessage().contains(text), error.getMessage());
      }
    }
  }

  @Test
  void fullQuotaIsNotTriedAgain() {
    server.onSort = (n, to) -> to.onError(FakeServer.failure(Code.RESOURCE_EXHAUSTED, "quota"));
    try (Client client = server.client().build()) {
      CorankException error =
          assertThrows(CorankException.ResourceExhausted.class, () -> client.sort(1));
      assertEquals(1, error.attempts());
      assertTrue(error.retryAfter().isEmpty());
    }
  }

  @Test
  void cancelledFutureCancelsTheCallOfTheServer() throws InterruptedException {
    server.onSort = (n, to) -> {};
    try (Client client = server.client().build()) {
      CompletableFuture<SortResult> future = client.submit(Sort.of(Elements.of(new int[1])));
      while (server.sorts.isEmpty()) {
        Thread.sleep(1);
      }
      future.cancel(true);
      assertThrows(CancellationException.class, future::join);
      assertTrue(server.cancelled.await(10, TimeUnit.SECONDS));
    }
  }

  @Test
  void interruptCancelsTheCallOfTheServer() throws InterruptedException {
    server.onSort = (n, to) -> {};
    try (Client client = server.client().build()) {
      AtomicReference<Throwable> thrown = new AtomicReference<>();
      Thread caller =
          new Thread(
              () -> {
                try {
                  client.sort(1);
                } catch (CorankException error) {
                  thrown.set(error);
                }
              });
      caller.start();
      while (server.sorts.isEmpty()) {
        Thread.sleep(1);
      }
      caller.interrupt();
      caller.join();
      assertEquals(CorankException.Cancelled.class, thrown.get().getClass());
      assertTrue(server.cancelled.await(10, TimeUnit.SECONDS));
    }
  }

  @Test
  void deadlineCoversTheCall() {
    server.onSort = (n, to) -> {};
    try (Client client = server.client().build()) {
      CallOptions brief = CallOptions.none().deadline(Duration.ofMillis(50));
      assertThrows(
          CorankException.DeadlineExceeded.class,
          () -> client.run(Sort.of(Elements.of(new int[1])), brief));
    }
  }

  @Test
  void closeCancelsCallsAndLaterOnesSayThatTheClientIsClosed() throws InterruptedException {
    server.onSort = (n, to) -> {};
    Client client = server.client().build();
    CompletableFuture<SortResult> future = client.submit(Sort.of(Elements.of(new int[1])));
    while (server.sorts.isEmpty()) {
      Thread.sleep(1);
    }
    client.close();
    Throwable cause =
        assertThrows(java.util.concurrent.CompletionException.class, future::join).getCause();
    assertEquals(CorankException.Cancelled.class, cause.getClass());
    assertThrows(IllegalStateException.class, () -> client.sort(1));
    assertThrows(IllegalStateException.class, client::info);
    assertThrows(IllegalStateException.class, client::arrays);
  }

  @Test
  void answerThatIsNoResultIsAnErrorOfTheServer() {
    SortResponse[] wrong = {
      SortResponse.getDefaultInstance(),
      keys(ElementType.INT32, new byte[3]),
      keys(ElementType.INT64, new byte[8]),
      keys(ElementType.INT32, new byte[8])
    };
    server.onSort = (n, to) -> answer(to, wrong[n - 1]);
    try (Client client = server.client().build()) {
      for (int i = 0; i < wrong.length; ++i) {
        assertThrows(CorankException.Internal.class, () -> client.sort(1));
      }
    }
  }

  /** Takes all requests of an Execute call, and then does something. */
  private static StreamObserver<ExecuteRequest> afterAll(Runnable then) {
    return new StreamObserver<>() {
      @Override
      public void onNext(ExecuteRequest request) {}

      @Override
      public void onError(Throwable error) {}

      @Override
      public void onCompleted() {
        then.run();
      }
    };
  }

  private static final CallOptions STREAM = CallOptions.none().place(Place.STREAM);

  @Test
  void truncatedStreamIsAnErrorOfTheServer() {
    server.onExecute = to -> afterAll(to::onCompleted);
    try (Client client = server.client().build()) {
      Sort sort = Sort.of(Elements.of(new int[100_000]));
      assertThrows(CorankException.Internal.class, () -> client.run(sort, STREAM));
      server.onExecute =
          to ->
              afterAll(
                  () -> {
                    ExecuteResponse.Builder answer = ExecuteResponse.newBuilder();
                    answer
                        .getResultBuilder()
                        .getSortBuilder()
                        .getKeysBuilder()
                        .setType(ElementType.INT32.wire())
                        .setCount(100_000);
                    to.onNext(answer.build());
                    to.onCompleted();
                  });
      assertThrows(CorankException.Internal.class, () -> client.run(sort, STREAM));
    }
  }

  @Test
  void exceptionOfAProgressFunctionFailsTheCall() {
    server.onExecute = to -> afterAll(to::onCompleted);
    CallOptions options =
        STREAM.onProgress(
            progress -> {
              throw new UnsupportedOperationException("mine");
            });
    try (Client client = server.client().build()) {
      assertThrows(
          UnsupportedOperationException.class,
          () -> client.run(Sort.of(Elements.of(new int[100_000])), options));
    }
  }

  @Test
  void failedPartCancelsTheOthers() throws InterruptedException {
    AtomicInteger parts = new AtomicInteger();
    CountDownLatch cancelled = new CountDownLatch(2);
    server.onExecute =
        to -> {
          if (parts.incrementAndGet() == 3) {
            to.onError(FakeServer.failure(Code.INVALID_ARGUMENT, "no"));
          } else {
            ((ServerCallStreamObserver<ExecuteResponse>) to)
                .setOnCancelHandler(cancelled::countDown);
          }
          return afterAll(() -> {});
        };
    try (Client client = server.client().build()) {
      assertThrows(
          CorankException.InvalidArgument.class,
          () -> client.run(Sort.of(Elements.of(new int[1 << 20])), STREAM.connections(3)));
      assertTrue(cancelled.await(10, TimeUnit.SECONDS));
    }
  }

  @Test
  void serverThatIsNotCorankIsUnavailable() throws IOException, InterruptedException {
    try (ServerSocket other = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
      Thread answers =
          new Thread(
              () -> {
                try {
                  while (true) {
                    Socket socket = other.accept();
                    socket
                        .getOutputStream()
                        .write(
                            "HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                    socket.close();
                  }
                } catch (IOException closed) {
                  // The test is over.
                }
              });
      answers.start();
      CallOptions once = CallOptions.none().retries(0);
      String address = "127.0.0.1:" + other.getLocalPort();
      try (Client client =
          Client.builder().environment(Map.of()).address(address).defaults(once).build()) {
        CorankException error =
            assertThrows(CorankException.Unavailable.class, () -> client.sort(1));
        assertTrue(error.getMessage().contains("be no corank server"), error.getMessage());
      }
      other.close();
      answers.join();
    }
  }

  @Test
  void tokenIsReadAgainWhenTheServerRefusesIt(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("token");
    Files.writeString(file, "old\n");
    server.onSort =
        (n, to) -> {
          String sent = server.headers.get(n - 1).get(Caller.AUTHORIZATION);
          if (sent.equals("Bearer new")) {
            answer(to, keys(ElementType.INT32, new byte[4]));
          } else {
            try {
              Files.writeString(file, "new\n");
            } catch (IOException error) {
              throw new IllegalStateException(error);
            }
            to.onError(FakeServer.failure(Code.UNAUTHENTICATED, "unknown token"));
          }
        };
    try (Client client = server.client().tokenFile(file).build()) {
      client.sort(1);
    }
    assertEquals(2, server.sorts.size());
  }

  @Test
  void tokenWithoutTlsStaysOnThisHost() {
    for (String address : new String[] {"gpu.example:50051", "127.0.0.1:1,10.0.0.1:1"}) {
      ClientBuilder builder = Client.builder().environment(Map.of()).address(address).token("t");
      assertThrows(CorankException.InvalidArgument.class, builder::build);
    }
    for (String address : new String[] {"localhost:1", "[::1]:1", "dns:///127.0.0.1:1"}) {
      Client.builder().environment(Map.of()).address(address).token("t").build().close();
    }
  }

  @Test
  void addressesNeedPorts() {
    for (String address :
        new String[] {"host", "host:", "::1", "host:99999", "http://host:1", "a:1,b"}) {
      ClientBuilder builder = Client.builder().environment(Map.of()).address(address);
      CorankException error = assertThrows(CorankException.InvalidArgument.class, builder::build);
      assertEquals("address", error.field(), address);
    }
  }

  @Test
  void requestIdAndTraceparentTravelAsMetadata() {
    server.onSort = (n, to) -> answer(to, keys(ElementType.INT32, new byte[4]));
    String parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    try (Client client = server.client().build()) {
      CallOptions options = CallOptions.none().requestId("mine.1").traceparent(parent);
      client.run(Sort.of(Elements.of(new int[1])), options);
    }
    assertEquals("mine.1", server.headers.get(0).get(Errors.REQUEST_ID));
    assertEquals(parent, server.headers.get(0).get(Caller.TRACEPARENT));
  }

  @Test
  void closedClientsLeaveNoThreads() throws InterruptedException {
    server.onSort = (n, to) -> answer(to, keys(ElementType.INT32, new byte[4]));
    int before = 0;
    for (int i = 0; i < 30; ++i) {
      try (Client client = server.client().build()) {
        client.sort(1);
      }
      before = i == 4 ? Thread.activeCount() : before;
    }
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (Thread.activeCount() > before && System.nanoTime() < end) {
      Thread.sleep(20);
    }
    assertTrue(Thread.activeCount() <= before, Thread.activeCount() + " threads, before " + before);
  }
}
