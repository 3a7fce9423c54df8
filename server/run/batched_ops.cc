#include "server/run/batched_ops.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kernels/engine/alignment.h"
#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/run/packed_stream.h"

namespace corank {
namespace {

// Each array of a member starts at a multiple of 256 bytes; there are few of them.
constexpr int64_t kRoundingBytes = 16 * 256;

// A failure on the device is a failure of all members.
bool IsOfTheStream(const absl::Status& status) { return status.code() == absl::StatusCode::kUnavailable; }

absl::Status Enqueue(EngineStream& stream, absl::Span<BatchMember> members, std::vector<OperatorReport>& reports) {
  for (BatchMember& member : members) {
    member.status = member.operation->CopyIn(stream);
    if (IsOfTheStream(member.status)) return member.status;
  }
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].status.ok()) members[i].status = members[i].operation->Run(stream, &reports[i]);
    if (IsOfTheStream(members[i].status)) return members[i].status;
  }
  CORANK_RETURN_IF_ERROR(stream.EndKernels());
  for (BatchMember& member : members) {
    if (member.status.ok()) member.status = member.operation->CopyOut(stream);
    if (IsOfTheStream(member.status)) return member.status;
  }
  return absl::OkStatus();
}

// Consecutive arrays in one block of memory, each aligned for any element.
class Layout {
 public:
  /// The start of an array of this many bytes.
  int64_t Add(int64_t bytes) {
    const int64_t begin = bytes_;
    bytes_ += AlignUp(bytes);
    return begin;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// Of a member of a fused sort.
const SortOperation::Spec& SpecOf(const BatchMember& member) {
  return static_cast<const SortOperation*>(member.operation)->spec();
}

// One array of each member, one after another.
void Join(absl::Span<const BatchMember> members, char* to,
          absl::FunctionRef<const Operand&(const SortOperation::Spec&)> array_of) {
  for (const BatchMember& member : members) {
    const Operand& array = array_of(SpecOf(member));
    if (array.count > 0) std::memcpy(to, array.bytes, static_cast<size_t>(array.size_bytes()));
    to += array.size_bytes();
  }
}

// The members as segments of one sort.
struct Fused {
  SortArgs args;
  const int64_t* h_offsets = nullptr;  // in the members' elements
  ResultBuffer result;                 // those of keys, values and indices that are wanted
  int64_t result_bytes = 0;
  int64_t keys_at = 0, values_at = 0, indices_at = 0;
};

absl::Status CopyIn(EngineStream& stream, absl::Span<const BatchMember> members, Fused* fused) {
  const SortOperation::Spec& first = SpecOf(members.front());
  SortArgs& args = fused->args;
  for (const BatchMember& member : members) args.count += SpecOf(member).keys.count;
  args.key_type = KeyTypeOf(first.keys.type);
  args.order = first.order;
  args.algorithm = first.algorithm;
  args.value_bytes = first.values ? first.values->element_bytes : 0;
  args.segment_count = static_cast<int64_t>(members.size());

  Layout in;
  const int64_t offsets_at = in.Add((args.segment_count + 1) * static_cast<int64_t>(sizeof(int64_t)));
  const int64_t keys_at = in.Add(args.count * first.keys.element_bytes);
  const int64_t values_at = in.Add(args.count * args.value_bytes);
  CORANK_ASSIGN_OR_RETURN(void* const h_in, stream.AllocateHost(in.bytes()));
  char* const h_bytes = static_cast<char*>(h_in);
  auto* const h_offsets = reinterpret_cast<int64_t*>(h_bytes + offsets_at);
  h_offsets[0] = 0;
  for (size_t i = 0; i < members.size(); ++i) h_offsets[i + 1] = h_offsets[i] + SpecOf(members[i]).keys.count;
  fused->h_offsets = h_offsets;
  Join(members, h_bytes + keys_at, [](const auto& spec) -> const Operand& { return spec.keys; });
  if (first.values) Join(members, h_bytes + values_at, [](const auto& spec) -> const Operand& { return *spec.values; });
  CORANK_ASSIGN_OR_RETURN(const void* const d_in, stream.Upload(h_in, in.bytes()));
  const char* const d_bytes = static_cast<const char*>(d_in);
  args.segment_offsets = reinterpret_cast<const int64_t*>(d_bytes + offsets_at);
  args.keys_in = d_bytes + keys_at;
  if (first.values) args.values_in = d_bytes + values_at;

  Layout out;
  if (first.want_keys) fused->keys_at = out.Add(args.count * first.keys.element_bytes);
  if (first.values) fused->values_at = out.Add(args.count * args.value_bytes);
  if (first.want_indices) fused->indices_at = out.Add(args.count * static_cast<int64_t>(sizeof(uint32_t)));
  fused->result_bytes = out.bytes();
  if (args.count == 0) return absl::OkStatus();
  CORANK_ASSIGN_OR_RETURN(fused->result, stream.AllocateResult(fused->result_bytes));
  char* const d_out = static_cast<char*>(fused->result.device);
  if (first.want_keys) args.keys_out = d_out + fused->keys_at;
  if (first.values) args.values_out = d_out + fused->values_at;
  if (first.want_indices) args.indices_out = d_out + fused->indices_at;
  return absl::OkStatus();
}

absl::Status EnqueueFused(EngineStream& stream, absl::Span<const BatchMember> members, Fused* fused,
                          OperatorReport* report) {
  CORANK_RETURN_IF_ERROR(CopyIn(stream, members, fused));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream.Sort(fused->args, report));
  CORANK_RETURN_IF_ERROR(stream.EndKernels());
  return stream.Download(fused->result, fused->result_bytes);
}

// The results of member i, whose indices count from its own first key.
void Collect(const Fused& fused, size_t i, const SortOperation::Spec& spec, Outcome& outcome) {
  const int64_t first = fused.h_offsets[i];
  const int64_t count = spec.keys.count;
  const auto add = [&](ResultRole role, v1::ElementType type, int32_t element_bytes, int64_t at) {
    char* const bytes = count == 0 ? nullptr : static_cast<char*>(fused.result.host) + at + first * element_bytes;
    outcome.results.push_back({role, type, element_bytes, count, bytes});
    return bytes;
  };
  if (spec.want_keys) add(ResultRole::kKeys, spec.keys.type, spec.keys.element_bytes, fused.keys_at);
  if (spec.values) add(ResultRole::kValues, spec.values->type, spec.values->element_bytes, fused.values_at);
  if (spec.want_indices) {
    auto* const indices = reinterpret_cast<uint32_t*>(
        add(ResultRole::kIndices, v1::ELEMENT_TYPE_UINT32, sizeof(uint32_t), fused.indices_at));
    for (int64_t k = 0; k < count; ++k) indices[k] -= static_cast<uint32_t>(first);
  }
}

// Brief members are sorted in place.
absl::Status EnqueueEach(EngineStream& stream, absl::Span<const BatchMember> members,
                         std::vector<OperatorReport>& reports) {
  std::vector<SortArgs> sorts(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    const SortOperation::Spec& spec = SpecOf(members[i]);
    const Operand& keys = spec.keys;
    sorts[i].key_type = KeyTypeOf(keys.type);
    sorts[i].order = spec.order;
    sorts[i].count = keys.count;
    CORANK_ASSIGN_OR_RETURN(sorts[i].keys_in, stream.Upload(keys.bytes, keys.size_bytes()));
    CORANK_ASSIGN_OR_RETURN(const ResultBuffer result, stream.AllocateResult(keys.size_bytes()));
    sorts[i].keys_out = result.device;
    members[i].outcome->results.push_back({ResultRole::kKeys, keys.type, keys.element_bytes, keys.count, result.host});
  }
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream.SortEach(sorts, reports.data()));
  return stream.EndKernels();
}

absl::Status ExecuteEach(EngineStream& stream, absl::Span<const BatchMember> members) {
  CORANK_RETURN_IF_ERROR(stream.Begin(Pace::kBrief));
  std::vector<OperatorReport> reports(members.size());
  v1::RequestStats stats;
  CORANK_RETURN_IF_ERROR(FinishStream(stream, EnqueueEach(stream, members, reports), &stats));
  for (size_t i = 0; i < members.size(); ++i) {
    members[i].outcome->sort_algorithm = ToWire(reports[i].sort_algorithm);
    members[i].outcome->stats.MergeFrom(stats);
  }
  return absl::OkStatus();
}

absl::Status ExecuteAsOne(EngineStream& stream, absl::Span<const BatchMember> members) {
  CORANK_RETURN_IF_ERROR(stream.Begin());
  Fused fused;
  OperatorReport report;
  v1::RequestStats stats;
  CORANK_RETURN_IF_ERROR(FinishStream(stream, EnqueueFused(stream, members, &fused, &report), &stats));
  for (size_t i = 0; i < members.size(); ++i) {
    Collect(fused, i, SpecOf(members[i]), *members[i].outcome);
    members[i].outcome->sort_algorithm = ToWire(report.sort_algorithm);
    members[i].outcome->stats.MergeFrom(stats);
  }
  return absl::OkStatus();
}

}  // namespace

void ExecuteTogether(EngineStream& stream, absl::Span<BatchMember> members) {
  int64_t bytes = 0;
  for (const BatchMember& member : members) bytes += member.operation->work_bytes() + kRoundingBytes;
  PackedStream packed(&stream, bytes);
  std::vector<OperatorReport> reports(members.size());
  absl::Status whole = packed.Begin(Pace::kPhases);
  if (whole.ok()) whole = Enqueue(packed, members, reports);
  v1::RequestStats stats;
  whole = FinishStream(packed, whole, &stats);
  for (size_t i = 0; i < members.size(); ++i) {
    BatchMember& member = members[i];
    if (!whole.ok()) member.status = whole;
    if (!member.status.ok()) continue;
    member.outcome->stats.MergeFrom(stats);
    if (reports[i].fault != OperatorReport::Fault::kNone) {
      member.status = member.operation->FaultStatus(reports[i]);
    } else {
      member.operation->Collect(reports[i], *member.outcome);
    }
  }
}

bool CanFuse(const Operation& first, const Operation& next) {
  const std::optional<FuseKey> key = first.fuse_key();
  return key && key == next.fuse_key();
}

void ExecuteFused(EngineStream& stream, absl::Span<BatchMember> members) {
  const auto is_brief = [](const BatchMember& member) { return member.operation->pace() == Pace::kBrief; };
  const bool are_brief = std::all_of(members.begin(), members.end(), is_brief);
  const absl::Status status = are_brief ? ExecuteEach(stream, members) : ExecuteAsOne(stream, members);
  for (BatchMember& member : members) member.status = status;
}

}  // namespace corank
