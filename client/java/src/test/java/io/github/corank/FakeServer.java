package io.github.corank;

import com.google.protobuf.Any;
import com.google.protobuf.Message;
import com.google.rpc.Code;
import io.github.corank.v1.CombineSetsRequest;
import io.github.corank.v1.CombineSetsResponse;
import io.github.corank.v1.CorankServiceGrpc;
import io.github.corank.v1.ExecuteRequest;
import io.github.corank.v1.ExecuteResponse;
import io.github.corank.v1.GatherIntervalsRequest;
import io.github.corank.v1.GatherIntervalsResponse;
import io.github.corank.v1.GetServerInfoRequest;
import io.github.corank.v1.GetServerInfoResponse;
import io.github.corank.v1.GroupRequest;
import io.github.corank.v1.GroupResponse;
import io.github.corank.v1.JoinRequest;
import io.github.corank.v1.JoinResponse;
import io.github.corank.v1.MemoryServiceGrpc;
import io.github.corank.v1.Operation;
import io.github.corank.v1.OperationResult;
import io.github.corank.v1.RankRequest;
import io.github.corank.v1.RankResponse;
import io.github.corank.v1.SelectRequest;
import io.github.corank.v1.SelectResponse;
import io.github.corank.v1.SortRequest;
import io.github.corank.v1.SortResponse;
import io.github.corank.v1.StoreArrayHeader;
import io.github.corank.v1.StoreArrayRequest;
import io.github.corank.v1.StoreArrayResponse;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Function;

/** A server whose answers the test decides. */
final class FakeServer extends CorankServiceGrpc.CorankServiceImplBase implements AutoCloseable {
  final List<Metadata> headers = Collections.synchronizedList(new ArrayList<>());
  final List<SortRequest> sorts = Collections.synchronizedList(new ArrayList<>());
  final CountDownLatch cancelled = new CountDownLatch(1);

  /** Answers Sort number n, from 1; it may leave it without an answer. */
  BiConsumer<Integer, StreamObserver<SortResponse>> onSort;

  /** Answers Group. */
  BiConsumer<GroupRequest, StreamObserver<GroupResponse>> onGroup;

  /** Answers CombineSets. */
  BiConsumer<CombineSetsRequest, StreamObserver<CombineSetsResponse>> onCombineSets;

  /** Answers Join. */
  BiConsumer<JoinRequest, StreamObserver<JoinResponse>> onJoin;

  /** Answers Select. */
  BiConsumer<SelectRequest, StreamObserver<SelectResponse>> onSelect;

  /** Answers Rank. */
  BiConsumer<RankRequest, StreamObserver<RankResponse>> onRank;

  /** Answers GatherIntervals. */
  BiConsumer<GatherIntervalsRequest, StreamObserver<GatherIntervalsResponse>> onGather;

  /** Answers Execute. */
  Function<StreamObserver<ExecuteResponse>, StreamObserver<ExecuteRequest>> onExecute;

  private final Server server;

  FakeServer() throws IOException {
    ServerInterceptor noted =
        new ServerInterceptor() {
          @Override
          public <Q, A> ServerCall.Listener<Q> interceptCall(
              ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
            headers.add(metadata);
            return next.startCall(call, metadata);
          }
        };
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .addService(this)
            .addService(new Memory())
            .intercept(noted)
            .build()
            .start();
  }

  String address() {
    return "127.0.0.1:" + server.getPort();
  }

  /** A client without the environment of the test run. */
  ClientBuilder client() {
    return Client.builder().environment(java.util.Map.of()).address(address());
  }

  @Override
  public void sort(SortRequest request, StreamObserver<SortResponse> answer) {
    ((ServerCallStreamObserver<SortResponse>) answer).setOnCancelHandler(cancelled::countDown);
    sorts.add(request);
    onSort.accept(sorts.size(), answer);
  }

  @Override
  public void group(GroupRequest request, StreamObserver<GroupResponse> answer) {
    onGroup.accept(request, answer);
  }

  @Override
  public void combineSets(CombineSetsRequest request, StreamObserver<CombineSetsResponse> answer) {
    onCombineSets.accept(request, answer);
  }

  @Override
  public void join(JoinRequest request, StreamObserver<JoinResponse> answer) {
    onJoin.accept(request, answer);
  }

  @Override
  public void select(SelectRequest request, StreamObserver<SelectResponse> answer) {
    ((ServerCallStreamObserver<SelectResponse>) answer).setOnCancelHandler(cancelled::countDown);
    onSelect.accept(request, answer);
  }

  @Override
  public void rank(RankRequest request, StreamObserver<RankResponse> answer) {
    onRank.accept(request, answer);
  }

  @Override
  public void gatherIntervals(
      GatherIntervalsRequest request, StreamObserver<GatherIntervalsResponse> answer) {
    onGather.accept(request, answer);
  }

  /** Answers Execute with these results, and notes the plan. */
  void onChain(List<Operation> plan, OperationResult... results) {
    onExecute =
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
                for (OperationResult result : results) {
                  to.onNext(ExecuteResponse.newBuilder().setResult(result).build());
                }
                to.onCompleted();
              }
            };
  }

  @Override
  public StreamObserver<ExecuteRequest> execute(StreamObserver<ExecuteResponse> answer) {
    return onExecute.apply(answer);
  }

  @Override
  public void getServerInfo(
      GetServerInfoRequest request, StreamObserver<GetServerInfoResponse> answer) {
    GetServerInfoResponse.Builder made = GetServerInfoResponse.newBuilder().setVersion("9.9.9");
    made.addPlaces("inline").addPlaces("stream").getLimitsBuilder().setMaxParts(8);
    answer.onNext(made.build());
    answer.onCompleted();
  }

  /** Says that it divided a sharded array among two GPUs. */
  private static final class Memory extends MemoryServiceGrpc.MemoryServiceImplBase {
    @Override
    public StreamObserver<StoreArrayRequest> storeArray(StreamObserver<StoreArrayResponse> answer) {
      StoreArrayResponse.Builder made = StoreArrayResponse.newBuilder();
      return new StreamObserver<>() {
        @Override
        public void onNext(StoreArrayRequest request) {
          if (request.hasHeader()) {
            StoreArrayHeader header = request.getHeader();
            made.getArrayBuilder()
                .setName(header.getName())
                .setType(header.getArray().getType())
                .setCount(header.getArray().getCount())
                .setShards(header.getSharded() ? 2 : 0);
          }
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onCompleted() {
          answer.onNext(made.build());
          answer.onCompleted();
        }
      };
    }
  }

  /** A status with details. */
  static StatusRuntimeException failure(Code code, String message, Message... details) {
    com.google.rpc.Status.Builder made =
        com.google.rpc.Status.newBuilder().setCode(code.getNumber()).setMessage(message);
    for (Message each : details) {
      made.addDetails(Any.pack(each));
    }
    return StatusProto.toStatusRuntimeException(made.build());
  }

  @Override
  public void close() throws InterruptedException {
    server.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
  }
}
