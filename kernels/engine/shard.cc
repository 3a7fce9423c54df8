#include "kernels/engine/shard.h"

namespace corank {

absl::Status AllocateDevice(EngineStream& stream, int64_t bytes, char** to) {
  if (bytes == 0) return absl::OkStatus();
  const absl::StatusOr<void*> memory = stream.AllocateDevice(bytes);
  if (memory.ok()) *to = static_cast<char*>(*memory);
  return memory.status();
}

absl::Status SendRows(const ShardResult& part, int64_t key_bytes, int64_t value_bytes, int64_t first, int64_t count,
                      const void* are_there, bool ends_kernels) {
  if (part.sender == nullptr) return absl::OkStatus();
  absl::Status status = part.sender->After(are_there);
  if (status.ok() && ends_kernels) status = part.sender->EndKernels();
  const auto send = [&](char* h_rows, const void* rows, int64_t element_bytes) {
    if (!status.ok() || h_rows == nullptr || element_bytes == 0) return;
    const int64_t before = first * element_bytes;
    status = part.sender->CopyToHost(h_rows + before, static_cast<const char*>(rows) + before, count * element_bytes);
  };
  send(part.h_keys, part.keys, key_bytes);
  send(part.h_values, part.values, value_bytes);
  return status;
}

}  // namespace corank
