// A double of NVIDIA's management library, with one GPU that always reports the same, and one that reports nothing.
#include <cstring>

extern "C" {

struct Utilisation {
  unsigned int gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;  // NOLINT(google-runtime-int): the library's
};

static int gpu;       // the target of a device handle
static int mute_gpu;  // all its readings fail
static int starts;    // calls of nvmlInit_v2 minus calls of nvmlShutdown
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
  *device = std::strcmp(uuid, "GPU-mute") == 0 ? &mute_gpu : &gpu;
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

}  // extern "C"
