// The kernels of a binary, and the launched ones, by their mangled names. The linker's --wrap intercepts what nvcc's
// host code registers with the CUDA runtime. The names are available without a GPU.
#ifndef CORANK_TESTS_FAULTS_KERNEL_NAMES_H_
#define CORANK_TESTS_FAULTS_KERNEL_NAMES_H_

#include <cuda_runtime_api.h>

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace corank::testing {

/// All kernels of this binary, mangled.
std::set<std::string> CudaKernels();

/// Notes a launch; from now on, LaunchedCudaKernels has it.
void NoteLaunch(cudaKernel_t kernel);
void NoteLaunch(const void* host_function);
std::set<std::string> LaunchedCudaKernels();
void ForgetLaunches();

/// The name of an engine's kernel in the source, without template arguments, preceded by its file if the kernel is
/// local to the file: "select_cu SelectKernel", "IntervalKernel". Empty for kernels of others.
std::string KernelFamily(absl::string_view mangled);
/// In C++ syntax: "void corank::cuda::IntervalKernel<...>(...)".
std::string Demangled(const std::string& mangled);

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_KERNEL_NAMES_H_
