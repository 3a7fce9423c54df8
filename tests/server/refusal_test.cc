// Bad input through the whole server: it returns the status and the field, and continues to serve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "tests/server/bad_requests.h"
#include "tests/server/messages.h"
#include "tests/server/raw_stream.h"
#include "tests/server/running_server.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

template <typename Request>
grpc::Status Send(v1::CorankService::Stub& stub, const Request& request) {
  grpc::ClientContext context;
  typename Unary<Request>::Response response;
  return Call(stub, &context, request, &response);
}

grpc::Status SendAny(v1::CorankService::Stub& stub, const AnyRequest& any) {
  return std::visit([&stub](const auto& request) { return Send(stub, request); }, any);
}

std::string MethodPath(const std::string& method) { return "/corank.v1.CorankService/" + method; }

// The id of an ended call in the server's log; empty if the call returned none.
std::string RequestId(const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find("x-request-id");
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

Server::Options SmallMessages() {
  Server::Options options = TestOptions();
  options.limits = TableLimits();
  return options;
}

class RefusalTest : public ::testing::Test {
 protected:
  void ExpectRefused(const BadRequest& row) {
    SCOPED_TRACE(row.name);
    const grpc::Status status = SendAny(running_.stub(), row.request);
    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(row.code)) << status.error_message();
    EXPECT_EQ(BadField(status), row.field) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(row.field));
    const size_t same_operator = row.request.index();
    const grpc::Status next = SendAny(running_.stub(), GoodRequests()[same_operator]);
    EXPECT_TRUE(next.ok()) << "the next good request fails: " << next.error_message();
  }

  RunningServer running_{SmallMessages()};
};

TEST_F(RefusalTest, EveryMalformedRequestNamesItsFieldAndTheServerGoesOn) {
  for (const BadRequest& row : MalformedRequests()) ExpectRefused(row);
}

TEST_F(RefusalTest, EveryFaultInTheDataNamesItsFieldAndTheServerGoesOn) {
  for (const BadRequest& row : FaultyRequests()) ExpectRefused(row);
}

TEST_F(RefusalTest, AssumptionsSwitchTheChecksOff) {
  for (const BadRequest& row : FaultyRequests()) {
    AnyRequest any = row.request;
    if (std::holds_alternative<v1::CombineSetsRequest>(any)) continue;  // always checked
    if (std::holds_alternative<v1::SortRequest>(any)) continue;         // so are runs
    if (std::holds_alternative<v1::JoinRequest>(any)) continue;         // needs no order
    if (std::holds_alternative<v1::SelectRequest>(any)) continue;
    if (std::holds_alternative<v1::RankRequest>(any)) continue;
    if (auto* merge = std::get_if<v1::MergeRequest>(&any)) merge->set_assume_sorted(true);
    if (auto* search = std::get_if<v1::SearchRequest>(&any)) search->set_assume_sorted(true);
    if (auto* move = std::get_if<v1::MoveIntervalsRequest>(&any)) move->set_allow_overlap(true);
    if (auto* scatter = std::get_if<v1::ScatterIntervalsRequest>(&any)) scatter->set_allow_overlap(true);
    if (auto* group = std::get_if<v1::GroupRequest>(&any)) {
      group->set_input(v1::GROUP_INPUT_UNSORTED);
      group->clear_values();  // no sums
      group->clear_outputs();
    }
    const grpc::Status status = SendAny(running_.stub(), any);
    EXPECT_TRUE(status.ok()) << row.name << ": " << status.error_message();
  }
}

TEST_F(RefusalTest, BytesThatAreNoMessageAreRefusedAndTheServerGoesOn) {
  const std::string array_over_the_end("\x0a\x05\x08\x04\x22\x7f", 6);
  const std::string id_that_is_not_utf8("\x5a\x03\x12\x01\xff", 5);  // of a SortRequest
  for (const char* method : {"Sort", "Merge", "ExpandIntervals", "MoveIntervals", "GatherIntervals", "ScatterIntervals",
                             "LoadBalance", "Search", "Group", "CombineSets", "Join", "Select", "Rank"}) {
    for (const std::string& bytes : {std::string("\xff"), array_over_the_end, std::string(5000, '\x07')}) {
      SCOPED_TRACE(method);
      grpc::ClientContext context;
      const grpc::Status status = CallRaw(running_.channel(), MethodPath(method), &context, bytes);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
      EXPECT_EQ(BadField(status), "request");
      EXPECT_THAT(status.error_message(), HasSubstr(std::string("corank.v1.") + method + "Request"));
      EXPECT_EQ(RequestId(context).size(), 16U) << "an id of the server's";
    }
  }
  grpc::ClientContext context;
  EXPECT_EQ(BadField(CallRaw(running_.channel(), MethodPath("Sort"), &context, id_that_is_not_utf8)), "request");
  for (const AnyRequest& request : GoodRequests()) EXPECT_TRUE(SendAny(running_.stub(), request).ok());
}

TEST_F(RefusalTest, AMessageOverTheLimitIsNotParsed) {
  grpc::ClientContext context;
  const grpc::Status status = CallRaw(running_.channel(), MethodPath("Sort"), &context, std::string(65'537, '\xff'));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadField(status), "request");
  EXPECT_THAT(status.error_message(), HasSubstr("max_request_bytes is 65536"));
  EXPECT_EQ(RequestId(context).size(), 16U);
}

TEST_F(RefusalTest, AMessageOverTheLimitNamesTheLimitAndTheStreamedAlternative) {
  v1::SortRequest request;
  request.mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT8);
  request.mutable_keys()->set_inline_data(std::string(65'536, 'x'));
  const grpc::Status status = Send(running_.stub(), request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("max_request_bytes is 65536"));
  EXPECT_THAT(status.error_message(), HasSubstr("Execute"));
}

TEST_F(RefusalTest, AMessageFarOverTheLimitIsRefusedAndTheServerGoesOn) {
  v1::SortRequest request;
  request.mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT8);
  request.mutable_keys()->set_inline_data(std::string(200'000, 'x'));
  EXPECT_EQ(Send(running_.stub(), request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(SendAny(running_.stub(), GoodRequests()[0]).ok());
}

TEST_F(RefusalTest, ARequestAndAResponseJustUnderTheLimitPass) {
  v1::SortRequest request;
  request.mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT8);
  request.mutable_keys()->set_inline_data(std::string(65'536 - 512, 'x'));
  grpc::ClientContext context;
  v1::SortResponse response;
  const grpc::Status status = Call(running_.stub(), &context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_LE(response.ByteSizeLong(), 65'536U);
}

}  // namespace
}  // namespace corank::testing
