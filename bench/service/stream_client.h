// A client of Execute that does as little as it can: messages are gRPC's own byte buffers, the arrays are never copied.
#ifndef CORANK_BENCH_SERVICE_STREAM_CLIENT_H_
#define CORANK_BENCH_SERVICE_STREAM_CLIENT_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/service/stream_work.h"
#include "corank/v1/operators.pb.h"

namespace corank::bench {

/// One call: a range of each input of a job.
struct StreamCall {
  std::shared_ptr<grpc::Channel> channel;
  const StreamWork* work = nullptr;  // outlives the call
  std::string job_id;                // with parts > 1
  int part = 0, parts = 1;
};

/// What came back: chunks and results as they came, and when, from the start of the call on.
struct StreamAnswer {
  std::vector<grpc::ByteBuffer> messages;
  absl::Duration sent = {};   // the last chunk was with gRPC, as far as its window let it
  absl::Duration first = {};  // the first message had come
  absl::Duration ended = {};
};

/// Runs the calls at the same time, each on a thread of its own that sends and receives, and returns their answers
/// once all have ended. The first error is returned.
absl::StatusOr<std::vector<StreamAnswer>> RunStreamCalls(const std::vector<StreamCall>& calls, int64_t chunk_bytes);

/// The stats of the answer's result; default values where it has none, as the echo server's.
v1::RequestStats ReadStats(const StreamAnswer& answer);

/// The keys that chunks hold, put together: streams of so many each, one after the other. An error where they are not
/// all of them once.
absl::StatusOr<std::vector<uint32_t>> JoinChunks(const std::vector<StreamAnswer>& answers,
                                                 const std::vector<int64_t>& counts);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_STREAM_CLIENT_H_
