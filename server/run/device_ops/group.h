// Group: distinct keys, their counts, and reductions of the values of each.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_GROUP_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_GROUP_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "server/model/operand.h"
#include "server/run/operation.h"

namespace corank {

/// Waits for the device twice: the first wait brings the number of groups, and so the number of bytes to download.
class GroupOperation final : public Operation {
 public:
  /// A result that the caller may want, and its place.
  struct Wanted {
    bool is_wanted = false;
    std::shared_ptr<ResultTarget> target = nullptr;
  };
  struct Spec {
    Operand keys;
    std::optional<Operand> values;  // set if sums, minima or maxima are wanted
    Order order = Order::kAscending;
    bool sorts = true;          // the keys lie in any order
    bool check_sorted = false;  // they must be sorted
    Wanted keys_out, counts, firsts, sums, minima, maxima;
  };
  explicit GroupOperation(Spec spec);
  // Results know their places in the arguments.
  GroupOperation(const GroupOperation&) = delete;
  GroupOperation& operator=(const GroupOperation&) = delete;

  Operator op() const override { return Operator::kGroup; }
  int64_t work_bytes() const override;
  int64_t device_bytes(const Engine& engine) const override;
  bool is_repeatable() const override { return true; }
  absl::Status Execute(Lane& lane, Outcome& outcome) override;

 private:
  struct Made {
    PendingResult result;  // its count is that of the keys
    void* place;           // in args_
    void (*set)(void* place, void* d_bytes);
  };
  template <typename T>
  void Add(const Wanted& wanted, ResultRole role, v1::ElementType type, T** place);
  // The sort of unsorted keys, without its arrays. First positions need its permutation, which then also finds the
  // values. Without them, the values travel with the keys.
  SortArgs SortPart() const;
  int64_t SortedBytes() const;  // of its results
  absl::Status CopyIn(EngineStream& stream, SortArgs* sort);
  absl::Status Enqueue(Lane& lane);
  absl::Status Download(EngineStream& stream) const;
  absl::Status CheckReport() const;

  const Spec spec_;
  GroupArgs args_;
  absl::InlinedVector<Made, 6> made_;
  OperatorReport sort_report_;
  GroupReport report_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_GROUP_H_
