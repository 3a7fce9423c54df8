// Shared-memory objects that killed clients left behind.
#ifndef CORANK_CLIENT_CPP_LEFTOVERS_H_
#define CORANK_CLIENT_CPP_LEFTOVERS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace corank::client {

/// A new name for a shared-memory object: `prefix`, the process id, a dash, 16 hexadecimal digits.
std::string ObjectName(absl::string_view prefix);

/// Marks the object as in use while it is open or mapped.
void HoldObject(int fd);

/// Removes this user's leftovers from a folder: objects with a client's name that nobody holds. Young objects stay,
/// because a client may be about to hold them. `prefix` is as in ObjectName.
void RemoveLeftovers(absl::string_view prefix, const std::string& folder = "/dev/shm");

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_LEFTOVERS_H_
