#include "server/execute/stream_collector.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/execute/status_macros.h"
#include "server/execute/stream_turns.h"

namespace corank {
namespace {

// What an array of unknown length begins with.
constexpr int64_t kFirstBytes = int64_t{1} << 20;

}  // namespace

absl::StatusOr<std::vector<Operand>> StreamCollector::Collect() {
  const std::vector<StreamInput>& inputs = exchange_->inputs();
  blocks_.resize(inputs.size());
  for (;;) {
    CORANK_ASSIGN_OR_RETURN(const std::vector<InputChunk> chunks, exchange_->Receive(*lane_));
    if (chunks.empty()) break;
    CORANK_RETURN_IF_ERROR(Add(chunks));
  }
  std::vector<Operand> operands(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Operand& operand = operands[i];
    operand.type = inputs[i].type;
    operand.element_bytes = inputs[i].element_bytes;
    operand.count = exchange_->received(i);
    operand.on_device = !inputs[i].is_control;
    operand.device = lane_->stream().device();
    if (blocks_[i] != nullptr) operand.bytes = blocks_[i]->data();
    operand.lease = std::move(blocks_[i]);
  }
  return operands;
}

absl::Status StreamCollector::Add(const std::vector<InputChunk>& chunks) {
  EngineStream& stream = lane_->stream();
  CORANK_RETURN_IF_ERROR(stream.Begin());
  absl::Status copied;
  for (size_t i = 0; i < chunks.size() && copied.ok(); ++i) copied = CopyIn(stream, chunks[i]);
  copied.Update(stream.EndCopyIn());
  copied.Update(stream.EndKernels());
  const absl::StatusOr<PhaseTimes> times = stream.Finish();
  retired_.clear();
  CORANK_RETURN_IF_ERROR(copied);
  CORANK_RETURN_IF_ERROR(times.status());
  AddTimes(*times, stream.workspace_bytes(), stats_);
  return absl::OkStatus();
}

absl::Status StreamCollector::CopyIn(EngineStream& stream, const InputChunk& chunk) {
  const StreamInput& input = exchange_->inputs()[chunk.input];
  CORANK_RETURN_IF_ERROR(MakeRoom(stream, chunk.input, chunk.first_element + chunk.count));
  char* const to = blocks_[chunk.input]->data() + chunk.first_element * input.element_bytes;
  const int64_t bytes = chunk.count * input.element_bytes;
  if (!input.is_control) return stream.CopyToDevice(to, chunk.bytes.get(), bytes);
  std::memcpy(to, chunk.bytes.get(), static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status StreamCollector::MakeRoom(EngineStream& stream, size_t index, int64_t elements) {
  const StreamInput& input = exchange_->inputs()[index];
  std::shared_ptr<StreamBlock>& block = blocks_[index];
  const int64_t needed = elements * input.element_bytes;
  if (block != nullptr && needed <= block->size_bytes()) return absl::OkStatus();
  int64_t bytes = input.count * input.element_bytes;
  if (input.count < 0) bytes = std::max({needed, kFirstBytes, block == nullptr ? 0 : 2 * block->size_bytes()});
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<StreamBlock> larger, input.is_control
                                                                   ? memory_->AllocateHost(bytes, input.field)
                                                                   : memory_->AllocateDevice(bytes, input.field));
  std::swap(block, larger);
  if (larger == nullptr) return absl::OkStatus();
  if (input.is_control) {
    std::memcpy(block->data(), larger->data(), static_cast<size_t>(larger->size_bytes()));
  } else {
    CORANK_RETURN_IF_ERROR(stream.Copy(block->data(), larger->data(), larger->size_bytes()));
  }
  retired_.push_back(std::move(larger));
  return absl::OkStatus();
}

}  // namespace corank
