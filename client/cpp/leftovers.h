// Names in shared memory that clients left behind which were killed before they could take them away.
#ifndef CORANK_CLIENT_CPP_LEFTOVERS_H_
#define CORANK_CLIENT_CPP_LEFTOVERS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace corank::client {

/// What a client calls an object of shared memory: `prefix`, the number of this process, a dash, 16 hexadecimal digits.
std::string ObjectName(absl::string_view prefix);

/// Shows other clients that the object is in use, for as long as it is open or mapped.
void HoldObject(int fd);

/// Takes away what this user's clients left in a folder: objects with a client's name that nobody holds. Young ones
/// stay: a client may be about to hold them. `prefix` as in ObjectName.
void RemoveLeftovers(absl::string_view prefix, const std::string& folder = "/dev/shm");

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_LEFTOVERS_H_
