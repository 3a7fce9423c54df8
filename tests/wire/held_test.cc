// What the server holds of calls that it does not read, or has read.
#include <chrono>
#include <optional>
#include <string>

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
