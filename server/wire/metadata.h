// Metadata of calls, and its encodings in HTTP/2 headers, as gRPC's PROTOCOL-HTTP2 document has them.
#ifndef CORANK_SERVER_WIRE_METADATA_H_
#define CORANK_SERVER_WIRE_METADATA_H_

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace corank::wire {

/// Keys in lower case, in order of arrival. Values of keys that end in "-bin" are bytes; others are printable ASCII.
class Metadata {
 public:
  using Entry = std::pair<std::string, std::string>;

  void Add(absl::string_view key, absl::string_view value) { entries_.emplace_back(key, value); }
  /// The value if there is exactly one, else empty.
  absl::string_view Get(absl::string_view key) const;
  /// Every value. Borrows from this object.
  std::vector<absl::string_view> All(absl::string_view key) const;
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// Whether the values of the key are bytes, which travel in base64.
bool IsBinary(absl::string_view key);

/// The bytes of a value that travelled; values joined by commas are one value each. Nothing if it is not base64.
std::optional<std::vector<std::string>> DecodeBinary(absl::string_view value);
std::string EncodeBinary(absl::string_view bytes);

/// `grpc-message`: percent-encoding of everything but printable ASCII.
std::string EncodeMessage(absl::string_view message);

/// Encodes a value unless it did so last. Refusals of a flood are alike, and must be cheap.
class LastEncoded {
 public:
  explicit LastEncoded(std::string (*encode)(absl::string_view)) : encode_(encode) {}
  /// Valid until it is called again.
  const std::string& TextOf(absl::string_view value);

 private:
  std::string (*const encode_)(absl::string_view);
  std::string value_, text_;
};

/// `grpc-timeout`: at most eight digits and a unit. Nothing if it is anything else.
std::optional<std::chrono::nanoseconds> ParseTimeout(absl::string_view value);

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_METADATA_H_
