// Receives results in chunks, over one connection or several.
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
#include "proto/grpc_payloads.h"

namespace corank::client {

/// Which bytes of an array have arrived. Not thread-safe.
class Coverage {
 public:
  /// False if a byte of [begin, end) arrived before.
  bool Add(int64_t begin, int64_t end);
  /// Whether exactly [0, end) has arrived.
  bool IsWhole(int64_t end) const;

 private:
  std::map<int64_t, int64_t> ranges_;  // begin to end, neither overlapping nor touching
};

/// The results of some jobs that travel as streams. Their stream_ids count from 0. Threads may call Take concurrently.
class StreamResults {
 public:
  /// Sets a StreamPlace in the job's message for every result that travels. The jobs outlive this object. A result that
  /// overlaps an input of any job reaches the caller's memory only in Finish.
  StreamResults(absl::Span<Job* const> jobs, TransferProgress* progress);

  /// Allocates and faults in the memory of all results whose size follows from the inputs, before the first chunk
  /// arrives.
  void AllocateEarly();
  /// Copies a chunk to its place. INTERNAL if the server broke the contract, INVALID_ARGUMENT if an Output is too
  /// small, RESOURCE_EXHAUSTED if the process is out of memory.
  absl::Status Take(const v1::ArrayChunk& chunk, const PayloadRange& payload, const std::vector<grpc::Slice>& slices);
  /// Checks that all results are complete, then finishes them. Inputs that results overlap change only now, and not at
  /// all if the answer is wrong. `results` has one result for each job. The call no longer sends.
  absl::Status Finish(absl::Span<const v1::OperationResult> results);

 private:
  struct State {
    const JobResult* result;
    bool is_over_input;  // the input is still being sent, or a later attempt sends it again
    std::string apart;   // receives the chunks if is_over_input
    absl::once_flag allocated;
    absl::StatusOr<absl::Span<char>> memory = absl::Span<char>();  // set once `allocated`
    absl::Mutex mutex;
    Coverage coverage ABSL_GUARDED_BY(mutex);
  };

  /// RESOURCE_EXHAUSTED if the process is out of memory.
  static const absl::StatusOr<absl::Span<char>>& Memory(State* state);
  absl::Status CheckWhole(const JobResult& result, const v1::Array& array, ElementType type, State* state);

  const std::vector<Job*> jobs_;
  TransferProgress* const progress_;
  std::vector<std::unique_ptr<State>> states_;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_STREAM_RESULTS_H_
