// The cases of kernel_bench: the CUDA engine's kernels beside CUB, Thrust and the hardware's own bounds.
#ifndef CORANK_BENCH_KERNELS_CASES_H_
#define CORANK_BENCH_KERNELS_CASES_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/harness/contest.h"
#include "bench/kernels/gpu.h"

namespace corank::bench {

struct KernelBenchOptions {
  int max_log2 = 28;   // the most elements of a case: 2^max_log2
  bool quick = false;  // few repetitions

  int64_t Count(int log2) const { return int64_t{1} << std::min(log2, max_log2); }
  /// Many repetitions for work of microseconds, few for work of a second.
  int Repetitions(int64_t count) const {
    if (quick) return 3;
    return count <= (int64_t{1} << 20) ? 101 : count <= (int64_t{1} << 24) ? 31 : count <= (int64_t{1} << 28) ? 9 : 5;
  }
};

/// Rates of this machine's hardware, measured once for the goals that name them.
struct Ceilings {
  Ceiling copy{"device copy", 0};       // device to device, read + write
  Ceiling write{"write bandwidth", 0};  // fill
  Ceiling read{"read bandwidth", 0};    // a kernel that only reads
};

/// A case that reports its one row as failed if it cannot run.
inline Case CaseOf(std::string name, const KernelBenchOptions& options, const Row& row,
                   std::function<absl::StatusOr<Contest>()> prepare) {
  return {std::move(name), options.Repetitions(row.n), row, std::move(prepare)};
}

/// Measures the ceilings that goals name.
absl::Status MeasureCeilings(Gpu* gpu, Ceilings* ceilings);

/// Each function appends its cases; `gpu` and `ceilings` must outlive them.
void AddCeilingCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases);
void AddSortCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases);
void AddColumnCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases);
void AddSegmentedCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases);
void AddMergeCases(const KernelBenchOptions& options, Gpu* gpu, const Ceilings* ceilings, std::vector<Case>* cases);
void AddGroupCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases);
void AddJoinCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases);
void AddSetCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases);
void AddSelectCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases);
void AddTopKCases(const KernelBenchOptions& options, Gpu* gpu, const Ceilings* ceilings, std::vector<Case>* cases);
void AddInsertCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases);
void AddRankCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases);
void AddSearchCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases);
void AddIntervalCases(const KernelBenchOptions& options, Gpu* gpu, const Ceilings* ceilings, std::vector<Case>* cases);

}  // namespace corank::bench

#endif  // CORANK_BENCH_KERNELS_CASES_H_
