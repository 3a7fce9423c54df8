// W3C Trace Context: the distributed trace that a call belongs to. https://www.w3.org/TR/trace-context/
#ifndef CORANK_SERVER_OBSERVE_TRACE_H_
#define CORANK_SERVER_OBSERVE_TRACE_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace corank {

/// Metadata key, of requests and answers.
inline constexpr char kTraceparentKey[] = "traceparent";

/// A call's place in its caller's trace. Empty if the caller sent none. Owns no memory.
class TraceContext {
 public:
  TraceContext() = default;

  /// Reads a caller's traceparent and starts a span of it with the id `span`, which must not be 0. Empty if the text is
  /// malformed, as the recommendation requires. For versions after 00, reads the parts that 00 defines.
  static TraceContext Begin(absl::string_view traceparent, uint64_t span);

  bool empty() const { return trace_id_[0] == '\0'; }
  /// 32, 16 and 16 lower-case hexadecimal digits; empty without a trace. Views into this object.
  absl::string_view trace_id() const { return View(trace_id_); }
  absl::string_view span_id() const { return View(span_id_); }      // of the server's work
  absl::string_view parent_id() const { return View(parent_id_); }  // of the caller's span
  bool sampled() const { return sampled_; }
  /// Version 00, with this span.
  std::string Traceparent() const;

 private:
  template <size_t n>
  absl::string_view View(const std::array<char, n>& digits) const {
    return empty() ? absl::string_view() : absl::string_view(digits.data(), n);
  }

  std::array<char, 32> trace_id_{};
  std::array<char, 16> span_id_{};
  std::array<char, 16> parent_id_{};
  bool sampled_ = false;
};

/// The ids that callers and logs use for the same call.
struct CallId {
  std::string request_id;
  TraceContext trace;
};

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_TRACE_H_
