// A setting of corankd, and the groups of settings.
#ifndef CORANK_SERVER_CONFIG_SETTING_H_
#define CORANK_SERVER_CONFIG_SETTING_H_

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/config/configuration.h"

namespace corank {

/// A setting: --max-request-bytes, CORANK_MAX_REQUEST_BYTES in the environment, `max-request-bytes = 1MiB` in a file.
struct Setting {
  absl::CommandLineFlag* flag;
  bool hidden = false;  // callers do not see the value: it is secret, a path to a secret, or names tenants

  /// The name with dashes.
  std::string Name() const;
  /// CORANK_<NAME>.
  std::string Variable() const;
};

template <typename T>
Setting Shown(const absl::Flag<T>& flag) {
  return {absl::FindCommandLineFlag(absl::GetFlagReflectionHandle(flag).Name()), false};
}

template <typename T>
Setting Hidden(const absl::Flag<T>& flag) {
  return {absl::FindCommandLineFlag(absl::GetFlagReflectionHandle(flag).Name()), true};
}

/// Related settings: one file of this folder, with their flags and the code that reads them.
struct Group {
  const char* name;
  const char* title;  // for --help
  std::vector<Setting> settings;
  /// Takes over the flags' values after all sources were read. INVALID_ARGUMENT with "--NAME: REASON" for a bad value.
  absl::Status (*read)(Configuration& configuration);
};

/// All groups in reading order: a group's `read` may use the results of earlier ones.
const std::vector<Group>& Groups();

/// The setting with this name, spelled with dashes or underscores; null if there is none.
const Setting* FindSetting(absl::string_view name);

// Checks for groups. INVALID_ARGUMENT with "--NAME: REASON".
absl::Status BadValue(absl::string_view name, absl::string_view reason);
absl::Status CheckRange(absl::string_view name, int64_t value, int64_t least, int64_t most);
absl::Status CheckDuration(absl::string_view name, absl::Duration value, absl::Duration least, absl::Duration most);

/// Takes over a flag's value, which must be in `least` to `most`.
template <typename T, typename Into>
absl::Status Take(const absl::Flag<T>& flag, Into& into, int64_t least,
                  int64_t most = std::numeric_limits<int64_t>::max()) {
  const int64_t value = absl::GetFlag(flag);
  into = static_cast<Into>(value);
  return CheckRange(Shown(flag).Name(), value, least, most);
}
template <typename Into>
absl::Status Take(const absl::Flag<absl::Duration>& flag, Into& into, absl::Duration least,
                  absl::Duration most = absl::Hours(24)) {
  const absl::Duration value = absl::GetFlag(flag);
  if constexpr (std::is_same_v<Into, absl::Duration>) {
    into = value;
  } else {
    into = std::chrono::duration_cast<Into>(absl::ToChronoNanoseconds(value));
  }
  return CheckDuration(Shown(flag).Name(), value, least, most);
}

}  // namespace corank

#endif  // CORANK_SERVER_CONFIG_SETTING_H_
