// The inline arrays of a request, apart from its message.
#ifndef CORANK_SERVER_PLAN_PAYLOADS_H_
#define CORANK_SERVER_PLAN_PAYLOADS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "corank/v1/array.pb.h"
#include "google/protobuf/message.h"

namespace corank {

/// Maps the arrays of a message to their bytes in pinned memory.
class Payloads {
 public:
  /// Keeps memory of the host pool that payloads lie in, `pinned_bytes` of the pool.
  void Keep(std::shared_ptr<const void> memory, int64_t pinned_bytes) {
    memory_.push_back(std::move(memory));
    pinned_bytes_ += pinned_bytes;
  }
  /// Call it in the order of the message. `holder`: an Array of it. If one array has several payloads, the last one
  /// counts, as in protobuf. `bytes`: in memory that is kept, aligned to 16 bytes.
  void Add(const google::protobuf::Message* holder, absl::string_view bytes) {
    by_holder_[holder] = bytes;
    in_order_.push_back(bytes);
  }

  /// The bytes of an inline array of the message, aligned to 16 bytes.
  absl::string_view Find(const v1::Array& array) const {
    const auto found = by_holder_.find(&array);
    return found == by_holder_.end() ? absl::string_view() : found->second;
  }
  /// Differs, almost surely, if the number, lengths or bytes of the payloads differ. Comparable within this process
  /// only.
  uint64_t Fingerprint() const { return absl::Hash<std::vector<absl::string_view>>()(in_order_); }
  /// Bytes of the pool that the payloads occupy.
  int64_t pinned_bytes() const { return pinned_bytes_; }

 private:
  std::vector<std::shared_ptr<const void>> memory_;
  int64_t pinned_bytes_ = 0;
  absl::flat_hash_map<const google::protobuf::Message*, absl::string_view> by_holder_;
  std::vector<absl::string_view> in_order_;
};

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_PAYLOADS_H_
