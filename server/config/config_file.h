// The configuration file: `name = value`, one a line.
#ifndef CORANK_SERVER_CONFIG_CONFIG_FILE_H_
#define CORANK_SERVER_CONFIG_CONFIG_FILE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace corank {

struct ConfigLine {
  int number = 0;  // from 1
  std::string name;
  std::string value;
  std::string error;  // why this line is invalid; empty: it is valid
};

/// The lines that are neither empty nor comments. A # at the start of a line or after a blank starts a comment. A value
/// in double quotes may contain a # and start or end with blanks; a double quote inside it is written twice.
std::vector<ConfigLine> ParseConfig(absl::string_view text);

}  // namespace corank

#endif  // CORANK_SERVER_CONFIG_CONFIG_FILE_H_
