// Sort, of whole arrays or of segments.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_SORT_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_SORT_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "server/model/offsets.h"
#include "server/model/operand.h"
#include "server/run/operation.h"

namespace corank {

class SortOperation final : public PhasedOperation {
 public:
  struct Spec {
    Operand keys;
    std::optional<Operand> values;
    std::optional<Operand> segment_offsets;
    Order order = Order::kAscending;
    SortAlgorithm algorithm = SortAlgorithm::kAuto;
    bool want_keys = true;
    bool want_indices = false;
    int64_t limit = -1;  // of all, or of each segment; -1: all
    int64_t offset = 0;  // results that are left out before the limit counts; 0 with segments
    /// Of a part of a larger array: the index of its first key, and the width of indices. 0: its number of keys tells.
    int64_t first_index = 0;
    int32_t index_bytes = 0;
    std::shared_ptr<ResultTarget> keys_target = nullptr, values_target = nullptr, indices_target = nullptr;

    int64_t result_count() const { return LimitedCount(keys.count, offset, limit, segment_offsets); }
    int64_t kept_of_parts() const { return KeptOfParts(offset, limit); }
  };
  explicit SortOperation(Spec spec);
  const Spec& spec() const { return spec_; }

  Operator op() const override { return Operator::kSort; }
  Pace pace() const override;
  bool is_light() const override;
  std::unique_ptr<const ExternalWork> external() const override;
  Sharing sharing() const override;
  std::unique_ptr<Operation> Sharded(const DeviceGroup& by) const override;
  std::optional<FuseKey> fuse_key() const override;
  int64_t device_bytes(const Engine& engine) const override;
  absl::Status Run(EngineStream& stream, OperatorReport* report) override { return stream.Sort(args_, report); }
  void Collect(const OperatorReport& report, Outcome& outcome) const override;

 private:
  const Spec spec_;
  SortArgs args_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_SORT_H_
