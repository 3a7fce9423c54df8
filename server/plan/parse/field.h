// Paths of fields in error messages, such as "values[1].count".
#ifndef CORANK_SERVER_PLAN_PARSE_FIELD_H_
#define CORANK_SERVER_PLAN_PARSE_FIELD_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace corank {

/// A field of a request, or an element of a repeated one. Building it is free; only an error spells it out.
struct Field {
  absl::string_view name;
  int64_t index = -1;  // -1: not an element

  std::string Path() const { return index < 0 ? std::string(name) : absl::StrCat(name, "[", index, "]"); }
  std::string Sub(absl::string_view inner) const { return absl::StrCat(Path(), ".", inner); }
  /// The path of an array's element, if the array is not itself an element of a repeated field.
  std::string Element(int64_t i) const { return absl::StrCat(Path(), "[", i, "]"); }
};

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_PARSE_FIELD_H_
