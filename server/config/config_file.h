// The configuration file: `name = value`, one a line.
#ifndef CORANK_SERVER_CONFIG_CONFIG_FILE_H_
#define CORANK_SERVER_CONFIG_CONFIG_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace corank {

struct ConfigLine {
  int number = 0;  // from 1
  std::string name;
  std::string value;
  std::string error;  // why this line cannot be read; empty: it can
};

/// The lines that are neither empty nor comments. A # at the begin of a line, or after a blank, begins a comment. A
/// value may stand in double quotes; then it may hold a # and begin and end with blanks, and each double quote that it
/// holds is written twice.
std::vector<ConfigLine> ParseConfig(absl::string_view text);

/// INVALID_ARGUMENT with the reason where it cannot be read or is larger than 1 MiB.
absl::StatusOr<std::string> ReadConfigFile(const std::string& path);

}  // namespace corank

#endif  // CORANK_SERVER_CONFIG_CONFIG_FILE_H_
