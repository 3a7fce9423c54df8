// Command lines of the benchmark programs.
#ifndef CORANK_BENCH_HARNESS_FLAGS_H_
#define CORANK_BENCH_HARNESS_FLAGS_H_

namespace corank::bench {

/// Reads absl flags. Names may have hyphens, as corankd's do: --max-log2 is --max_log2. An unknown flag or argument
/// ends the process with the reason. Also switches off the lock-order checks of Debian's Abseil, as corankd does; the
/// tests keep them.
void ParseFlags(const char* usage, int argc, char** argv);

}  // namespace corank::bench

#endif  // CORANK_BENCH_HARNESS_FLAGS_H_
