// GPU readings through NVIDIA's management library, if it is installed.
#ifndef CORANK_SERVER_OBSERVE_NVML_H_
#define CORANK_SERVER_OBSERVE_NVML_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/observe/device_link.h"
#include "server/observe/metrics.h"

namespace corank {

/// Loads libnvidia-ml.so.1 at run time; nothing links to it. Thread-safe.
class Nvml {
 public:
  static constexpr char kLibrary[] = "libnvidia-ml.so.1";

  /// UNAVAILABLE, with the reason, if the library is missing, lacks a function or does not start.
  static absl::StatusOr<std::unique_ptr<Nvml>> Load(const char* library = kLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Readings of the GPU with this UUID, as `nvidia-smi -L` prints it. Missing readings stay -1. Takes about a
  /// millisecond.
  DeviceReadings Read(const std::string& uuid) const;
  /// The connection of two different GPUs, as far as the library tells it.
  DeviceLink Link(const std::string& uuid, const std::string& other_uuid) const;

 private:
  struct Functions;
  Nvml(void* library, std::unique_ptr<const Functions> functions);

  void* const library_;
  const std::unique_ptr<const Functions> functions_;
};

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_NVML_H_
