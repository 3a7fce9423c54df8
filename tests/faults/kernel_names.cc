#include "tests/faults/kernel_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace corank::testing {
namespace {

struct Kernels {
  std::map<const void*, std::string> names;            // by host function
  std::map<cudaKernel_t, const void*> host_functions;  // of launched kernels
  std::set<std::string> launched;
};

// Kernels are registered before main, in any order.
Kernels& AllKernels() {
  static Kernels& kernels = *new Kernels;
  return kernels;
}

size_t TakeNumber(absl::string_view* text) {
  size_t number = 0;
  while (!text->empty() && absl::ascii_isdigit(static_cast<unsigned char>(text->front()))) {
    number = 10 * number + static_cast<size_t>(text->front() - '0');
    text->remove_prefix(1);
  }
  return number;
}

// The next part of a mangled name, such as "12SelectKernel". Empty at the end.
absl::string_view TakePart(absl::string_view* mangled) {
  const size_t length = TakeNumber(mangled);
  const absl::string_view part = mangled->substr(0, length);
  mangled->remove_prefix(part.size());
  return part;
}

}  // namespace

std::set<std::string> CudaKernels() {
  std::set<std::string> names;
  for (const auto& [host_function, name] : AllKernels().names) names.insert(name);
  return names;
}

void NoteLaunch(cudaKernel_t kernel) {
  const auto found = AllKernels().host_functions.find(kernel);
  if (found != AllKernels().host_functions.end()) NoteLaunch(found->second);
}

void NoteLaunch(const void* host_function) {
  const auto found = AllKernels().names.find(host_function);
  if (found != AllKernels().names.end()) AllKernels().launched.insert(found->second);
}

std::set<std::string> LaunchedCudaKernels() { return AllKernels().launched; }
void ForgetLaunches() { AllKernels().launched.clear(); }

std::string KernelFamily(absl::string_view mangled) {
  if (!absl::ConsumePrefix(&mangled, "_ZN6corank4cuda")) return "";
  std::string file;
  absl::string_view name;
  for (absl::string_view part = TakePart(&mangled); !part.empty(); part = TakePart(&mangled)) {
    name = part;
    // nvcc's unnamed namespaces: "_GLOBAL__N__1641da03_9_select_cu_2362d253".
    if (!absl::ConsumePrefix(&part, "_GLOBAL__N__")) continue;
    part.remove_prefix(part.find('_') == part.npos ? part.size() : part.find('_') + 1);
    const size_t length = TakeNumber(&part);
    absl::ConsumePrefix(&part, "_");
    file = std::string(part.substr(0, length)) + " ";
  }
  return file + std::string(name);
}

std::string Demangled(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? name.get() : mangled;
}

extern "C" void __real___cudaRegisterFunction(void** module, const char* host_function, char* device_function,
                                              const char* name, int thread_limit, uint3* thread, uint3* block,
                                              dim3* block_size, dim3* grid_size, int* warp_size);
extern "C" void __wrap___cudaRegisterFunction(void** module, const char* host_function, char* device_function,
                                              const char* name, int thread_limit, uint3* thread, uint3* block,
                                              dim3* block_size, dim3* grid_size, int* warp_size) {
  AllKernels().names[host_function] = name;
  __real___cudaRegisterFunction(module, host_function, device_function, name, thread_limit, thread, block, block_size,
                                grid_size, warp_size);
}

// The first launch of a kernel asks for the handle that later launches use.
extern "C" cudaError_t __real___cudaGetKernel(cudaKernel_t* kernel, const void* host_function);
extern "C" cudaError_t __wrap___cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  const cudaError_t result = __real___cudaGetKernel(kernel, host_function);
  if (result == cudaSuccess) AllKernels().host_functions[*kernel] = host_function;
  return result;
}

}  // namespace corank::testing
