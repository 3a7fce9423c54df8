// Names that callers give to regions and stored arrays.
#ifndef CORANK_SERVER_MEMORY_NAMES_H_
#define CORANK_SERVER_MEMORY_NAMES_H_

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "server/base/errors.h"

namespace corank {

/// A name of one tenant. Other tenants cannot find what it names.
using OwnedName = std::pair<std::string, std::string>;  // owner, name

inline absl::Status CheckName(absl::string_view field, absl::string_view name) {
  constexpr size_t kMostCharacters = 128;
  const bool valid =
      !name.empty() && name.size() <= kMostCharacters && std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
      });
  if (valid) return absl::OkStatus();
  return InvalidField(field, "must be 1 to 128 characters of [A-Za-z0-9._-]");
}

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_NAMES_H_
