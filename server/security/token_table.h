// The tokens file: which token, and which client certificate, is whose, and what its holder may do.
//
//   # tenant     credential                                   permissions
//   analytics    9f86d081884c7d659a2feaa0c55ad015...0f00a08    all
//   reports      60303ae22b998861bce3b28f33eec1be...a08fe4d    sort,merge,stored-arrays   # until March
//   node-7       certificate:node-7.example.com               operators,shared-memory
//
// The credential is the SHA-256 of a token in hexadecimal digits, so that the file contains no secret, or a name in a
// client certificate. The holder has the listed permissions and no others (permissions.h).
#ifndef CORANK_SERVER_SECURITY_TOKEN_TABLE_H_
#define CORANK_SERVER_SECURITY_TOKEN_TABLE_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/security/caller.h"

namespace corank {

/// Immutable and thread-safe.
class TokenTable {
 public:
  /// INVALID_ARGUMENT names the line and the error; also if there is no credential at all, if one appears twice, and if
  /// one is the hash of an empty token.
  static absl::StatusOr<std::shared_ptr<const TokenTable>> Parse(absl::string_view text);

  /// Null: unknown. The time taken reveals nothing about the tokens in the table.
  std::shared_ptr<const Caller> FindToken(absl::string_view token) const;
  std::shared_ptr<const Caller> FindCertificate(absl::string_view name) const;

  size_t size() const { return by_prefix_.size() + certificates_.size(); }

 private:
  using Digest = std::array<uint8_t, 32>;
  struct Entry {
    Digest digest;
    std::shared_ptr<const Caller> caller;
  };

  static Digest DigestOf(absl::string_view token);
  absl::Status Add(absl::string_view line);

  // By the first bytes of the digest, which nobody can choose; the rest is compared in constant time.
  std::multimap<uint64_t, Entry> by_prefix_;
  absl::flat_hash_map<std::string, std::shared_ptr<const Caller>> certificates_;
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_TOKEN_TABLE_H_
