#include "server/observe/nvml.h"

#include <dlfcn.h>

#include <algorithm>
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
struct NvmlPciInfo {
  char legacy_bus_id[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int device_id;
  unsigned int subsystem_id;
  char bus_id[32];
};
constexpr int kSuccess = 0;
constexpr int kMultipleSwitches = 20;  // of the levels at which paths to the host meet: below a host bridge
constexpr unsigned int kMostNvLinks = 36;
constexpr int kP2pByNvLink = 2, kP2pIsFine = 0;
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
  // Null where the library lacks them.
  int (*common_ancestor)(NvmlDevice, NvmlDevice, int*) = nullptr;
  int (*p2p_status)(NvmlDevice, NvmlDevice, int, int*) = nullptr;
  int (*pci_info)(NvmlDevice, NvmlPciInfo*) = nullptr;
  int (*link_state)(NvmlDevice, unsigned int, int*) = nullptr;
  int (*link_remote)(NvmlDevice, unsigned int, NvmlPciInfo*) = nullptr;

  int NvLinks(NvmlDevice device, NvmlDevice other) const;
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
  Find(library, "nvmlDeviceGetTopologyCommonAncestor", functions->common_ancestor);
  Find(library, "nvmlDeviceGetP2PStatus", functions->p2p_status);
  Find(library, "nvmlDeviceGetPciInfo_v3", functions->pci_info);
  Find(library, "nvmlDeviceGetNvLinkState", functions->link_state);
  Find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", functions->link_remote);
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

// The links that lead to the other GPU. Without any, both are connected by switches, and all links of a GPU lead there.
int Nvml::Functions::NvLinks(NvmlDevice device, NvmlDevice other) const {
  int status = -1;
  if (p2p_status == nullptr || p2p_status(device, other, kP2pByNvLink, &status) != kSuccess || status != kP2pIsFine) {
    return 0;
  }
  NvmlPciInfo of_other{};
  if (pci_info == nullptr || link_state == nullptr || link_remote == nullptr ||
      pci_info(other, &of_other) != kSuccess) {
    return 1;  // or more
  }
  int direct = 0, all = 0;
  for (unsigned int link = 0; link < kMostNvLinks; ++link) {
    int is_active = 0;
    if (link_state(device, link, &is_active) != kSuccess || is_active == 0) continue;
    ++all;
    NvmlPciInfo remote{};
    const bool is_direct = link_remote(device, link, &remote) == kSuccess && remote.domain == of_other.domain &&
                           remote.bus == of_other.bus && remote.device == of_other.device;
    if (is_direct) ++direct;
  }
  return direct > 0 ? direct : std::max(1, all);
}

DeviceLink Nvml::Link(const std::string& uuid, const std::string& other_uuid) const {
  DeviceLink link;
  NvmlDevice device = nullptr, other = nullptr;
  if (functions_->device_by_uuid(uuid.c_str(), &device) != kSuccess ||
      functions_->device_by_uuid(other_uuid.c_str(), &other) != kSuccess) {
    return link;
  }
  link.nvlinks = std::min(functions_->NvLinks(device, other), functions_->NvLinks(other, device));
  int level = 0;
  link.shares_bus = functions_->common_ancestor != nullptr &&
                    functions_->common_ancestor(device, other, &level) == kSuccess && level <= kMultipleSwitches;
  return link;
}

}  // namespace corank
