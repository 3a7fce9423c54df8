#include "server/observe/trace.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace corank {
namespace {

// Capital letters are malformed.
bool IsHex(absl::string_view text) { return text.find_first_not_of("0123456789abcdef") == absl::string_view::npos; }

bool IsZero(absl::string_view text) { return text.find_first_not_of('0') == absl::string_view::npos; }

int HexDigit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

}  // namespace

TraceContext TraceContext::Begin(absl::string_view traceparent, uint64_t span) {
  constexpr size_t kLength = 55;  // 2 + 32 + 16 + 2 digits, with dashes between
  const absl::string_view version = traceparent.substr(0, 2);
  if (traceparent.size() < kLength || !IsHex(version) || version == "ff") return {};
  if (traceparent.size() > kLength && (version == "00" || traceparent[kLength] != '-')) return {};
  if (traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-') return {};
  const absl::string_view trace = traceparent.substr(3, 32);
  const absl::string_view parent = traceparent.substr(36, 16);
  const absl::string_view flags = traceparent.substr(53, 2);
  if (!IsHex(trace) || IsZero(trace) || !IsHex(parent) || IsZero(parent) || !IsHex(flags)) return {};
  TraceContext context;
  std::copy(trace.begin(), trace.end(), context.trace_id_.begin());
  std::copy(parent.begin(), parent.end(), context.parent_id_.begin());
  for (size_t i = context.span_id_.size(); i-- > 0; span >>= 4) context.span_id_[i] = "0123456789abcdef"[span & 15];
  context.sampled_ = (HexDigit(flags[1]) & 1) != 0;
  return context;
}

std::string TraceContext::Traceparent() const {
  return empty() ? "" : absl::StrCat("00-", trace_id(), "-", span_id(), sampled_ ? "-01" : "-00");
}

}  // namespace corank
