#include "client/cpp/health.h"

#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "client/cpp/messages.h"
#include "client/cpp/raw_stream.h"
#include "corank/wire/v1/health.pb.h"

namespace corank::client {
namespace {

using wire::v1::HealthRequest;
using wire::v1::HealthResponse;

constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
/// Between two connections: short enough to notice a starting server, long enough not to flood it.
constexpr absl::Duration kPause = absl::Milliseconds(100);

Health FromProto(wire::v1::HealthStatus status) {
  return status == wire::v1::HEALTH_STATUS_SERVING           ? Health::kServing
         : status == wire::v1::HEALTH_STATUS_SERVICE_UNKNOWN ? Health::kUnknown
                                                             : Health::kNotServing;
}

HealthRequest RequestFor(const std::string& service) {
  HealthRequest request;
  request.set_service(service);
  return request;
}

/// Follows a Watch until the service is kServing.
class Watching final : public StreamEvents {
 public:
  explicit Watching(const std::string& service) : request_(Encode(RequestFor(service))) {}

  std::optional<grpc::ByteBuffer> Next() override { return std::exchange(request_, std::nullopt); }
  absl::Status Take(grpc::ByteBuffer* message) override {
    HealthResponse response;
    if (const absl::Status decoded = Decode(message, &response); !decoded.ok()) return decoded;
    health_ = FromProto(response.status());
    return health_ == Health::kServing ? absl::CancelledError("there is nothing more to hear") : absl::OkStatus();
  }
  void Done(const Attempt&) override {}
  /// The last health that the server reported.
  std::optional<Health> health() const { return health_; }

 private:
  std::optional<grpc::ByteBuffer> request_;
  std::optional<Health> health_;
};

}  // namespace

absl::StatusOr<Health> CheckHealth(Connection* connection, const std::string& service, absl::Time deadline,
                                   const CallOptions& call) {
  HealthResponse response;
  const auto cost = connection->Unary(kCheck, RequestFor(service), deadline, call, Repeat::kAlways, &response);
  if (absl::IsNotFound(cost.status())) return Health::kUnknown;
  if (!cost.ok()) return cost.status();
  return FromProto(response.status());
}

absl::StatusOr<Health> AwaitHealth(Connection* connection, const std::string& service, absl::Time deadline,
                                   const CallOptions& call) {
  std::optional<absl::StatusOr<Health>> last;
  for (;;) {
    std::optional<Health> heard;
    bool is_final = false;  // from gRPC's status: Try changes the message
    const absl::StatusOr<CallCost> cost = connection->TryNow(deadline, call, [&] {
      Watching watching(service);
      Attempt attempt = RunStream(connection, kWatch, deadline, call, &watching);
      heard = watching.health();
      is_final = !attempt.status.ok() && FailureOf(attempt.status) == Failure::kFinal;
      return heard == Health::kServing ? Attempt{} : std::move(attempt);
    });
    if (heard == Health::kServing) return Health::kServing;
    const bool is_late = absl::IsDeadlineExceeded(cost.status());
    if (heard.has_value() && (cost.ok() || is_late)) {
      last = *heard;
    } else if (!is_late || !last.has_value()) {
      last = cost.ok() ? absl::UnavailableError("the server ended the watch at once") : cost.status();
    }
    // The server is stopping or down; it may come up again.
    if (is_final || absl::Now() + kPause >= deadline) return *last;
    if (!connection->Connect(call.cancellation, kPause)) return absl::CancelledError("cancelled");
  }
}

}  // namespace corank::client
