// The shared parts of fuzz targets. Each target is one file with the two functions below. libFuzzer drives it under
// Clang (`make fuzz`); replay.cc runs its seeds, its corpus and simple mutations of both everywhere else (`make test`).
#ifndef CORANK_TESTS_FUZZ_FUZZ_TARGET_H_
#define CORANK_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

/// Runs one input. Aborts the process if a check fails.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace corank::fuzz {

/// Inputs from which fuzzing starts. At least one of them reaches the end of the target.
std::vector<std::string> Seeds();

[[noreturn]] void Fail(const char* file, int line, const char* what, const std::string& more);

/// Consumes an input from its front. Past the end, numbers are 0 and strings are empty.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  explicit Input(absl::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  uint8_t Byte() { return empty() ? 0 : static_cast<uint8_t>(Take(1)[0]); }
  /// A number from 0 to below - 1.
  int Choice(int below) { return Byte() % below; }
  bool Bit() { return (Byte() & 1) != 0; }
  /// Mostly small numbers, and sometimes the limits of 63 bits.
  int64_t Number();
  absl::string_view Take(size_t bytes);
  absl::string_view Rest() { return Take(rest_.size()); }

 private:
  absl::string_view rest_;
};

/// Ends each part of an input: a mutation that makes one part longer leaves the others unchanged.
inline constexpr absl::string_view kSeparator("\xfe\xed", 2);
std::vector<absl::string_view> Parts(absl::string_view bytes);
std::string Join(const std::vector<std::string>& parts);

}  // namespace corank::fuzz

#define FUZZ_CHECK(condition, more)                                                 \
  do {                                                                              \
    if (!(condition)) ::corank::fuzz::Fail(__FILE__, __LINE__, #condition, (more)); \
  } while (false)

#endif  // CORANK_TESTS_FUZZ_FUZZ_TARGET_H_
