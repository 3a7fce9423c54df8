// Data on streams that have ended.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/wire/raw_peer.h"
#include "tests/wire/wire_server.h"

namespace corank::wire::testing {
namespace {

constexpr absl::string_view kCancel("\0\0\0\x08", 4);

// Netty sends what was queued for a call after it has reset it.
TEST(LateDataTest, ServesOnWhereDataFollowsAReset) {
  WireServer server;
  RawPeer peer(server.port());
  const Fields fields = CallFields("/test/Hang");
  peer.SendHeaders(1, fields);
  peer.SendHeaders(3, fields);
  // Together, as the server would read them.
  const std::string data = FrameOf(NGHTTP2_DATA, 0, 1, Message(std::string(600, 'x')));
  peer.Send(absl::StrCat(data, FrameOf(NGHTTP2_RST_STREAM, 0, 1, kCancel), data, data));
  EXPECT_EQ(ValueOf(peer.ReadCall(1), ":reset"), absl::StrCat(NGHTTP2_STREAM_CLOSED));
  EXPECT_EQ(server.seen().AwaitCancel().code, kCancelled);
  for (const char byte : data) peer.Send(std::string(1, byte));
  Ask(peer, 5, "def");
  std::optional<Frame> next = peer.Read();
  for (; next && next->type != NGHTTP2_DATA; next = peer.Read()) EXPECT_EQ(next->stream, 5) << "one answer a stream";
  ASSERT_TRUE(next);
  EXPECT_EQ(next->payload, Message("def"));
}

TEST(LateDataTest, AnswersDataAfterTheEndOfACall) {
  WireServer server;
  RawPeer peer(server.port());
  Ask(peer, 1, "abc");
  EXPECT_EQ(ValueOf(peer.ReadCall(1), "grpc-status"), "0");
  peer.SendData(1, Message("def"), true);
  EXPECT_EQ(ValueOf(peer.ReadCall(1), ":reset"), absl::StrCat(NGHTTP2_STREAM_CLOSED));
  Ask(peer, 3, "ghi");
  EXPECT_EQ(ValueOf(peer.ReadCall(3), ":data"), Message("ghi"));
}

// What was on its way when the server refused a call is nobody's fault.
TEST(LateDataTest, IgnoresDataOfCallsThatItRefused) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/None"));
  EXPECT_EQ(ValueOf(peer.ReadCall(1), "grpc-status"), "12");
  for (int i = 0; i < 3; ++i) peer.SendData(1, Message("abc"));
  Ask(peer, 3, "def");
  std::optional<Frame> next = peer.Read();
  while (next && next->stream == 1) {
    ASSERT_EQ(next->type, NGHTTP2_RST_STREAM);
    EXPECT_EQ(next->payload, std::string(4, '\0')) << "the end of the refusal, which asks for no more";
    next = peer.Read();
  }
  ASSERT_TRUE(next);
  EXPECT_EQ(next->stream, 3);
}

// As much as the window of the connection allows, over and over: dropped bytes give their room back.
TEST(LateDataTest, TakesNoWindowForDataThatComeLate) {
  ConnectionLimits limits;
  limits.connection_window = 1 << 20;
  WireServer server(limits);
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/Hang"));
  peer.SendFrame(NGHTTP2_RST_STREAM, 0, 1, kCancel);
  const std::string data(16 << 10, 'x');
  int64_t window = 65535, sent = 0;  // the first is HTTP/2's default
  while (sent < 4 * limits.connection_window) {
    while (window < static_cast<int64_t>(data.size())) {
      const std::optional<Frame> frame = peer.Read(absl::Seconds(10), true);
      ASSERT_TRUE(frame) << "after " << sent << " bytes";
      ASSERT_NE(frame->type, NGHTTP2_GOAWAY);
      if (frame->type != NGHTTP2_WINDOW_UPDATE || frame->stream != 0) continue;
      for (int64_t i = 0, more = 0; i < 4; ++i) {
        more = more << 8 | static_cast<uint8_t>(frame->payload[i]);
        if (i == 3) window += more;
      }
    }
    ASSERT_TRUE(peer.SendData(1, data));
    window -= static_cast<int64_t>(data.size());
    sent += static_cast<int64_t>(data.size());
  }
}

}  // namespace
}  // namespace corank::wire::testing
