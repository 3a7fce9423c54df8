#include "tests/server/request_table.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/util/json_util.h"

namespace corank::testing {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Struct;
using google::protobuf::Value;

void Must(bool holds, const std::string& otherwise) {
  if (holds) return;
  std::fprintf(stderr, "requests.json: %s\n", otherwise.c_str());
  std::abort();
}

const Value* Find(const Value& object, const std::string& name) {
  const auto found = object.struct_value().fields().find(name);
  return found == object.struct_value().fields().end() ? nullptr : &found->second;
}

Value Text(std::string text) {
  Value value;
  value.set_string_value(std::move(text));
  return value;
}

ListValue Repeated(const ListValue& list) {
  ListValue all;
  for (const Value& value : list.values()) {
    const Value* const times = Find(value, "times");
    const int count = times == nullptr ? 1 : static_cast<int>(times->number_value());
    for (int i = 0; i < count; ++i) *all.add_values() = times == nullptr ? value : *Find(value, "of");
  }
  return all;
}

/// The bytes of numbers, `bytes` each.
std::string Numbers(const ListValue& list, size_t bytes) {
  std::string packed;
  const ListValue all = Repeated(list);
  for (const Value& value : all.values()) {
    auto number = static_cast<int64_t>(value.number_value());
    if (value.has_string_value()) Must(absl::SimpleAtoi(value.string_value(), &number), value.string_value());
    packed.append(reinterpret_cast<const char*>(&number), bytes);
  }
  return packed;
}

/// Protobuf's JSON for that of the table.
Value Expanded(const Value& value) {
  Value made = value;
  if (value.has_list_value()) {
    *made.mutable_list_value() = Repeated(value.list_value());
    for (Value& each : *made.mutable_list_value()->mutable_values()) each = Expanded(each);
  } else if (value.has_struct_value() && value.struct_value().fields_size() == 1) {
    const auto& [name, only] = *value.struct_value().fields().begin();
    size_t bits = 0;
    if (name == "text") return Text(absl::Base64Escape(only.string_value()));
    if (name == "bytes") {
      return Text(absl::Base64Escape(std::string(static_cast<size_t>(only.number_value()), 'x')));
    }
    const absl::string_view after = absl::StripPrefix(absl::StripPrefix(name, "u"), "int");
    if (only.has_list_value() && absl::SimpleAtoi(after, &bits)) {
      auto& fields = *made.mutable_struct_value()->mutable_fields();
      fields.clear();
      fields["type"] = Text(absl::StrCat("ELEMENT_TYPE_", absl::AsciiStrToUpper(name)));
      fields["inlineData"] = Text(absl::Base64Escape(Numbers(only.list_value(), bits / 8)));
      return made;
    }
  }
  if (made.has_struct_value()) {
    for (auto& [name, each] : *made.mutable_struct_value()->mutable_fields()) each = Expanded(each);
  }
  return made;
}

void PatchExpanded(const Value& change, Value* json) {
  if (!change.has_struct_value()) {
    *json = change;
    return;
  }
  auto& fields = *json->mutable_struct_value()->mutable_fields();
  for (const auto& [name, value] : change.struct_value().fields()) {
    if (const size_t bracket = name.find('['); bracket != std::string::npos) {
      int at = 0;
      Must(absl::SimpleAtoi(name.substr(bracket + 1, name.size() - bracket - 2), &at), name);
      PatchExpanded(value, fields[name.substr(0, bracket)].mutable_list_value()->mutable_values(at));
    } else if (value.has_null_value()) {
      fields.erase(name);
    } else {
      PatchExpanded(value, &fields[name]);
    }
  }
}

}  // namespace

const Struct& RequestTable() {
  static const auto* const table = [] {
    std::ifstream file(CORANK_REQUEST_TABLE);
    std::stringstream text;
    text << file.rdbuf();
    auto* made = new Struct;
    const auto status = google::protobuf::util::JsonStringToMessage(text.str(), made);
    Must(status.ok(), status.ToString());
    return made;
  }();
  return *table;
}

void ReadRequest(const Value& json, google::protobuf::Message* request) {
  std::string text;
  Must(google::protobuf::util::MessageToJsonString(json, &text).ok(), "cannot be written");
  const auto status = google::protobuf::util::JsonStringToMessage(text, request);
  Must(status.ok(), absl::StrCat(text, ": ", status.ToString()));
}

void Patch(const Value& change, Value* json) { PatchExpanded(Expanded(change), json); }

const Value& GoodJson(const std::string& name) {
  static const auto* const good = new Value(Expanded(RequestTable().fields().at("good")));
  return good->struct_value().fields().at(name);
}

void ReadAnswer(const google::protobuf::Message& request, google::protobuf::Message* response) {
  static const auto* const answers = new Value(Expanded(RequestTable().fields().at("answers")));
  std::string name(absl::StripSuffix(request.GetDescriptor()->name(), "Request"));
  for (const char* const columns : {"key_columns", "haystack_columns"}) {
    const auto* const field = request.GetDescriptor()->FindFieldByName(columns);
    if (field != nullptr && request.GetReflection()->FieldSize(request, field) > 0) name.insert(0, "Column");
  }
  ReadRequest(answers->struct_value().fields().at(name), response);
}

}  // namespace corank::testing
