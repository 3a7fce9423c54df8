#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/plan/parse/enums.h"
#include "server/plan/parse/validate.h"

namespace corank {

bool IsValidRequestId(absl::string_view id) {
  constexpr size_t kMaxLength = 128;
  return !id.empty() && id.size() <= kMaxLength &&
         std::all_of(id.begin(), id.end(), [](char c) { return c >= 0x20 && c <= 0x7E; });
}

absl::StatusOr<TaskPriority> ValidateOptions(const v1::RequestOptions& options) {
  if (!options.request_id().empty() && !IsValidRequestId(options.request_id())) {
    return InvalidField("options.request_id", "must be at most 128 printable ASCII characters");
  }
  return CheckEnum<TaskPriority>(options.priority(), "options.priority", "priority",
                                 {{v1::PRIORITY_UNSPECIFIED, TaskPriority::kNormal},
                                  {v1::PRIORITY_NORMAL, TaskPriority::kNormal},
                                  {v1::PRIORITY_LOW, TaskPriority::kLow},
                                  {v1::PRIORITY_HIGH, TaskPriority::kHigh}});
}

absl::Status ValidateMessageBytes(int64_t bytes, const Limits& limits) {
  if (bytes <= limits.max_request_bytes) return absl::OkStatus();
  return TooLargeField(
      "request", absl::StrCat("the message has ", bytes, " bytes, but max_request_bytes is ", limits.max_request_bytes,
                              "; send larger arrays in chunks with CorankService.Execute"));
}

}  // namespace corank
