#include "server/rpc/request_id.h"

#include <cstdint>
#include <iterator>
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

// The value, if there is exactly one.
absl::string_view Metadata(const grpc::CallbackServerContext& context, const char* key) {
  const auto [first, last] = context.client_metadata().equal_range(key);
  if (first == last || std::next(first) != last) return {};
  return {first->second.data(), first->second.size()};
}

}  // namespace

CallId IdOf(const grpc::CallbackServerContext& context, absl::string_view requested) {
  CallId id;
  if (!IsValidRequestId(requested)) requested = Metadata(context, kRequestIdKey);
  id.request_id =
      IsValidRequestId(requested) ? std::string(requested) : absl::StrCat(absl::Hex(RandomId(), absl::kZeroPad16));
  const absl::string_view traceparent = Metadata(context, kTraceparentKey);
  if (!traceparent.empty()) id.trace = TraceContext::Begin(traceparent, RandomId());
  return id;
}

void ReturnId(const CallId& id, grpc::CallbackServerContext* context) {
  context->AddTrailingMetadata(kRequestIdKey, id.request_id);
  if (!id.trace.empty()) context->AddTrailingMetadata(kTraceparentKey, id.trace.Traceparent());
}

}  // namespace corank
