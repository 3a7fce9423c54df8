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
class CountedOperation : public Operation {
 public:
  bool is_repeatable() const final { return true; }
  absl::Status Execute(Lane& lane, Outcome& outcome) final;

 protected:
  CountedOperation() = default;
  // Results know their places in the arguments.
  CountedOperation(const CountedOperation&) = delete;
  CountedOperation& operator=(const CountedOperation&) = delete;

  /// For constructors. `result` has the most elements that there can be; if it is whole, it always has as many. CopyIn
  /// sets `*d_bytes` to where kernels write them.
  template <typename T>
  void AddResult(PendingResult result, T** d_bytes, bool is_whole = false) {
    made_.push_back({std::move(result), is_whole, d_bytes,
                     [](void* place, void* memory) { *static_cast<T**>(place) = static_cast<T*>(memory); }});
  }
  int64_t result_bytes() const;

  /// Uploads the inputs; the override allocates the results with this one.
  virtual absl::Status CopyIn(EngineStream& stream);
  /// Runs the operator.
  virtual absl::Status Run(EngineStream& stream) = 0;
  /// After the stream finished: the number of elements of each result, or the caller's error.
  virtual absl::StatusOr<int64_t> Count() const = 0;

 private:
  struct Made {
    PendingResult result;
    bool is_whole;
    void* place;
    void (*set)(void* place, void* memory);
  };
  absl::Status Enqueue(Lane& lane);
  absl::Status Download(EngineStream& stream, int64_t count) const;

  absl::InlinedVector<Made, 6> made_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_COUNTED_OPERATION_H_
