#include "server/rpc/request_id.h"

#include <cstdint>
#include <string>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "server/plan/parse/validate.h"

namespace corank {
namespace {

uint64_t RandomId() {
  thread_local absl::BitGen random;
  return absl::Uniform<uint64_t>(absl::IntervalClosedClosed, random, 1, UINT64_MAX);
}

}  // namespace

CallId IdOf(const wire::CallHead& call, absl::string_view requested) {
  CallId id;
  if (!IsValidRequestId(requested)) requested = call.metadata.Get(kRequestIdKey);
  id.request_id =
      IsValidRequestId(requested) ? std::string(requested) : absl::StrCat(absl::Hex(RandomId(), absl::kZeroPad16));
  const absl::string_view traceparent = call.metadata.Get(kTraceparentKey);
  if (!traceparent.empty()) id.trace = TraceContext::Begin(traceparent, RandomId());
  return id;
}

wire::Metadata TrailersOf(const CallId& id) {
  wire::Metadata trailers;
  trailers.Add(kRequestIdKey, id.request_id);
  if (!id.trace.empty()) trailers.Add(kTraceparentKey, id.trace.Traceparent());
  return trailers;
}

}  // namespace corank
