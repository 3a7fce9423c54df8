// observe and respond: log lines, metrics, error statuses, response messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corank/wire/v1/rpc_status.pb.h"
#include "prometheus/text_serializer.h"
#include "server/base/errors.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/observe/utf8.h"
#include "server/rpc/request_log.h"
#include "server/rpc/responses.h"
#include "server/wire/call.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

std::string Json(absl::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

TEST(Log, EscapesWhatJsonMustNotHold) { EXPECT_EQ(Json("a\"b\\c\nd\x01\x7f"), "\"a\\\"b\\\\c\\nd\\u0001\\u007f\""); }

TEST(Log, KeepsUtf8AndReplacesWhatIsNot) {
  EXPECT_EQ(Json("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  EXPECT_EQ(Json("a\xFF"), "\"a\\ufffd\"");
  EXPECT_EQ(Json("\xC0\x80"), "\"\\ufffd\\ufffd\"") << "overlong";
  EXPECT_EQ(Json("\xED\xA0\x80"), "\"\\ufffd\\ufffd\\ufffd\"") << "surrogate";
  EXPECT_EQ(Json("\xE2\x82"), "\"\\ufffd\\ufffd\"") << "cut off";
  EXPECT_EQ(Json("\xF4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"") << "beyond Unicode";
}

TEST(Log, EscapesWhatATerminalObeysOrHides) {
  EXPECT_EQ(Json("a\xC2\x85z\xC2\x9B"
                 "1m"),
            "\"a\\u0085z\\u009b1m\"")
      << "C1 controls";
  EXPECT_EQ(Json("\xE2\x80\xAE"
                 "exe\xEF\xBB\xBF"),
            "\"\\u202eexe\\ufeff\"")
      << "right to left, no width";
  EXPECT_EQ(Json("\xF3\xA0\x81\x81"), "\"\\udb40\\udc41\"") << "an invisible tag, as two surrogates";
  EXPECT_EQ(Json("\xC2\xA0\xE2\x80\x90"), "\"\xC2\xA0\xE2\x80\x90\"") << "neighbours of those";
}

TEST(Log, PlainTextHasNoControls) {
  EXPECT_TRUE(IsPlainText("spiffe://example/\xC3\xA4 1"));
  for (const char* const text : {"a\n", "\x7f", "\xC2\x85", "\xE2\x80\xAE", "\xFF"}) EXPECT_FALSE(IsPlainText(text));
}

TEST(Log, LeavesOutWhatComesInAFloodAndSaysHowMuch) {
  LogLimit limit;
  Instant now{};
  for (int i = 0; i < LogLimit::kBurst; ++i) EXPECT_EQ(limit.Take("a", now), 0) << i;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(limit.Take("a", now), std::nullopt);
  EXPECT_EQ(limit.Take("b", now), 0) << "another kind";
  now += std::chrono::milliseconds(1000 / LogLimit::kPerSecond);
  EXPECT_EQ(limit.Take("a", now), 5);
  EXPECT_EQ(limit.Take("a", now), std::nullopt);
  now += std::chrono::hours(1);
  EXPECT_EQ(limit.Take("a", now), 1);
  for (int i = 1; i < LogLimit::kBurst; ++i) EXPECT_EQ(limit.Take("a", now), 0) << i;
  EXPECT_EQ(limit.Take("a", now), std::nullopt) << "no more than a burst is saved up";
}

TEST(Log, AFloodOfFailuresIsBoundedForEachTenantAndCode) {
  std::string lines;
  const Logger logger(LogLevel::kInfo, [&lines](absl::string_view line) { lines += std::string(line); });
  const auto fail = [&](absl::string_view tenant, const absl::Status& status) {
    LogFailedCall(logger, {}, {tenant, "peer"}, "sort", status);
  };
  for (int i = 0; i < 3 * LogLimit::kBurst; ++i) fail("", absl::UnauthenticatedError("wrong token"));
  const auto count = [&lines] { return std::count(lines.begin(), lines.end(), '\n'); };
  EXPECT_GE(count(), LogLimit::kBurst);
  EXPECT_LT(count(), 2 * LogLimit::kBurst);
  lines.clear();
  fail("a", absl::UnauthenticatedError("another tenant"));
  fail("", absl::InvalidArgumentError("another code"));
  EXPECT_EQ(count(), 2);
  lines.clear();
  logger.LogInTurn(LogLevel::kInfo, "event", {{"count", 1}}, 7);
  EXPECT_THAT(lines, HasSubstr("\"count\":1,\"left_out\":7}\n"));
}

TEST(Log, ALineIsOneJsonObjectWithAnRfc3339Time) {
  std::string lines;
  const Logger logger(LogLevel::kInfo, [&lines](absl::string_view line) { lines += std::string(line); });
  logger.Log(LogLevel::kDebug, "quiet", {});
  logger.Log(LogLevel::kWarning, "event", {{"text", "a\nb"}, {"count", int64_t{3}}, {"seconds", 0.5}});
  EXPECT_THAT(lines, MatchesRegex("\\{\"time\":\"[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9.]+Z\",\"level\":\"warning\","
                                  "\"event\":\"event\",\"text\":\"a\\\\nb\",\"count\":3,\"seconds\":0.5\\}\n"));
}

TEST(Log, ATextLineIsReadableAndHarmless) {
  std::string lines;
  const Logger logger(
      LogLevel::kInfo, [&lines](absl::string_view line) { lines += std::string(line); }, LogFormat::kText);
  logger.Log(LogLevel::kDebug, "quiet", {});
  logger.Log(LogLevel::kInfo, "ready",
             {{"grpc", "127.0.0.1:50051"}, {"lanes", 4}, {"seconds", 0.5}, {"reason", "no GPU"}, {"health", ""}});
  EXPECT_THAT(lines, MatchesRegex("[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+\\.[0-9][0-9][0-9]Z info    ready "
                                  "grpc=127.0.0.1:50051 lanes=4 seconds=0.5 reason=\"no GPU\" health=\"\"\n"));
  lines.clear();
  logger.Log(LogLevel::kError, "e", {{"a", "x=1"}, {"b", "\033[2Jx"}, {"c", "say \"hi\"\n"}, {"d", "\xFF"}});
  EXPECT_THAT(lines, HasSubstr("error   e a=\"x=1\" b=\"\\u001b[2Jx\" c=\"say \\\"hi\\\"\\n\" d=\"\\ufffd\"\n"));
}

std::string Scrape(const Metrics& metrics) {
  return prometheus::TextSerializer().Serialize(metrics.registry()->Collect());
}

TEST(Metrics, CountsRequestsByOperatorAndCode) {
  Metrics metrics;
  RequestRecord record;
  record.op = Operator::kMerge;
  record.total_ns = 2'000'000;
  record[Stage::kValidate] = 1000;
  record[Stage::kKernel] = 1'000'000;
  record.received_bytes = 7;
  record.sent_bytes = 5;
  metrics.CountRequest(record);
  record.code = absl::StatusCode::kInvalidArgument;
  metrics.CountRequest(record);
  metrics.CountRequest(record);
  const std::string text = Scrape(metrics);
  EXPECT_THAT(text, HasSubstr("corank_requests_total{code=\"OK\",operator=\"merge\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("corank_requests_total{code=\"INVALID_ARGUMENT\",operator=\"merge\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("corank_requests_total{code=\"OK\",operator=\"sort\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("corank_requests_total{code=\"INTERNAL\",operator=\"search\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("corank_request_seconds_count{operator=\"merge\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("corank_request_seconds_sum{operator=\"merge\"} 0.006"));
  EXPECT_THAT(text, HasSubstr("corank_stage_seconds_count{operator=\"merge\",stage=\"kernel\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("corank_stage_seconds_count{operator=\"merge\",stage=\"queue\"} 0\n"))
      << "a stage that was not reached is not counted";
  EXPECT_THAT(text, HasSubstr("corank_received_bytes_total{operator=\"merge\"} 21\n"));
  EXPECT_THAT(text, HasSubstr("corank_sent_bytes_total{operator=\"merge\"} 15\n"));
}

TEST(Metrics, ShowsQueueLanesAndEngine) {
  Metrics metrics;
  metrics.AddQueued(4, 5000);
  metrics.AddQueued(-1, -904);
  metrics.AddBusyLanes(LaneKind::kLong, 1);
  metrics.SetEngine("cpu", "a processor", "1.2.3");
  const std::string text = Scrape(metrics);
  EXPECT_THAT(text, HasSubstr("corank_queue_requests 3\n"));
  EXPECT_THAT(text, HasSubstr("corank_queue_bytes 4096\n"));
  EXPECT_THAT(text, HasSubstr("corank_lanes_busy{lane=\"long\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("corank_engine_info{device=\"a processor\",engine=\"cpu\",version=\"1.2.3\"} 1\n"));
}

TEST(Metrics, ShowsWhatIsOpen) {
  Metrics metrics;
  metrics.SetOpen({/*connections=*/1, /*calls=*/2, /*jobs=*/3, /*job_bytes=*/6, /*regions=*/4, /*leases=*/5});
  metrics.SetHostPoolKept(4096);
  const std::string text = Scrape(metrics);
  EXPECT_THAT(text, HasSubstr("corank_connections 1\n"));
  EXPECT_THAT(text, HasSubstr("corank_calls 2\n"));
  EXPECT_THAT(text, HasSubstr("corank_stream_jobs 3\n"));
  EXPECT_THAT(text, HasSubstr("corank_stream_job_bytes 6\n"));
  EXPECT_THAT(text, HasSubstr("corank_regions 4\n"));
  EXPECT_THAT(text, HasSubstr("corank_region_leases 5\n"));
  EXPECT_THAT(text, HasSubstr("corank_host_pool_kept_bytes 4096\n"));
}

wire::v1::RpcStatus Details(const CallStatus& status) {
  wire::v1::RpcStatus details;
  EXPECT_TRUE(details.ParseFromString(status.details));
  return details;
}

template <typename Detail>
Detail DetailOf(const CallStatus& status, const char* name) {
  Detail detail;
  int found = 0;
  const wire::v1::RpcStatus details = Details(status);
  for (const google::protobuf::Any& any : details.details()) {
    if (any.type_url() != absl::StrCat("type.googleapis.com/google.rpc.", name)) continue;
    EXPECT_TRUE(detail.ParseFromString(any.value()));
    ++found;
  }
  EXPECT_EQ(found, 1) << name;
  return detail;
}

TEST(Errors, AnInvalidFieldCarriesReasonAndBadRequest) {
  const CallStatus status = ToCallStatus(InvalidField("values[1].count", "3 is too many"), "id");
  EXPECT_EQ(status.code, wire::kInvalidArgument);
  EXPECT_EQ(status.message, "values[1].count: 3 is too many");
  EXPECT_EQ(Details(status).code(), wire::kInvalidArgument);
  EXPECT_EQ(Details(status).details_size(), 2);
  const auto info = DetailOf<wire::v1::ErrorInfo>(status, "ErrorInfo");
  EXPECT_EQ(info.reason(), "FIELD_INVALID");
  EXPECT_EQ(info.domain(), "corank");
  const auto bad_request = DetailOf<wire::v1::BadRequest>(status, "BadRequest");
  ASSERT_EQ(bad_request.field_violations_size(), 1);
  EXPECT_EQ(bad_request.field_violations(0).field(), "values[1].count");
  EXPECT_EQ(bad_request.field_violations(0).description(), "3 is too many");
}

TEST(Errors, RetryLaterCarriesItsDelay) {
  const CallStatus status =
      ToCallStatus(RetryLater(v1::ERROR_REASON_QUEUE_FULL, "full", absl::Milliseconds(1500)), "id");
  EXPECT_EQ(status.code, wire::kResourceExhausted);
  EXPECT_EQ(DetailOf<wire::v1::ErrorInfo>(status, "ErrorInfo").reason(), "QUEUE_FULL");
  const auto retry = DetailOf<wire::v1::RetryInfo>(status, "RetryInfo");
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 500'000'000);
}

TEST(Errors, AFieldMovesUnderAnotherOneWithAllDetails) {
  const absl::Status moved = UnderField(
      FieldError(v1::ERROR_REASON_KEYS_NOT_SORTED, "keys", "not sorted", {{"index", "3"}}), "plan.operations[2].");
  EXPECT_EQ(moved.message(), "plan.operations[2].keys: not sorted");
  EXPECT_EQ(NamedField(moved), "plan.operations[2].keys");
  EXPECT_EQ(ReasonOf(moved), v1::ERROR_REASON_KEYS_NOT_SORTED);
  EXPECT_EQ(DetailOf<wire::v1::ErrorInfo>(ToCallStatus(moved, ""), "ErrorInfo").metadata().at("index"), "3");
  EXPECT_EQ(UnderField(CallerCancelled(), "plan."), CallerCancelled()) << "it names no field";
  const absl::Status placed = AtField(Error(v1::ERROR_REASON_NOT_PERMITTED, "no"), "keys.stored");
  EXPECT_EQ(NamedField(placed), "keys.stored");
  EXPECT_EQ(ReasonOf(placed), v1::ERROR_REASON_NOT_PERMITTED);
}

// Without a reason, no stage has judged the error: its text may tell what callers must not see.
TEST(Errors, AFaultOfTheServerShowsTheRequestIdOnly) {
  for (const absl::Status& fault :
       {absl::InternalError("cudaErrorX at 0x1234"), absl::UnavailableError("cudaErrorX at 0x1234")}) {
    const CallStatus status = ToCallStatus(fault, "abc");
    EXPECT_EQ(status.code, wire::kInternal);
    EXPECT_THAT(status.message, HasSubstr("abc"));
    EXPECT_THAT(status.message, Not(HasSubstr("0x1234")));
    const auto info = DetailOf<wire::v1::ErrorInfo>(status, "ErrorInfo");
    EXPECT_EQ(info.reason(), "INTERNAL");
    EXPECT_EQ(info.metadata().at("request_id"), "abc");
  }
}

// The contract begins the comment of each reason with its status code.
TEST(Errors, EachReasonHasTheCodeOfTheContract) {
  std::ifstream proto(CORANK_ERROR_REASON_PROTO);
  ASSERT_TRUE(proto.is_open());
  std::string code;
  int reasons = 0;
  for (std::string line; std::getline(proto, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "//" && code.empty()) {
      words >> code;
      code = code.substr(0, code.find_first_of(".,"));
      continue;
    }
    v1::ErrorReason reason;
    if (v1::ErrorReason_Parse(word, &reason) && reason != v1::ERROR_REASON_UNSPECIFIED) {
      EXPECT_EQ(absl::StatusCodeToString(CodeOf(reason)), code) << word;
      ++reasons;
    }
    if (word != "//") code.clear();
  }
  EXPECT_EQ(reasons, v1::ErrorReason_ARRAYSIZE - 1);
}

// The response as a client reads it.
template <typename Response>
Response Encoded(const Outcome& outcome) {
  const std::string bytes = EncodeResponse<Response>(outcome).ToString();
  Response response;
  EXPECT_TRUE(response.ParseFromString(bytes));
  EXPECT_TRUE(response.GetReflection()->GetUnknownFields(response).empty());
  return response;
}

TEST(Responses, HoldTheResultsByTheirRole) {
  const uint16_t keys[] = {1, 2, 3};
  const uint32_t indices[] = {2, 0, 1};
  Outcome outcome;
  outcome.results = {ResultArray{ResultRole::kKeys, v1::ELEMENT_TYPE_UINT16, 2, 3, keys},
                     ResultArray{ResultRole::kIndices, v1::ELEMENT_TYPE_UINT32, 4, 3, indices}};
  outcome.sort_algorithm = v1::SORT_ALGORITHM_RADIX;
  outcome.stats.set_kernel_ns(9);
  const auto response = Encoded<v1::SortResponse>(outcome);
  EXPECT_EQ(response.keys().inline_data(), std::string(reinterpret_cast<const char*>(keys), 6));
  EXPECT_EQ(response.keys().count(), 3);
  EXPECT_EQ(response.indices().type(), v1::ELEMENT_TYPE_UINT32);
  EXPECT_EQ(response.indices().inline_data().size(), 12U);
  EXPECT_FALSE(response.has_values());
  EXPECT_EQ(response.algorithm(), v1::SORT_ALGORITHM_RADIX);
  EXPECT_EQ(response.stats().kernel_ns(), 9);
}

TEST(Responses, AnEmptyRecordArrayKeepsItsShape) {
  Outcome outcome;
  outcome.results = {ResultArray{ResultRole::kResult, v1::ELEMENT_TYPE_RECORD, 12, 0, nullptr}};
  const auto response = Encoded<v1::GatherIntervalsResponse>(outcome);
  EXPECT_EQ(response.result().record_bytes(), 12U);
  EXPECT_TRUE(response.result().has_count());
  EXPECT_TRUE(response.result().has_inline_data());
}

TEST(Responses, HoldResultsOfEverySize) {
  // Lengths are written in 1 to 5 bytes.
  for (const int64_t count : {0, 1, 100, 115, 127, 128, 129, 16'375, 16'383, 16'384, 3'000'000}) {
    const std::string objects(static_cast<size_t>(4 * count), 'o'), ranks(static_cast<size_t>(4 * count), 'r');
    Outcome outcome;
    outcome.results = {ResultArray{ResultRole::kObjects, v1::ELEMENT_TYPE_UINT32, 4, count, objects.data()},
                       ResultArray{ResultRole::kRanks, v1::ELEMENT_TYPE_UINT32, 4, count, ranks.data()}};
    outcome.stats.set_device("a device");
    const auto response = Encoded<v1::LoadBalanceResponse>(outcome);
    EXPECT_EQ(response.objects().count(), count);
    EXPECT_TRUE(response.objects().inline_data() == objects) << count;
    EXPECT_TRUE(response.ranks().inline_data() == ranks) << count;
    EXPECT_EQ(response.stats().device(), "a device");
  }
}

TEST(Responses, HoldColumnsOfEverySizeInOrder) {
  for (const int64_t count : {0, 1, 100, 128, 16'384, 300'000}) {
    const std::string numbers(static_cast<size_t>(2 * count), 'n'), characters(static_cast<size_t>(3 * count), 'c'),
        offsets(static_cast<size_t>(8 * count + 8), 'o'), bitmap(static_cast<size_t>((count + 7) / 8), 'b');
    Outcome outcome;
    outcome.results = {
        ResultArray{ResultRole::kColumnData, v1::ELEMENT_TYPE_UINT8, 1, 3 * count, characters.data()},
        ResultArray{ResultRole::kColumnOffsets, v1::ELEMENT_TYPE_INT64, 8, count + 1, offsets.data()},
        ResultArray{ResultRole::kColumnValidity, v1::ELEMENT_TYPE_UINT8, 1, (count + 7) / 8, bitmap.data()},
        ResultArray{ResultRole::kColumnData, v1::ELEMENT_TYPE_INT16, 2, count, numbers.data()},
        ResultArray{ResultRole::kColumnData, v1::ELEMENT_TYPE_RECORD, 2, count, numbers.data()},
        ResultArray{ResultRole::kColumnValidity, v1::ELEMENT_TYPE_UINT8, 1, (count + 7) / 8, bitmap.data()},
        ResultArray{ResultRole::kValues, v1::ELEMENT_TYPE_INT16, 2, count, numbers.data()}};
    const auto response = Encoded<v1::SortResponse>(outcome);
    ASSERT_EQ(response.key_columns_size(), 3);
    EXPECT_TRUE(response.key_columns(0).data().inline_data() == characters) << count;
    EXPECT_TRUE(response.key_columns(0).offsets().inline_data() == offsets) << count;
    EXPECT_TRUE(response.key_columns(0).validity().inline_data() == bitmap) << count;
    EXPECT_TRUE(response.key_columns(1).data().inline_data() == numbers) << count;
    EXPECT_FALSE(response.key_columns(1).has_offsets());
    EXPECT_FALSE(response.key_columns(1).has_validity());
    EXPECT_FALSE(response.key_columns(2).has_offsets());
    EXPECT_TRUE(response.key_columns(2).validity().inline_data() == bitmap) << count;
    EXPECT_EQ(response.key_columns(2).data().record_bytes(), 2U);
    EXPECT_EQ(response.key_columns(2).data().count(), count);
    EXPECT_TRUE(response.values().inline_data() == numbers) << count;
  }
}

TEST(Responses, OfEveryOperatorHaveTheirFields) {
  const char byte = 'x';
  const auto outcome = [&byte](ResultRole role) {
    Outcome outcome;
    outcome.results = {ResultArray{role, v1::ELEMENT_TYPE_UINT8, 1, 1, &byte}};
    outcome.merge_algorithm = v1::MERGE_ALGORITHM_TILED;
    return outcome;
  };
  EXPECT_EQ(Encoded<v1::SortResponse>(outcome(ResultRole::kValues)).values().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::MergeResponse>(outcome(ResultRole::kKeys)).keys().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::MergeResponse>(outcome(ResultRole::kValues)).values().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::MergeResponse>(outcome(ResultRole::kKeys)).algorithm(), v1::MERGE_ALGORITHM_TILED);
  EXPECT_EQ(Encoded<v1::ExpandIntervalsResponse>(outcome(ResultRole::kValues)).values().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::MoveIntervalsResponse>(outcome(ResultRole::kResult)).result().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::ScatterIntervalsResponse>(outcome(ResultRole::kResult)).result().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::SearchResponse>(outcome(ResultRole::kPositions)).positions().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::GroupResponse>(outcome(ResultRole::kKeys)).keys().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::GroupResponse>(outcome(ResultRole::kCounts)).counts().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::GroupResponse>(outcome(ResultRole::kFirsts)).firsts().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::GroupResponse>(outcome(ResultRole::kSums)).sums().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::GroupResponse>(outcome(ResultRole::kMinima)).minima().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::GroupResponse>(outcome(ResultRole::kMaxima)).maxima().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::GroupResponse>(outcome(ResultRole::kValueCounts)).value_counts().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::CombineSetsResponse>(outcome(ResultRole::kKeys)).keys().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::CombineSetsResponse>(outcome(ResultRole::kValues)).values().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::CombineSetsResponse>(outcome(ResultRole::kCount)).count().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::JoinResponse>(outcome(ResultRole::kLeftRows)).left_rows().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::JoinResponse>(outcome(ResultRole::kRightRows)).right_rows().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::JoinResponse>(outcome(ResultRole::kCount)).count().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::RankResponse>(outcome(ResultRole::kRanks)).ranks().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::SelectResponse>(outcome(ResultRole::kElements)).elements().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::SelectResponse>(outcome(ResultRole::kValues)).values().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::SelectResponse>(outcome(ResultRole::kIndices)).indices().inline_data(), "x");
  EXPECT_EQ(Encoded<v1::SelectResponse>(outcome(ResultRole::kCount)).count().inline_data(), "x");
}

}  // namespace
}  // namespace corank::testing
