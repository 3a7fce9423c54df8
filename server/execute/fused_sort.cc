#include "server/execute/fused_sort.h"

#include <cstring>

#include "proto/wire_enums.h"
#include "server/execute/status_macros.h"

namespace corank {
namespace {

bool IsFusable(const SortOperation::Spec& spec) {
  return spec.want_keys && !spec.want_indices && !spec.values && !spec.segment_offsets && spec.limit < 0 &&
         spec.keys_target == nullptr && !spec.keys.on_device && !spec.keys.is_shared;
}

int64_t RoundUp(int64_t bytes) {
  constexpr int64_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Offsets of the members' keys, then the keys, in one piece of host memory.
struct Fused {
  SortArgs args;
  ResultBuffer result;
  const int64_t* h_offsets = nullptr;
};

absl::Status CopyIn(EngineStream& stream, absl::Span<const SortOperation* const> members, Fused* fused) {
  const SortOperation::Spec& first = members.front()->spec();
  const int64_t key_bytes = first.keys.element_bytes;
  int64_t count = 0;
  for (const SortOperation* member : members) count += member->spec().keys.count;
  const auto segments = static_cast<int64_t>(members.size());
  const int64_t offset_bytes = RoundUp((segments + 1) * static_cast<int64_t>(sizeof(int64_t)));
  CORANK_ASSIGN_OR_RETURN(void* const h_bytes, stream.AllocateHost(offset_bytes + count * key_bytes));
  auto* const h_offsets = static_cast<int64_t*>(h_bytes);
  char* to = static_cast<char*>(h_bytes) + offset_bytes;
  h_offsets[0] = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    const Operand& keys = members[i]->spec().keys;
    if (keys.count > 0) std::memcpy(to, keys.bytes, static_cast<size_t>(keys.size_bytes()));
    to += keys.size_bytes();
    h_offsets[i + 1] = h_offsets[i] + keys.count;
  }
  CORANK_ASSIGN_OR_RETURN(const void* const d_bytes, stream.Upload(h_bytes, offset_bytes + count * key_bytes));
  fused->h_offsets = h_offsets;
  SortArgs& args = fused->args;
  args.key_type = static_cast<KeyType>(first.keys.type);  // keys have the numbers of corank.v1.ElementType
  args.order = first.order;
  args.algorithm = first.algorithm;
  args.count = count;
  args.limit = -1;
  args.segment_count = segments;
  args.segment_offsets = static_cast<const int64_t*>(d_bytes);
  args.keys_in = static_cast<const char*>(d_bytes) + offset_bytes;
  if (count == 0) return absl::OkStatus();
  CORANK_ASSIGN_OR_RETURN(fused->result, stream.AllocateResult(count * key_bytes));
  args.keys_out = fused->result.device;
  return absl::OkStatus();
}

absl::Status Enqueue(EngineStream& stream, absl::Span<const SortOperation* const> members, Fused* fused,
                     OperatorReport* report) {
  CORANK_RETURN_IF_ERROR(CopyIn(stream, members, fused));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream.Sort(fused->args, report));
  CORANK_RETURN_IF_ERROR(stream.EndKernels());
  return stream.Download(fused->result, fused->args.count * members.front()->spec().keys.element_bytes);
}

}  // namespace

bool CanFuse(const Operation& first, const Operation& next) {
  const auto* const a = dynamic_cast<const SortOperation*>(&first);
  const auto* const b = dynamic_cast<const SortOperation*>(&next);
  if (a == nullptr || b == nullptr || !IsFusable(a->spec()) || !IsFusable(b->spec())) return false;
  return a->spec().keys.type == b->spec().keys.type && a->spec().order == b->spec().order &&
         a->spec().algorithm == b->spec().algorithm;
}

absl::Status ExecuteFused(EngineStream& stream, absl::Span<const SortOperation* const> members,
                          absl::Span<Outcome* const> outcomes) {
  CORANK_RETURN_IF_ERROR(stream.Begin());
  Fused fused;
  OperatorReport report;
  const absl::Status enqueued = Enqueue(stream, members, &fused, &report);
  const absl::StatusOr<PhaseTimes> times = stream.Finish();
  CORANK_RETURN_IF_ERROR(enqueued);
  CORANK_RETURN_IF_ERROR(times.status());
  for (size_t i = 0; i < members.size(); ++i) {
    const Operand& keys = members[i]->spec().keys;
    const char* const bytes = static_cast<const char*>(fused.result.host) + fused.h_offsets[i] * keys.element_bytes;
    outcomes[i]->results.push_back(
        {ResultRole::kKeys, keys.type, keys.element_bytes, keys.count, keys.count == 0 ? nullptr : bytes});
    outcomes[i]->sort_algorithm = ToWire(report.sort_algorithm);
    SetTimes(*times, stream.workspace_bytes(), *outcomes[i]);
  }
  return absl::OkStatus();
}

}  // namespace corank
