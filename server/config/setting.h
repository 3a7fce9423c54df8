// A setting of corankd, and the groups that settings come in.
#ifndef CORANK_SERVER_CONFIG_SETTING_H_
#define CORANK_SERVER_CONFIG_SETTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/config/configuration.h"

namespace corank {

/// A flag: --max-request-bytes, CORANK_MAX_REQUEST_BYTES in the environment, `max-request-bytes = 1MiB` in a file.
struct Setting {
  absl::CommandLineFlag* flag;
  bool hidden = false;  // callers are not told the value: it is a secret, or says where one lies, or names tenants

  /// With dashes.
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

/// Settings that belong together: one file of this folder, with their flags and with what reads them.
struct Group {
  const char* name;
  const char* title;  // for --help
  std::vector<Setting> settings;
  /// Takes the flags' values over, once all have been given. INVALID_ARGUMENT with "--NAME: REASON" where one will not
  /// do.
  absl::Status (*read)(Configuration& configuration);
};

/// All groups, in the order in which they are read: a group's `read` may use what those before it read.
const std::vector<const Group*>& Groups();

/// The name's setting, spelled with dashes or underscores, and its group; nulls where there is none.
struct Found {
  const Group* group = nullptr;
  const Setting* setting = nullptr;
};
Found FindSetting(absl::string_view name);

// What the groups check by. INVALID_ARGUMENT with "--NAME: REASON".
absl::Status BadValue(absl::string_view name, absl::string_view reason);
absl::Status CheckRange(absl::string_view name, int64_t value, int64_t least, int64_t most);
/// At most 24 hours.
absl::Status CheckDuration(absl::string_view name, absl::Duration value, absl::Duration least);

}  // namespace corank

#endif  // CORANK_SERVER_CONFIG_SETTING_H_
