#include "server/observe/nvml.h"

#include <dlfcn.h>

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace corank {
namespace {

// As declared by nvml.h of driver 450 and later; the ABI is stable.
using NvmlDevice = struct NvmlDeviceTag*;
struct NvmlUtilisation {
  unsigned int gpu;  // percent
  unsigned int memory;
};
struct NvmlMemory {
  unsigned long long total;  // NOLINT(google-runtime-int): the library's
  unsigned long long free;   // NOLINT(google-runtime-int)
  unsigned long long used;   // NOLINT(google-runtime-int)
};
constexpr int kSuccess = 0;
constexpr unsigned int kTemperatureOfGpu = 0;
constexpr double kMilliwatts = 1e3;

template <typename Function>
bool Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_uuid)(const char*, NvmlDevice*) = nullptr;
  int (*utilisation)(NvmlDevice, NvmlUtilisation*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*power)(NvmlDevice, unsigned int*) = nullptr;
  int (*temperature)(NvmlDevice, unsigned int, unsigned int*) = nullptr;
};

absl::StatusOr<std::unique_ptr<Nvml>> Nvml::Load(const char* name) {
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(absl::StrCat("no ", name));
  auto functions = std::make_unique<Functions>();
  const bool complete = Find(library, "nvmlInit_v2", functions->init) &&
                        Find(library, "nvmlShutdown", functions->shutdown) &&
                        Find(library, "nvmlDeviceGetHandleByUUID", functions->device_by_uuid) &&
                        Find(library, "nvmlDeviceGetUtilizationRates", functions->utilisation) &&
                        Find(library, "nvmlDeviceGetMemoryInfo", functions->memory) &&
                        Find(library, "nvmlDeviceGetPowerUsage", functions->power) &&
                        Find(library, "nvmlDeviceGetTemperature", functions->temperature);
  const int error = complete ? functions->init() : 0;
  if (complete && error == kSuccess) return std::unique_ptr<Nvml>(new Nvml(library, std::move(functions)));
  dlclose(library);
  return absl::UnavailableError(complete ? absl::StrCat(name, " does not start: error ", error)
                                         : absl::StrCat(name, " lacks a function"));
}

Nvml::Nvml(void* library, std::unique_ptr<const Functions> functions)
    : library_(library), functions_(std::move(functions)) {}

Nvml::~Nvml() {
  functions_->shutdown();
  dlclose(library_);
}

DeviceReadings Nvml::Read(const std::string& uuid) const {
  DeviceReadings readings;
  NvmlDevice device = nullptr;
  if (functions_->device_by_uuid(uuid.c_str(), &device) != kSuccess) return readings;
  NvmlUtilisation utilisation{};
  if (functions_->utilisation(device, &utilisation) == kSuccess) readings.utilisation = utilisation.gpu / 100.0;
  NvmlMemory memory{};
  if (functions_->memory(device, &memory) == kSuccess) {
    readings.memory_used_bytes = static_cast<int64_t>(memory.used);
    readings.memory_total_bytes = static_cast<int64_t>(memory.total);
  }
  unsigned int milliwatts = 0;
  if (functions_->power(device, &milliwatts) == kSuccess) readings.power_watts = milliwatts / kMilliwatts;
  unsigned int celsius = 0;
  if (functions_->temperature(device, kTemperatureOfGpu, &celsius) == kSuccess) readings.temperature_celsius = celsius;
  return readings;
}

}  // namespace corank
