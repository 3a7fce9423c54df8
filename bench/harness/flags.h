// Command lines of the benchmark programs.
#ifndef CORANK_BENCH_HARNESS_FLAGS_H_
#define CORANK_BENCH_HARNESS_FLAGS_H_

namespace corank::bench {

/// Reads absl flags. Their names may be written with hyphens, as corankd's are: --max-log2 is --max_log2. Ends the
/// process, with the reason, at a flag or an argument that there is not. Also leaves the checks of lock order, which
/// Debian's Abseil has switched on, to the tests: corankd does the same.
void ParseFlags(const char* usage, int argc, char** argv);

}  // namespace corank::bench

#endif  // CORANK_BENCH_HARNESS_FLAGS_H_
