#include "client/cpp/place_choice.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/address.h"

namespace corank::client {
namespace {

/// Room for the fields around the arrays in a message of the largest size that client or server accepts.
constexpr int64_t kHeadBytes = 64 << 10;

bool Takes(const ServerInfo* info, const char* place) {
  return info != nullptr && absl::c_linear_search(info->places, place);
}

int64_t Less(int64_t limit, int64_t message_limit) {
  return message_limit > 0 ? std::min(limit, std::max<int64_t>(message_limit - kHeadBytes, message_limit / 2)) : limit;
}

bool IsLarge(const PlaceQuestion& question, const ClientOptions& options, const ServerInfo* info) {
  const int64_t limit = Less(options.stream_bytes, options.max_message_bytes);
  return question.input_bytes > Less(limit, info == nullptr ? 0 : info->max_request_bytes) ||
         question.result_bytes > Less(limit, info == nullptr ? 0 : info->max_response_bytes);
}

absl::StatusOr<PlaceChoice> Stream(const PlaceQuestion& question, const CallOptions& call, const ClientOptions& options,
                                   const ServerInfo* info) {
  if (!Takes(info, "stream")) {
    return absl::UnimplementedError(
        "this server supports no streams; send smaller calls, or leave the place to the client");
  }
  const int wanted = call.connections.value_or(options.connections);
  if (wanted < 0 || wanted > 64) return absl::InvalidArgumentError("connections: must be 0 (automatic) to 64");
  const bool is_several = std::max(question.input_bytes, question.result_bytes) > kSeveralConnectionsBytes;
  // Parts of a job that reach different servers would wait for each other.
  const int connections = MayBeSeveral(options.address) ? 1
                          : wanted != 0                 ? wanted
                          : is_several                  ? kSeveralConnections
                                                        : 1;
  return PlaceChoice{Place::kStream, std::clamp(connections, 1, std::max(info->max_parts, 1))};
}

}  // namespace

bool NeedsServerInfo(const PlaceQuestion& question, const CallOptions& call, const ClientOptions& options) {
  const Place place = AskedPlace(call, options);
  return question.only_stream || place == Place::kStream || place == Place::kSharedMemory ||
         (place == Place::kAuto && std::max(question.input_bytes, question.result_bytes) > kAskServerBytes);
}

absl::StatusOr<PlaceChoice> ChoosePlace(const PlaceQuestion& question, const CallOptions& call,
                                        const ClientOptions& options, const ServerInfo* info) {
  const Place place = AskedPlace(call, options);
  if (question.only_stream || place == Place::kStream) return Stream(question, call, options, info);
  if (place == Place::kInline) return PlaceChoice{Place::kInline, 1};
  const bool takes_memory = Takes(info, "shared_memory") && !info->shared_memory_prefixes.empty();
  if (place == Place::kSharedMemory) {
    if (takes_memory) return PlaceChoice{Place::kSharedMemory, 1};
    return absl::UnimplementedError(
        "this server supports no shared memory: start it with --shared-memory, or leave the place to the client");
  }
  const bool is_large = IsLarge(question, options, info);
  // Shared memory costs two copies at the speed of memory. Messages and streams copy at least twice as often, and
  // through sockets. Making a region costs less than that, and later calls reuse it.
  const bool is_worth_it = is_large || std::max(question.input_bytes, question.result_bytes) > kSharedMemoryBytes;
  const bool is_likely = question.claimed_bytes / kMostGrowth <= question.read_bytes;
  if (takes_memory && question.may_share && is_worth_it && is_likely) return PlaceChoice{Place::kSharedMemory, 1};
  if (!is_large) return PlaceChoice{Place::kInline, 1};
  if (Takes(info, "stream")) return Stream(question, call, options, info);
  return PlaceChoice{Place::kInline, 1};
}

}  // namespace corank::client
