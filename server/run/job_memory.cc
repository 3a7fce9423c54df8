#include "server/run/job_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

constexpr absl::Duration kRetry = absl::Seconds(1);

absl::Status OverLimit(absl::string_view field, absl::string_view limit, int64_t bytes) {
  return TooLargeField(field, absl::StrCat("the request needs more than the ", bytes, " bytes of ", limit,
                                           " that one request may have; send it in smaller parts"));
}

absl::Status AllInUse() {
  return RetryLater(v1::ERROR_REASON_MEMORY_FULL,
                    "the server's memory for streamed arrays is full; retry later or send smaller arrays", kRetry);
}

}  // namespace

int64_t JobMemory::most_device_bytes() const {
  int64_t most = device_->used();
  for (const auto& [device, budget] : elsewhere_) most = std::max(most, budget->used());
  return most;
}

absl::StatusOr<std::shared_ptr<StreamBlock>> JobMemory::AllocateDevice(int64_t bytes, absl::string_view field) {
  return Allocate(*engine_, *device_, bytes, field);
}

absl::StatusOr<std::shared_ptr<StreamBlock>> JobMemory::AllocateDeviceOn(int device, int64_t bytes,
                                                                         absl::string_view field) {
  if (device == device_of_engine_) return AllocateDevice(bytes, field);
  std::shared_ptr<Budget>& budget = elsewhere_[device];
  if (budget == nullptr) budget = Budget::Create(max_device_bytes());
  return Allocate(devices_->engine(device), *budget, bytes, field);
}

absl::StatusOr<std::shared_ptr<StreamBlock>> JobMemory::Allocate(Engine& engine, Budget& device, int64_t bytes,
                                                                 absl::string_view field) const {
  Budget::Reservation of_job = device.Reserve(bytes);
  if (!of_job) return OverLimit(field, "device memory (max_device_bytes)", device.limit());
  Budget::Reservation of_all = all_->Reserve(bytes);
  if (!of_all) return AllInUse();
  CORANK_ASSIGN_OR_RETURN(const std::shared_ptr<EngineMemory> memory, engine.AllocateDevice(bytes));
  std::shared_ptr<void> data(memory, memory->data());
  return std::make_shared<StreamBlock>(std::move(data), bytes, std::move(of_job), std::move(of_all));
}

absl::StatusOr<std::shared_ptr<StreamBlock>> JobMemory::AllocateHost(int64_t bytes, absl::string_view field) {
  Budget::Reservation of_job = host_->Reserve(bytes);
  if (!of_job) return OverLimit(field, "host memory (max_stream_host_bytes)", host_->limit());
  Budget::Reservation of_all = all_->Reserve(bytes);
  if (!of_all) return AllInUse();
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<void> memory, buffers_->Take(*engine_, bytes));
  return std::make_shared<StreamBlock>(std::move(memory), bytes, std::move(of_job), std::move(of_all));
}

}  // namespace corank
