// Arrays and numbers of the conformance driver as JSON, which protobuf parses.
#ifndef CORANK_CLIENT_CPP_CONFORMANCE_JSON_ARRAYS_H_
#define CORANK_CLIENT_CPP_CONFORMANCE_JSON_ARRAYS_H_

#include <google/protobuf/struct.pb.h>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "corank/client.h"

namespace corank::conformance {

using Json = google::protobuf::Struct;
using Value = google::protobuf::Value;

/// The member of this name; null if there is none, or if it is null.
const Value* Find(const Json& object, const std::string& name);
/// Members with defaults.
std::string Text(const Json& object, const std::string& name, const std::string& otherwise = "");
int64_t Number(const Json& object, const std::string& name, int64_t otherwise = 0);
bool Flag(const Json& object, const std::string& name);

/// Sets members.
void Set(Json& object, const std::string& name, const std::string& text);
void Set(Json& object, const std::string& name, double number);
void Set(Json& object, const std::string& name, Json value);
/// Appends an object to the list of this name.
void Append(Json& object, const std::string& name, Json value);

/// Bytes that views of one command borrow.
class Storage {
 public:
  /// The array of a command: its bytes, or the array that the server keeps. In a chain, the result of an operation.
  client::ArrayView View(const Json& array);
  /// An array of these bytes.
  client::ArrayView Own(client::ElementType type, std::string bytes) {
    return {type, bytes_.emplace_back(std::move(bytes))};
  }
  /// These numbers.
  absl::Span<const int64_t> Own(std::vector<int64_t> numbers) { return numbers_.emplace_back(std::move(numbers)); }
  /// The numbers of an INT64 array. Empty if the server keeps it, for `kept_counts` is lacking.
  absl::Span<const int64_t> Numbers(const Json& array);

 private:
  std::deque<std::string> bytes_;
  std::deque<std::vector<int64_t>> numbers_;
};

/// The name that a chain keeps a result of an operation under.
std::string TemporaryName(int64_t operation, absl::string_view result);

client::ElementType TypeOf(const Json& array);
/// "type" and, for records, "record_bytes".
void SetType(Json& object, client::ElementType type);
/// An array as an answer has it: bytes, or a digest of them. `is_index`: a digest is one of INT64.
Json ArrayJson(const client::Array& array, bool digest, bool is_index);

}  // namespace corank::conformance

#endif  // CORANK_CLIENT_CPP_CONFORMANCE_JSON_ARRAYS_H_
