// Which kernels a binary has, and which of them were launched, by the names that the compiler gave them: what nvcc's
// host code tells the CUDA runtime is heard on the way (the linker's --wrap). No GPU is needed to know the names.
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

/// What the source calls a kernel of the engine, whatever its template arguments, and the file that it is in if it is
/// that file's own: "select_cu SelectKernel", "IntervalKernel". Empty for kernels of others.
std::string KernelFamily(absl::string_view mangled);
/// As C++ has it: "void corank::cuda::IntervalKernel<...>(...)".
std::string Demangled(const std::string& mangled);

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_KERNEL_NAMES_H_
