// The cases of engine_bench: the CPU engine beside the one-thread code that a program would use otherwise.
#ifndef CORANK_BENCH_ENGINE_CASES_H_
#define CORANK_BENCH_ENGINE_CASES_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/harness/contest.h"
#include "kernels/engine/engine.h"

namespace corank::bench {

struct EngineBenchOptions {
  int log2_count = 24;  // elements of a case: 2^log2_count
  int repetitions = 7;
};

/// Runs one operator on the stream, all phases, and returns the seconds of wall time.
absl::StatusOr<double> TimeOnStream(EngineStream* stream,
                                    const std::function<absl::Status(EngineStream*, OperatorReport*)>& work);

/// Each function appends its cases; `stream` must outlive them.
void AddSortCases(const EngineBenchOptions& options, EngineStream* stream, std::vector<Case>* cases);
void AddMergeCases(const EngineBenchOptions& options, EngineStream* stream, std::vector<Case>* cases);
void AddSearchCases(const EngineBenchOptions& options, EngineStream* stream, std::vector<Case>* cases);
void AddIntervalCases(const EngineBenchOptions& options, EngineStream* stream, std::vector<Case>* cases);

}  // namespace corank::bench

#endif  // CORANK_BENCH_ENGINE_CASES_H_
