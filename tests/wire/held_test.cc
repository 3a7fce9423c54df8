// What the server holds of calls that it does not read, or has read.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/wire/raw_peer.h"
#include "tests/wire/wire_server.h"

namespace corank::wire::testing {
namespace {

TEST(HeldTest, CountsTheNameForEachOfJoinedBinaryValues) {
  ConnectionLimits limits;
  limits.max_header_bytes = 4096;
  WireServer server(limits);
  RawPeer peer(server.port());
  Fields fields = CallFields("/test/Echo");
  fields.emplace_back(std::string(996, 'n') + "-bin", ",");
  peer.SendHeaders(1, fields, true);
  EXPECT_EQ(ValueOf(peer.ReadCall(1), "grpc-status"), "13") << "no message came, but the metadata are small enough";
  fields.back().second = ",,,,";
  peer.SendHeaders(3, fields, true);
  EXPECT_EQ(ValueOf(peer.ReadCall(3), "grpc-status"), "8");
}

TEST(HeldTest, HandsOverManyShortMessagesThatWaited) {
  constexpr size_t kMessages = 40'000;
  WireServer server;
  RawPeer peer(server.port());
  std::string messages;
  for (size_t i = 0; i < kMessages; ++i) messages += Message("x");
  ASSERT_LE(messages.size(), kUnreadBytes);
  peer.SendHeaders(1, CallFields("/test/Later"));
  peer.SendData(1, messages, true);
  EXPECT_EQ(ValueOf(peer.ReadCall(1), ":data"), Message(absl::StrCat(kMessages)));
}

TEST(HeldTest, HoldsNothingThatComesAfterTheOnlyMessageOfACall) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/Hang"));
  std::string bytes = Message("x");
  for (int i = 0; i < 3; ++i) {
    peer.SendData(1, bytes);
    std::optional<Frame> frame;
    do {
      frame = peer.Read(absl::Seconds(10), true);
      ASSERT_TRUE(frame) << i;
    } while (frame->type != NGHTTP2_WINDOW_UPDATE || frame->stream != 1);
    bytes.assign(600 << 10, 'j');  // more than half of the call's window, which its message has opened
  }
}

// One answer that nobody reads, on a connection of its own.
class UnreadAnswer {
 public:
  UnreadAnswer(int port, const std::string& tenant) : peer_(port, /*greets=*/false) {
    peer_.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    peer_.SendFrame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\x04\0\0\0\0", 6));
    Fields fields = CallFields("/test/Echo");
    fields.emplace_back("tenant", tenant);
    peer_.SendHeaders(1, fields);
    peer_.SendData(1, Message(std::string(60000, 'x')), true);
    std::optional<Frame> head = peer_.Read();
    while (head && head->type != NGHTTP2_HEADERS) head = peer_.Read();
    is_refused_ = head && (head->flags & NGHTTP2_FLAG_END_STREAM) != 0;
  }
  bool is_refused() const { return is_refused_; }

 private:
  RawPeer peer_;
  bool is_refused_ = false;
};

TEST(HeldTest, MakesNoMoreAnswersForATenantThatLeavesThemUnreadOnManyConnections) {
  ConnectionLimits limits;
  limits.max_unread_answer_bytes = 300 << 10;
  limits.write_timeout = std::chrono::minutes(10);
  WireServer server(limits);
  std::vector<std::unique_ptr<UnreadAnswer>> answers;
  const auto is_refused = [&] {
    // Connections count once a second what they leave unread.
    for (const absl::Time end = absl::Now() + absl::Seconds(10); absl::Now() < end;) {
      answers.push_back(std::make_unique<UnreadAnswer>(server.port(), "many"));
      if (answers.back()->is_refused()) return true;
      absl::SleepFor(absl::Milliseconds(answers.size() < 5 ? 0 : 200));
    }
    return false;
  };
  ASSERT_TRUE(is_refused());
  EXPECT_GE(answers.size(), 6U) << "five answers fill the share";
  EXPECT_FALSE(UnreadAnswer(server.port(), "other").is_refused());
  EXPECT_FALSE(UnreadAnswer(server.port(), "").is_refused());
  answers.clear();
  bool is_served = false;
  for (const absl::Time end = absl::Now() + absl::Seconds(10); !is_served && absl::Now() < end;) {
    is_served = !UnreadAnswer(server.port(), "many").is_refused();
  }
  EXPECT_TRUE(is_served) << "the connections have ended";
}

TEST(HeldTest, EndsCallsWhoseMessageDoesNotCome) {
  ConnectionLimits limits;
  limits.read_timeout = std::chrono::milliseconds(100);
  WireServer server(limits);
  for (const std::string& begin : {std::string(), Message("whole").substr(0, 3), Message("whole").substr(0, 8)}) {
    RawPeer peer(server.port());
    peer.SendHeaders(1, CallFields("/test/Echo"));
    if (!begin.empty()) peer.SendData(1, begin);
    EXPECT_EQ(ValueOf(peer.ReadCall(1), "grpc-status"), "4") << begin.size() << " bytes came";
  }
}

}  // namespace
}  // namespace corank::wire::testing
