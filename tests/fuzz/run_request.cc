#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "proto/payload_scanner.h"
#include "proto/payloads.h"
#include "server/base/errors.h"
#include "server/plan/request_places.h"
#include "server/rpc/inline_payloads.h"
#include "server/rpc/responses.h"
#include "tests/fuzz/answers.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/world.h"

namespace corank::fuzz {
namespace {

std::string Shown(absl::string_view bytes) { return absl::StrCat("bytes: ", absl::BytesToHexString(bytes)); }

// Checks the rules for a status that leaves the server.
void CheckStatus(const absl::Status& status, absl::string_view bytes) {
  FUZZ_CHECK(status.code() != absl::StatusCode::kInternal && status.code() != absl::StatusCode::kUnknown,
             absl::StrCat(status.ToString(), "\n", Shown(bytes)));
  if (status.code() == absl::StatusCode::kInvalidArgument) FUZZ_CHECK(!NamedField(status).empty(), status.ToString());
  ToCallStatus(status, "id");
}

// What the scanner finds lies within the message, whatever that claims.
void CheckScanning(const google::protobuf::Descriptor* type, absl::string_view bytes) {
  PayloadScanner scanner(type, /*field=*/0, bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    at += scanner.Take(bytes.substr(at));
    const size_t payload = scanner.payload_bytes();
    FUZZ_CHECK(payload <= bytes.size() - at, Shown(bytes));
    at += payload;
    if (payload > 0) scanner.SkipPayload();
  }
}

// ParseHeads accepts what protobuf's parser accepts, and reads the same from it. The output of SerializeHeads reads the
// same again. ParseHeads also accepts tags and lengths that are longer than necessary.
template <typename Request>
bool CheckParsing(absl::string_view bytes, const ReceivedMessage& buffer, Request* whole) {
  Request heads;
  std::vector<PayloadRange> ranges;
  const bool parsed = ParseHeads(buffer.pieces(), &heads, &ranges);
  const bool is_message = whole->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  FUZZ_CHECK(parsed || !is_message, Shown(bytes));
  CheckScanning(Request::descriptor(), bytes);
  if (!parsed) return false;
  PayloadMap payloads;
  for (const PayloadRange& range : ranges) {
    FUZZ_CHECK(
        range.offset >= 0 && range.bytes >= 0 && range.offset + range.bytes <= static_cast<int64_t>(bytes.size()),
        Shown(bytes));
    payloads[range.holder] = bytes.substr(static_cast<size_t>(range.offset), static_cast<size_t>(range.bytes));
  }
  std::string again;
  for (auto& [holder, payload] : payloads) const_cast<v1::Array*>(static_cast<const v1::Array*>(holder))->clear_place();
  for (const WirePiece& piece : SerializeHeads(heads, payloads)) absl::StrAppend(&again, piece.head, piece.payload);
  Request second;
  FUZZ_CHECK(second.ParseFromString(again), Shown(bytes));
  if (is_message) FUZZ_CHECK(second.SerializeAsString() == whole->SerializeAsString(), Shown(bytes));
  *whole = std::move(second);
  return true;
}

template <typename Request, typename Response>
void Run(absl::string_view bytes, uint8_t cuts) {
  World& world = World::Get();
  const ReceivedMessage buffer = Sliced(bytes, cuts);
  Request whole;
  const bool parses = CheckParsing(bytes, buffer, &whole);
  if (!ValidateMessageBytes(static_cast<int64_t>(bytes.size()), world.limits).ok()) return;
  Request request;
  InlinePayloads payloads;
  const absl::Status parsed = payloads.Parse(buffer, world.pool.get(), &request);
  CheckStatus(parsed, bytes);
  FUZZ_CHECK(parsed.ok() == parses, Shown(bytes));
  if (!parsed.ok()) return;
  const absl::StatusOr<TaskPriority> priority = ValidateOptions(request.options());
  CheckStatus(priority.status(), bytes);
  if (!priority.ok()) return;
  RequestPlaces places(world.places(), AnonymousCaller(), &payloads, /*may_wait=*/true);
  absl::StatusOr<std::unique_ptr<Operation>> operation = Validate(request, world.limits, places);
  CheckStatus(operation.status(), bytes);
  if (!operation.ok()) return;
  absl::Status accepted = places.ReserveKept();
  accepted.Update((*operation)->CheckShards(DeviceSet::Count(places.shard_devices())));
  CheckStatus(accepted, bytes);
  if (!accepted.ok()) return;
  Outcome outcome;
  absl::Status done = (*operation)->Execute(world.lane, outcome);
  if (done.ok()) done = (*operation)->Commit(outcome);
  CheckStatus(done, bytes);
  if (!done.ok()) return;
  Response response;
  FUZZ_CHECK(response.ParseFromString(EncodeResponse<Response>(outcome).ToString()), Shown(bytes));
  FUZZ_CHECK(IsRight(whole, response), absl::StrCat(whole.ShortDebugString(), "\n", response.ShortDebugString()));
}

}  // namespace

void RunRequestBytes(int op, absl::string_view bytes, uint8_t cuts) {
  using Runner = void (*)(absl::string_view, uint8_t);
  static constexpr Runner kRunners[kOperators] = {Run<v1::SortRequest, v1::SortResponse>,
                                                  Run<v1::MergeRequest, v1::MergeResponse>,
                                                  Run<v1::ExpandIntervalsRequest, v1::ExpandIntervalsResponse>,
                                                  Run<v1::MoveIntervalsRequest, v1::MoveIntervalsResponse>,
                                                  Run<v1::GatherIntervalsRequest, v1::GatherIntervalsResponse>,
                                                  Run<v1::ScatterIntervalsRequest, v1::ScatterIntervalsResponse>,
                                                  Run<v1::LoadBalanceRequest, v1::LoadBalanceResponse>,
                                                  Run<v1::SearchRequest, v1::SearchResponse>,
                                                  Run<v1::GroupRequest, v1::GroupResponse>,
                                                  Run<v1::CombineSetsRequest, v1::CombineSetsResponse>,
                                                  Run<v1::JoinRequest, v1::JoinResponse>,
                                                  Run<v1::SelectRequest, v1::SelectResponse>,
                                                  Run<v1::RankRequest, v1::RankResponse>};
  kRunners[op](bytes, cuts);
  World::Get().Reset();
}

}  // namespace corank::fuzz
