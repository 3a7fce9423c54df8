// Ids by which a caller and the log speak of the same request.
#ifndef CORANK_SERVER_RPC_REQUEST_ID_H_
#define CORANK_SERVER_RPC_REQUEST_ID_H_

#include <cstdint>
#include <string>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"

namespace corank {

/// Key of the trailing metadata.
inline constexpr char kRequestIdKey[] = "x-request-id";

inline std::string MakeRequestId() {
  thread_local absl::BitGen random;
  return absl::StrCat(absl::Hex(absl::Uniform<uint64_t>(random), absl::kZeroPad16));
}

}  // namespace corank

#endif  // CORANK_SERVER_RPC_REQUEST_ID_H_
