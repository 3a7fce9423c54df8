#include "bench/harness/filter.h"

#include <regex.h>

#include <array>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace corank::bench {

absl::StatusOr<std::function<bool(const std::string& name)>> MakeFilter(const std::string& pattern) {
  auto compiled = std::make_unique<regex_t>();
  const int error = regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::array<char, 128> reason;
    regerror(error, compiled.get(), reason.data(), reason.size());
    return absl::InvalidArgumentError(absl::StrCat("--filter=", pattern, ": ", reason.data()));
  }
  const std::shared_ptr<regex_t> shared(compiled.release(), [](regex_t* regex) {
    regfree(regex);
    delete regex;
  });
  return [shared](const std::string& name) { return regexec(shared.get(), name.c_str(), 0, nullptr, 0) == 0; };
}

}  // namespace corank::bench
