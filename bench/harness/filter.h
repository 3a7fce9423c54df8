// The --filter flag of the benchmark programs.
#ifndef CORANK_BENCH_HARNESS_FILTER_H_
#define CORANK_BENCH_HARNESS_FILTER_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace corank::bench {

/// Whether a name contains a match of `pattern`, a POSIX extended regular expression. INVALID_ARGUMENT, with the
/// reason, if the pattern is invalid.
absl::StatusOr<std::function<bool(const std::string& name)>> MakeFilter(const std::string& pattern);

}  // namespace corank::bench

#endif  // CORANK_BENCH_HARNESS_FILTER_H_
