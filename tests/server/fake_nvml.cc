// A double of NVIDIA's management library. Its GPUs always report the same; "GPU-mute" reports nothing. Four links
// connect the first GPU with "GPU-near". Both have two more links to a switch, and "GPU-far" has eighteen to it.
#include <cstring>

extern "C" {

struct Utilisation {
  unsigned int gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;  // NOLINT(google-runtime-int): the library's
};

struct PciInfo {
  char legacy_bus_id[16];
  unsigned int domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

static int gpu;                // the target of a device handle
static int mute_gpu;           // all its readings fail
static int near_gpu, far_gpu;  // from the first one
static int starts;             // calls of nvmlInit_v2 minus calls of nvmlShutdown
constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;

int fakeNvmlStarts() { return starts; }

int nvmlInit_v2() {
  ++starts;
  return kSuccess;
}

int nvmlShutdown() {
  --starts;
  return kSuccess;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, int** device) {
  if (starts <= 0) return kInvalidArgument;
  *device = &gpu;
  if (std::strcmp(uuid, "GPU-mute") == 0) *device = &mute_gpu;
  if (std::strcmp(uuid, "GPU-near") == 0) *device = &near_gpu;
  if (std::strcmp(uuid, "GPU-far") == 0) *device = &far_gpu;
  return std::strncmp(uuid, "GPU-", 4) == 0 ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetUtilizationRates(const int* device, Utilisation* rates) {
  if (device == &mute_gpu) return kNotSupported;
  *rates = {37, 12};
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(const int* device, Memory* memory) {
  if (device == &mute_gpu) return kNotSupported;
  *memory = {150'000'000'000, 130'000'000'000, 20'000'000'000};
  return kSuccess;
}

int nvmlDeviceGetPowerUsage(const int* device, unsigned int* milliwatts) {
  if (device == &mute_gpu) return kNotSupported;
  *milliwatts = 345'600;
  return kSuccess;
}

int nvmlDeviceGetTemperature(const int* device, unsigned int sensor, unsigned int* celsius) {
  if (device == &mute_gpu || sensor != 0) return kNotSupported;
  *celsius = 61;
  return kSuccess;
}

int nvmlDeviceGetTopologyCommonAncestor(const int* device, const int* other, int* level) {
  if (device == &mute_gpu || other == &mute_gpu) return kNotSupported;
  *level = device == &far_gpu || other == &far_gpu ? 40 : 20;
  return kSuccess;
}

int nvmlDeviceGetP2PStatus(const int* device, const int* other, int capability, int* status) {
  if (device == &mute_gpu || other == &mute_gpu) return kNotSupported;
  *status = capability == 2 ? 0 : 5;
  return kSuccess;
}

static unsigned int BusOf(const int* device) { return device == &gpu ? 1 : device == &near_gpu ? 2 : 3; }

int nvmlDeviceGetPciInfo_v3(const int* device, PciInfo* info) {
  if (device == &mute_gpu) return kNotSupported;
  *info = {};
  info->bus = BusOf(device);
  return kSuccess;
}

int nvmlDeviceGetNvLinkState(const int* device, unsigned int link, int* is_active) {
  if (device == &mute_gpu || link >= 18) return kInvalidArgument;
  *is_active = device == &far_gpu || link < 6 ? 1 : 0;
  return kSuccess;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(const int* device, unsigned int link, PciInfo* info) {
  constexpr unsigned int kSwitch = 9;
  *info = {};
  info->bus = kSwitch;
  if (device != &far_gpu && link < 4) info->bus = BusOf(device == &gpu ? &near_gpu : &gpu);
  return kSuccess;
}

}  // extern "C"
