// W3C Trace Context: which distributed trace a call belongs to. https://www.w3.org/TR/trace-context/
#ifndef CORANK_SERVER_OBSERVE_TRACE_H_
#define CORANK_SERVER_OBSERVE_TRACE_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace corank {

/// Key of the metadata, of requests and of answers.
inline constexpr char kTraceparentKey[] = "traceparent";

/// A call's place in its caller's trace. Empty where the caller sent none: then there is no trace. Holds no memory of
/// its own.
class TraceContext {
 public:
  TraceContext() = default;

  /// Reads a caller's traceparent and begins a span of it, named by `span`, which must not be 0. Empty where the text
  /// is malformed, as the recommendation asks. Of versions after 00, the parts that 00 knows are read.
  static TraceContext Begin(absl::string_view traceparent, uint64_t span);

  bool empty() const { return trace_id_[0] == '\0'; }
  /// 32, 16 and 16 lower-case hexadecimal digits; empty where there is no trace. Views of this object.
  absl::string_view trace_id() const { return View(trace_id_); }
  absl::string_view span_id() const { return View(span_id_); }      // of the work here
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

/// By which a caller and the logs speak of the same call.
struct CallId {
  std::string request_id;
  TraceContext trace;
};

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_TRACE_H_
