#include "server/run/device_ops/rank.h"

#include <utility>

#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {

RankOperation::RankOperation(Spec spec) : spec_(std::move(spec)) {
  args_.key_type = KeyTypeOf(spec_.keys.type);
  args_.order = spec_.order;
  args_.check_sorted = spec_.keys_sorted;
  args_.count = spec_.keys.count;
  args_.rank_method = spec_.method;
  const int bytes = RankBytes(spec_.method, args_.count);
  const v1::ElementType type = spec_.method == RankMethod::kAverage ? v1::ELEMENT_TYPE_FLOAT64 : IndexType(bytes);
  AddResult({ResultRole::kRanks, type, bytes, args_.count, spec_.target}, &args_.ranks_out, true);
}

SortArgs RankOperation::SortPart() const {
  SortArgs sort;
  sort.key_type = args_.key_type;
  sort.order = args_.order;
  sort.count = args_.count;
  return sort;
}

int64_t RankOperation::SortedBytes() const {
  return spec_.keys_sorted ? 0 : args_.count * (spec_.keys.element_bytes + IndexBytes(args_.count - 1));
}

int64_t RankOperation::device_bytes(const Engine& engine) const {
  // The workspace depends on which inputs and outputs are present.
  int64_t any = 0;
  RankArgs args = args_;
  args.ranks_out = &any;
  if (spec_.keys_sorted) return work_bytes() + engine.WorkspaceBytes(args);
  args.indices = &any;
  SortArgs sort = SortPart();
  sort.keys_out = sort.indices_out = &any;
  return work_bytes() + engine.WorkspaceBytes(args) + engine.WorkspaceBytes(sort);
}

absl::Status RankOperation::CopyIn(EngineStream& stream) {
  CORANK_ASSIGN_OR_RETURN(args_.keys, Upload(stream, spec_.keys));
  CORANK_RETURN_IF_ERROR(CountedOperation::CopyIn(stream));
  if (spec_.keys_sorted || args_.count == 0) return absl::OkStatus();
  sort_ = SortPart();
  sort_.keys_in = args_.keys;
  CORANK_ASSIGN_OR_RETURN(sort_.keys_out, stream.AllocateDevice(spec_.keys.size_bytes()));
  CORANK_ASSIGN_OR_RETURN(sort_.indices_out, stream.AllocateDevice(args_.count * IndexBytes(args_.count - 1)));
  args_.keys = sort_.keys_out;
  args_.indices = sort_.indices_out;
  return absl::OkStatus();
}

absl::Status RankOperation::Run(EngineStream& stream) {
  if (sort_.count > 0) CORANK_RETURN_IF_ERROR(stream.Sort(sort_, &sort_report_));
  return stream.Group(args_, &report_);
}

absl::StatusOr<int64_t> RankOperation::Count() const {
  if (sort_report_.fault != OperatorReport::Fault::kNone) return UnexpectedFault(sort_report_);
  if (report_.unsorted >= 0) return NotSorted("keys", report_.unsorted, spec_.order);
  return args_.count;
}

}  // namespace corank
