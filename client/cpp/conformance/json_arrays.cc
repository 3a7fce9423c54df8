#include "client/cpp/conformance/json_arrays.h"

#include <openssl/sha.h>

#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace corank::conformance {
namespace {

// The generator "hash".
std::string Hashed(uint32_t seed, size_t size) {
  std::string bytes((size + 3) / 4 * 4, '\0');
  for (size_t at = 0; at < bytes.size(); at += 4) {
    uint32_t word = seed + static_cast<uint32_t>(at / 4);
    word ^= word >> 16;
    word *= 0x85ebca6b;
    word ^= word >> 13;
    word *= 0xc2b2ae35;
    word ^= word >> 16;
    std::memcpy(bytes.data() + at, &word, sizeof(word));
  }
  bytes.resize(size);
  return bytes;
}

// The generator "ramp": the low bytes of each number.
std::string Ramp(int64_t start, int64_t step, int64_t count, int width) {
  std::string bytes(static_cast<size_t>(count * width), '\0');
  for (int64_t at = 0; at < count; ++at) {
    const int64_t number = start + at * step;
    std::memcpy(bytes.data() + at * width, &number, width);
  }
  return bytes;
}

std::string BytesOf(const Json& array) {
  if (Find(array, "data") != nullptr) {
    std::string bytes;
    absl::Base64Unescape(Text(array, "data"), &bytes);
    return bytes;
  }
  const int width = TypeOf(array).bytes();
  const int64_t count = Number(array, "count");
  if (Text(array, "generator") == "ramp") return Ramp(Number(array, "start"), Number(array, "step"), count, width);
  return Hashed(static_cast<uint32_t>(Number(array, "seed")), static_cast<size_t>(count * width));
}

}  // namespace

const Value* Find(const Json& object, const std::string& name) {
  const auto found = object.fields().find(name);
  if (found == object.fields().end() || found->second.has_null_value()) return nullptr;
  return &found->second;
}

std::string Text(const Json& object, const std::string& name, const std::string& otherwise) {
  const Value* value = Find(object, name);
  return value == nullptr ? otherwise : value->string_value();
}

int64_t Number(const Json& object, const std::string& name, int64_t otherwise) {
  const Value* value = Find(object, name);
  return value == nullptr ? otherwise : static_cast<int64_t>(value->number_value());
}

bool Flag(const Json& object, const std::string& name) {
  const Value* value = Find(object, name);
  return value != nullptr && value->bool_value();
}

void Set(Json& object, const std::string& name, const std::string& text) {
  (*object.mutable_fields())[name].set_string_value(text);
}

void Set(Json& object, const std::string& name, double number) {
  (*object.mutable_fields())[name].set_number_value(number);
}

void Set(Json& object, const std::string& name, Json value) {
  *(*object.mutable_fields())[name].mutable_struct_value() = std::move(value);
}

void Append(Json& object, const std::string& name, Json value) {
  *(*object.mutable_fields())[name].mutable_list_value()->add_values()->mutable_struct_value() = std::move(value);
}

std::string TemporaryName(int64_t operation, absl::string_view result) {
  return absl::StrCat("operation-", operation, ".", result);
}

client::ElementType TypeOf(const Json& array) {
  const std::string name = Text(array, "type");
  for (const KeyType type : kAllKeyTypes) {
    if (name == KeyTypeName(type)) return type;
  }
  return client::ElementType::Record(static_cast<int>(Number(array, "record_bytes")));
}

void SetType(Json& object, client::ElementType type) {
  Set(object, "type", type.is_record() ? std::string("record") : std::string(KeyTypeName(type.key_type())));
  if (type.is_record()) Set(object, "record_bytes", type.bytes());
}

client::ArrayView Storage::View(const Json& array) {
  const int64_t count = Number(array, "count");
  if (Find(array, "kept") != nullptr) return {TypeOf(array), {}, Text(array, "kept"), count, false};
  if (Find(array, "result") != nullptr) {
    return client::TemporaryView(TemporaryName(Number(array, "of"), Text(array, "result")), TypeOf(array), count);
  }
  return Own(TypeOf(array), BytesOf(array));
}

absl::Span<const int64_t> Storage::Numbers(const Json& array) {
  const std::string bytes = BytesOf(array);
  std::vector<int64_t>& numbers = numbers_.emplace_back(bytes.size() / sizeof(int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(int64_t));
  return numbers;
}

Json ArrayJson(const client::Array& array, bool digest, bool is_index) {
  Json object;
  SetType(object, array.type);
  Set(object, "count", static_cast<double>(array.count()));
  absl::string_view bytes = array.bytes;
  if (!digest) {
    Set(object, "data", absl::Base64Escape(bytes));
    return object;
  }
  std::vector<int64_t> numbers;
  const bool is_mean = !array.type.is_record() && array.type.key_type() == KeyType::kFloat64;  // ranks may be
  if (is_index && !is_mean) {
    numbers = client::ToIndices(array).value_or(std::vector<int64_t>());
    bytes = {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t)};
  }
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash);
  Set(object, "sha256", absl::BytesToHexString({reinterpret_cast<const char*>(hash), sizeof(hash)}));
  return object;
}

}  // namespace corank::conformance
