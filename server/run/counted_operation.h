// The base of operators that only the run tells the number of results.
#ifndef CORANK_SERVER_RUN_COUNTED_OPERATION_H_
#define CORANK_SERVER_RUN_COUNTED_OPERATION_H_

#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/run/operation.h"

namespace corank {

/// Results have as many elements as the run finds, unless they are whole. Waits for the device twice: the first wait
/// brings that number, and so the bytes to download.
class CountedOperation : public KernelOperation {
 public:
  absl::Status Execute(Lane& lane, Outcome& outcome) final;

 protected:
  /// For constructors. `result` has the most elements that there can be; if it is whole, it always has as many.
  template <typename T>
  void AddResult(PendingResult result, T** d_bytes, bool is_whole = false) {
    KernelOperation::AddResult(std::move(result), d_bytes);
    are_whole_.push_back(is_whole);
  }

  /// Runs the operator.
  virtual absl::Status Run(EngineStream& stream) = 0;
  /// After the stream finished: the number of elements of each result, or the caller's error.
  virtual absl::StatusOr<int64_t> Count() const = 0;

 private:
  absl::Status Download(EngineStream& stream, int64_t count) const;

  absl::InlinedVector<bool, 6> are_whole_;  // of each result
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_COUNTED_OPERATION_H_
