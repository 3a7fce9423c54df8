#include "server/run/stream_collector.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

// First size of an array of unknown length. All inputs together start with no more than a share of the request's limit.
constexpr int64_t kFirstBytes = int64_t{64} << 10;
constexpr int64_t kFirstShare = 8;
// Growth if there is no room to double: few copies, and little unused memory.
constexpr int64_t kGrowthShare = 8;

}  // namespace

absl::StatusOr<std::vector<Operand>> StreamCollector::Collect() {
  const std::vector<StreamInput>& inputs = pipe_->inputs();
  blocks_.resize(inputs.size());
  spilled_.resize(inputs.size());
  for (;;) {
    CORANK_ASSIGN_OR_RETURN(const std::vector<InputChunk> chunks, pipe_->Receive(*lane_));
    if (chunks.empty()) break;
    CORANK_RETURN_IF_ERROR(Add(chunks));
  }
  std::vector<Operand> operands(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Operand& operand = operands[i];
    operand.type = inputs[i].type;
    operand.element_bytes = inputs[i].element_bytes;
    operand.count = pipe_->received(i);
    operand.on_device = !inputs[i].is_control;
    operand.is_snapshot = inputs[i].is_control;
    operand.is_spilled = IsSpilled(i);
    operand.device = lane_->stream().device();
    if (blocks_[i] != nullptr) operand.bytes = blocks_[i]->data();
    operand.owner = std::move(blocks_[i]);
  }
  return operands;
}

absl::Status StreamCollector::Add(const std::vector<InputChunk>& chunks) {
  EngineStream& stream = lane_->stream();
  CORANK_RETURN_IF_ERROR(stream.Begin());
  absl::Status copied;
  for (size_t i = 0; i < chunks.size() && copied.ok(); ++i) copied = CopyIn(stream, chunks[i]);
  const absl::Status finished = FinishCopies(stream);
  CORANK_RETURN_IF_ERROR(copied);
  return finished;
}

absl::Status StreamCollector::FinishCopies(EngineStream& stream) {
  const absl::Status finished = FinishCopyIn(stream, absl::OkStatus(), stats_);
  retired_.clear();
  return finished;
}

absl::Status StreamCollector::CopyIn(EngineStream& stream, const InputChunk& chunk) {
  const StreamInput& input = pipe_->inputs()[chunk.input];
  CORANK_RETURN_IF_ERROR(MakeRoom(stream, chunk.input, chunk.first_element + chunk.count));
  char* const to = blocks_[chunk.input]->data() + chunk.first_element * input.element_bytes;
  const int64_t bytes = chunk.count * input.element_bytes;
  if (!WaitsOnHost(chunk.input)) return stream.CopyToDevice(to, chunk.bytes.get(), bytes);
  std::memcpy(to, chunk.bytes.get(), static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status StreamCollector::MakeRoom(EngineStream& stream, size_t index, int64_t elements) {
  const StreamInput& input = pipe_->inputs()[index];
  std::shared_ptr<StreamBlock>& block = blocks_[index];
  const int64_t needed = elements * input.element_bytes;
  if (block != nullptr && needed <= block->size_bytes()) return absl::OkStatus();
  if (input.count < 0) return Grow(stream, index, needed);
  const int64_t bytes = input.count * input.element_bytes;
  if (bytes > FreeBytes(index)) CORANK_RETURN_IF_ERROR(FinishRetired(stream));
  if (Spills(index, bytes)) spilled_[index] = true;
  CORANK_ASSIGN_OR_RETURN(block, Allocate(index, bytes));
  return absl::OkStatus();
}

absl::Status StreamCollector::FinishRetired(EngineStream& stream) {
  if (retired_.empty()) return absl::OkStatus();
  CORANK_RETURN_IF_ERROR(FinishCopies(stream));
  return stream.Begin();
}

bool StreamCollector::Spills(size_t index, int64_t bytes) const {
  return pipe_->inputs()[index].may_spill && !spilled_[index] && bytes > FreeBytes(index) &&
         bytes <= memory_->free_host_bytes();
}

absl::Status StreamCollector::Grow(EngineStream& stream, size_t index, int64_t needed) {
  const StreamInput& input = pipe_->inputs()[index];
  std::shared_ptr<StreamBlock>& block = blocks_[index];
  const int64_t has = block == nullptr ? 0 : block->size_bytes();
  if (needed > FreeBytes(index)) CORANK_RETURN_IF_ERROR(FinishRetired(stream));
  const bool was_on_host = WaitsOnHost(index);
  if (Spills(index, needed)) spilled_[index] = true;
  const int64_t room = FreeBytes(index);
  if (needed > room && needed <= room + has) {
    return TooLargeField(
        input.field + ".count",
        absl::StrCat("without a count the array is in memory twice while it grows, and its ", needed, " and ", has,
                     " bytes are more than one request may have (",
                     WaitsOnHost(index) ? "max_stream_host_bytes" : "max_device_bytes", "); announce the count"));
  }
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<StreamBlock> other, AllocateGrown(index, has, needed));
  std::swap(block, other);
  if (has == 0) return absl::OkStatus();
  if (was_on_host) {
    std::memcpy(block->data(), other->data(), static_cast<size_t>(has));
    return absl::OkStatus();
  }
  retired_.push_back(other);
  if (!WaitsOnHost(index)) return stream.Copy(block->data(), other->data(), has);
  CORANK_RETURN_IF_ERROR(stream.CopyToHost(block->data(), other->data(), has));
  // It may grow again through this thread's copies.
  CORANK_RETURN_IF_ERROR(FinishCopies(stream));
  return stream.Begin();
}

absl::StatusOr<std::shared_ptr<StreamBlock>> StreamCollector::AllocateGrown(size_t index, int64_t has, int64_t needed) {
  const int64_t bytes = GrownBytes(index, has, needed);
  absl::StatusOr<std::shared_ptr<StreamBlock>> grown = Allocate(index, bytes);
  if (absl::IsResourceExhausted(grown.status()) && bytes > needed) grown = Allocate(index, needed);
  return grown;
}

absl::StatusOr<std::shared_ptr<StreamBlock>> StreamCollector::Allocate(size_t index, int64_t bytes) {
  const std::string& field = pipe_->inputs()[index].field;
  return WaitsOnHost(index) ? memory_->AllocateHost(bytes, field) : memory_->AllocateDevice(bytes, field);
}

int64_t StreamCollector::GrownBytes(size_t index, int64_t has, int64_t needed) const {
  const int64_t most = WaitsOnHost(index) ? memory_->max_host_bytes() : memory_->max_device_bytes();
  const auto inputs = static_cast<int64_t>(pipe_->inputs().size());
  const int64_t twice = has == 0 ? std::min(kFirstBytes, most / kFirstShare / inputs) : 2 * has;
  const int64_t room = FreeBytes(index);
  for (const int64_t wanted : {twice, has + has / kGrowthShare}) {
    if (std::max(wanted, needed) <= room) return std::max(wanted, needed);
  }
  return needed;
}

int64_t StreamCollector::FreeBytes(size_t index) const {
  if (WaitsOnHost(index)) return memory_->free_host_bytes();
  const StreamInput& input = pipe_->inputs()[index];
  return memory_->free_device_bytes() - (input.may_spill ? memory_->device_bytes_left_by_spilling() : 0);
}

}  // namespace corank
