// Results that come in chunks, over one connection or several.
#ifndef CORANK_CLIENT_CPP_STREAM_RESULTS_H_
#define CORANK_CLIENT_CPP_STREAM_RESULTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "client/cpp/job.h"
#include "corank/operators.h"
#include "grpcpp/support/slice.h"
#include "proto/payloads.h"

namespace corank::client {

/// Which bytes of an array have come. Not thread-safe.
class Coverage {
 public:
  /// False if a byte of [begin, end) has come before.
  bool Add(int64_t begin, int64_t end);
  /// Whether exactly [0, end) has come.
  bool IsWhole(int64_t end) const;

 private:
  std::map<int64_t, int64_t> ranges_;  // begin to end, neither overlapping nor touching
};

/// The results of some jobs that travel as streams: their stream_ids count them, from 0. Take may be called by several
/// threads at the same time.
class StreamResults {
 public:
  /// Gives every result that travels a StreamPlace in its job's message. The jobs outlive this; their memory holds no
  /// part of a result that goes over an input of any of them before Finish.
  StreamResults(absl::Span<Job* const> jobs, TransferProgress* progress);

  /// Makes the memory of all results whose size follows from that of the inputs, so that it is there, and touched, when
  /// the first chunk comes.
  void AllocateEarly();
  /// Copies a chunk to where it belongs. INTERNAL if the server broke the contract, INVALID_ARGUMENT if an output is
  /// too small, RESOURCE_EXHAUSTED if memory is.
  absl::Status Take(const v1::ArrayChunk& chunk, const PayloadRange& payload, const std::vector<grpc::Slice>& slices);
  /// Checks that all results are whole, and then finishes them: inputs that results go over change only now, and not
  /// at all where an answer is wrong. `results`: one for each job. Nothing is sent any more.
  absl::Status Finish(absl::Span<const v1::OperationResult> results);

 private:
  struct State {
    const JobResult* result;
    bool is_over_input;  // which is still sent while chunks come, or sent again by a later attempt
    std::string apart;   // of is_over_input: takes the chunks
    absl::once_flag allocated;
    absl::StatusOr<absl::Span<char>> memory = absl::Span<char>();  // after `allocated`
    absl::Mutex mutex;
    Coverage coverage ABSL_GUARDED_BY(mutex);
  };

  /// RESOURCE_EXHAUSTED if this process has not as much.
  static const absl::StatusOr<absl::Span<char>>& Memory(State* state);
  absl::Status CheckWhole(const JobResult& result, const v1::Array& array, ElementType type, State* state);

  const std::vector<Job*> jobs_;
  TransferProgress* const progress_;
  std::vector<std::unique_ptr<State>> states_;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_STREAM_RESULTS_H_
