package io.github.corank.bench;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.github.corank.CallOptions;
import io.github.corank.Client;
import io.github.corank.ElementType;
import io.github.corank.Elements;
import io.github.corank.Place;
import io.github.corank.Sort;
import io.github.corank.v1.ArrayChunk;
import io.github.corank.v1.CorankServiceGrpc;
import io.github.corank.v1.ExecuteRequest;
import io.github.corank.v1.ExecuteResponse;
import io.github.corank.v1.Plan;
import io.github.corank.v1.SortRequest;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The benchmark program of the Java client; bench/clients/clients_bench.py starts it and says what
 * it does.
 */
public final class Program {
  private static final int IN_FLIGHT = 64;
  private static final int CONNECTIONS = 4;
  private static final int CHUNK_BYTES = 2 << 20;

  /** Works for some seconds; returns what it did in one. */
  private interface Rate {
    double of(double seconds) throws Exception;
  }

  private Program() {}

  /** Answers the commands of stdin. */
  public static void main(String[] arguments) throws IOException {
    boolean isClient = arguments[0].equals("client");
    Map<String, Rate> rates = new HashMap<>();
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonObject command = JsonParser.parseString(line).getAsJsonObject();
      String work = command.get("work").getAsString();
      int n = command.get("n").getAsInt();
      JsonObject answer = new JsonObject();
      try {
        Rate rate = rates.get(work + n);
        if (rate == null) {
          rate = isClient ? clientRate(arguments[1], work, n) : stubRate(arguments[1], work, n);
          rates.put(work + n, rate);
        }
        answer.addProperty("value", rate.of(command.get("seconds").getAsDouble()));
      } catch (Exception error) {
        answer.addProperty("error", error.toString());
      }
      System.out.println(answer);
    }
    System.exit(0);
  }

  private static int[] ascending(int n) {
    int[] made = new int[n];
    for (int i = 0; i < n; ++i) {
      made[i] = i;
    }
    return made;
  }

  private static Rate clientRate(String address, String work, int n) {
    Client client = Client.connect(address);
    int[] x = ascending(n);
    Elements keys = Elements.of(ElementType.UINT32, x);
    if (work.equals("calls")) {
      return callsRate(
          () -> client.submit(Sort.of(keys)),
          result -> java.util.Arrays.equals(result.keys().intArray(), x));
    }
    CallOptions options = CallOptions.none().place(Place.STREAM).connections(CONNECTIONS);
    return streamRate(
        () -> client.run(Sort.of(keys), options).keys().intArray()[n - 1] == n - 1, 4L * n);
  }

  private static Rate stubRate(String address, String work, int n) {
    List<ManagedChannel> channels = new ArrayList<>();
    for (int i = 0; i < CONNECTIONS; ++i) {
      channels.add(
          NettyChannelBuilder.forTarget(address)
              .usePlaintext()
              .maxInboundMessageSize(Integer.MAX_VALUE)
              .build());
    }
    byte[] data = new byte[4 * n];
    ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().put(ascending(n));
    if (work.equals("calls")) {
      SortRequest.Builder request = SortRequest.newBuilder();
      request
          .getKeysBuilder()
          .setType(io.github.corank.v1.ElementType.ELEMENT_TYPE_UINT32)
          .setInlineData(UnsafeByteOperations.unsafeWrap(data));
      SortRequest made = request.build();
      CorankServiceGrpc.CorankServiceFutureStub stub =
          CorankServiceGrpc.newFutureStub(channels.get(0));
      ByteString expected = made.getKeys().getInlineData();
      return callsRate(
          () -> stub.sort(made), result -> result.getKeys().getInlineData().equals(expected));
    }
    return streamRate(() -> carried(channels, data) == data.length, data.length);
  }

  /** Sends a quarter of the bytes over each connection; returns how many came back. */
  private static long carried(List<ManagedChannel> channels, byte[] data)
      throws InterruptedException {
    AtomicLong came = new AtomicLong();
    CountDownLatch ended = new CountDownLatch(CONNECTIONS);
    AtomicReference<Throwable> failed = new AtomicReference<>();
    int share = data.length / CONNECTIONS;
    for (int at = 0; at < CONNECTIONS; ++at) {
      CorankServiceGrpc.newStub(channels.get(at))
          .execute(new Carrier(data, at * share, (at + 1) * share, came, ended, failed));
    }
    ended.await();
    if (failed.get() != null) {
      throw new IllegalStateException(failed.get());
    }
    return came.get();
  }

  /** Sends a range of bytes in chunks, and counts those that come back. */
  private static final class Carrier
      implements ClientResponseObserver<ExecuteRequest, ExecuteResponse> {
    private final byte[] data;
    private final int end;
    private final AtomicLong came;
    private final CountDownLatch ended;
    private final AtomicReference<Throwable> failed;
    private int next;
    private boolean planned;
    private boolean completed;

    Carrier(
        byte[] data,
        int begin,
        int end,
        AtomicLong came,
        CountDownLatch ended,
        AtomicReference<Throwable> failed) {
      this.data = data;
      this.next = begin;
      this.end = end;
      this.came = came;
      this.ended = ended;
      this.failed = failed;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<ExecuteRequest> requests) {
      requests.setOnReadyHandler(() -> send(requests));
    }

    private void send(ClientCallStreamObserver<ExecuteRequest> requests) {
      while (requests.isReady() && !completed) {
        if (!planned) {
          planned = true;
          requests.onNext(ExecuteRequest.newBuilder().setPlan(Plan.getDefaultInstance()).build());
        } else if (next < end) {
          int length = Math.min(CHUNK_BYTES, end - next);
          ArrayChunk.Builder chunk = ArrayChunk.newBuilder().setFirstElement(next / 4);
          chunk.setData(UnsafeByteOperations.unsafeWrap(data, next, length));
          requests.onNext(ExecuteRequest.newBuilder().setChunk(chunk).build());
          next += length;
        } else {
          completed = true;
          requests.onCompleted();
        }
      }
    }

    @Override
    public void onNext(ExecuteResponse response) {
      came.addAndGet(response.getChunk().getData().size());
    }

    @Override
    public void onError(Throwable error) {
      failed.set(error);
      ended.countDown();
    }

    @Override
    public void onCompleted() {
      ended.countDown();
    }
  }

  private interface Check<T> {
    boolean holds(T answer);
  }

  /** Keeps calls in flight for some seconds. Checks the first answer. */
  private static <T> Rate callsRate(Callable<Future<T>> start, Check<T> check) {
    return seconds -> {
      if (!check.holds(start.call().get())) {
        throw new IllegalStateException("wrong answer");
      }
      Queue<Future<T>> waiting = new ArrayDeque<>();
      for (int i = 0; i < IN_FLIGHT; ++i) {
        waiting.add(start.call());
      }
      long begin = System.nanoTime();
      long done = 0;
      while (System.nanoTime() - begin < seconds * 1e9) {
        waiting.remove().get();
        ++done;
        waiting.add(start.call());
      }
      double elapsed = (System.nanoTime() - begin) / 1e9;
      for (Future<T> each : waiting) {
        each.get();
      }
      return done / elapsed;
    };
  }

  /**
   * Carries the large array again and again for some seconds, twice at least. Checks that it came
   * back.
   */
  private static Rate streamRate(Callable<Boolean> carry, long bytes) {
    return seconds -> {
      long begin = System.nanoTime();
      long done = 0;
      while (done < 2 || System.nanoTime() - begin < seconds * 1e9) {
        if (!carry.call()) {
          throw new IllegalStateException("wrong answer");
        }
        ++done;
      }
      return done * bytes / ((System.nanoTime() - begin) / 1e9);
    };
  }
}
