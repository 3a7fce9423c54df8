// Tests of peers that ping or reset calls too often, or only seem to.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/wire/raw_peer.h"
#include "tests/wire/wire_server.h"

namespace corank::wire::testing {
namespace {

TEST(FloodsTest, CutsOffPeersThatPingTooOften) {
  WireServer server;
  RawPeer peer(server.port());
  for (int i = 0; i < 4; ++i) peer.SendFrame(NGHTTP2_PING, 0, 0, "12345678");
  EXPECT_EQ(peer.ReadGoaway(), NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10)));
}

// Frames that need an acknowledgement, in one write, so that the server reads them before it can send one.
TEST(FloodsTest, CutsOffPeersThatWantTooManyAcknowledgements) {
  for (const int frames : {100, 101}) {
    WireServer server;
    RawPeer peer(server.port());
    ASSERT_TRUE(peer.AnswersPing());
    std::string burst;
    for (int i = 0; i < frames; ++i) burst += FrameOf(NGHTTP2_SETTINGS, 0, 0, "");
    peer.Send(burst);
    EXPECT_EQ(peer.AnswersPing(), frames == 100) << frames;
  }
}

TEST(FloodsTest, CutsOffPeersWithTooManySettingsInAFrame) {
  for (const int entries : {32, 33}) {
    WireServer server;
    RawPeer peer(server.port());
    std::string settings;
    for (int i = 0; i < entries; ++i) settings += std::string("\0\x03\0\0\0\x64", 6);
    peer.SendFrame(NGHTTP2_SETTINGS, 0, 0, settings);
    EXPECT_EQ(peer.AnswersPing(), entries == 32) << entries;
  }
}

TEST(FloodsTest, CutsOffHeadsOfTooManyFrames) {
  for (const int continuations : {8, 9}) {
    WireServer server;
    RawPeer peer(server.port());
    peer.SendFrame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, "\x83");  // POST
    for (int i = 1; i <= continuations; ++i) {
      const bool is_last = i == continuations;
      peer.SendFrame(NGHTTP2_CONTINUATION, is_last ? NGHTTP2_FLAG_END_HEADERS : 0, 1, is_last ? "\x86\x84" : "");
    }
    EXPECT_EQ(peer.AnswersPing(), continuations == 8) << continuations;
  }
}

TEST(FloodsTest, ReadsLittleOfAHeadThatRepeatsALongField) {
  WireServer server;
  RawPeer peer(server.port());
  const auto ask = [&peer](int32_t stream, size_t count) {
    Fields fields = CallFields("/test/Echo");
    fields.insert(fields.end(), count, {"x-bomb", std::string(3000, 'v')});  // a byte each, but for the first
    peer.SendHeaders(stream, fields, true);
    return peer.ReadCall(stream);
  };
  EXPECT_EQ(ValueOf(ask(1, 20), "grpc-status"), "8") << "it is told why";
  EXPECT_EQ(ValueOf(ask(3, 16'000), ":reset"), "2");
  peer.SendHeaders(5, CallFields("/test/Hang"));
  peer.SendHeaders(5, Fields(16'000, {"x-bomb", std::string(3000, 'v')}), true);
  EXPECT_EQ(ValueOf(peer.ReadCall(5), ":reset"), "2") << "trailers";
  Ask(peer, 7, "abc");
  EXPECT_EQ(ValueOf(peer.ReadCall(7), "grpc-status"), "0");
}

TEST(FloodsTest, CutsOffPeersThatResetCallsInAFlood) {
  WireServer server;
  RawPeer peer(server.port());
  for (int32_t stream = 1; stream < 40000; stream += 2) {
    if (!peer.SendHeaders(stream, CallFields("/test/Hang"))) break;
    if (!peer.SendFrame(NGHTTP2_RST_STREAM, 0, stream, std::string("\0\0\0\x08", 4))) break;
  }
  EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10)));
  EXPECT_TRUE(server.seen().AwaitNoHandlers());
}

TEST(FloodsTest, CutsOffFloodsOfResetsWhateverTheirTimeout) {
  for (const char* const timeout : {"1n", "100u", "5m", "1S"}) {
    WireServer server;
    RawPeer peer(server.port());
    Fields fields = CallFields("/test/Hang");
    fields.emplace_back("grpc-timeout", timeout);
    for (int32_t stream = 1; stream < 40000; stream += 2) {
      if (!peer.SendHeaders(stream, fields)) break;
      if (!peer.SendFrame(NGHTTP2_RST_STREAM, 0, stream, std::string("\0\0\0\x08", 4))) break;
    }
    EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10))) << timeout;
  }
}

TEST(FloodsTest, KeepsPeersThatResetCallsAtTheirDeadlines) {
  constexpr int kWaves = 40, kAtOnce = 200;  // more than kMostResets and kResetsPerSecond allow
  WireServer server;
  RawPeer peer(server.port());
  Fields fields = CallFields("/test/Hang");
  fields.emplace_back("grpc-timeout", "40m");
  int32_t stream = 1;
  for (int wave = 0; wave < kWaves; ++wave) {
    const int32_t first = stream;
    for (int i = 0; i < kAtOnce; ++i, stream += 2) ASSERT_TRUE(peer.SendHeaders(stream, fields));
    // Within the last tenth, before the server ends them.
    absl::SleepFor(absl::Milliseconds(37));
    for (int32_t i = first; i < stream; i += 2) {
      ASSERT_TRUE(peer.SendFrame(NGHTTP2_RST_STREAM, 0, i, std::string("\0\0\0\x08", 4)));
    }
    while (peer.Read(absl::ZeroDuration())) continue;
  }
  Ask(peer, stream, "abc");
  std::optional<Frame> frame = peer.Read();
  while (frame && !(frame->type == NGHTTP2_DATA && frame->stream == stream)) frame = peer.Read();
  EXPECT_TRUE(frame) << "the connection lives";
}

// The head and the reset of a call come together if the caller's host is busy.
TEST(FloodsTest, KeepsPeersThatResetCallsThatItRefusedAsLate) {
  WireServer server;
  RawPeer peer(server.port());
  Fields fields = CallFields("/test/Late");
  fields.emplace_back("grpc-timeout", "20m");
  int32_t stream = 1;
  for (; stream < 40000; stream += 2) {
    ASSERT_TRUE(peer.SendHeaders(stream, fields));
    ASSERT_TRUE(peer.SendFrame(NGHTTP2_RST_STREAM, 0, stream, std::string("\0\0\0\x08", 4)));
    if (stream % 1000 == 1) {
      while (peer.Read(absl::ZeroDuration())) continue;
    }
  }
  Ask(peer, stream, "abc");
  std::optional<Frame> frame = peer.Read();
  while (frame && !(frame->type == NGHTTP2_DATA && frame->stream == stream)) frame = peer.Read();
  EXPECT_TRUE(frame) << "the connection lives";
}

}  // namespace
}  // namespace corank::wire::testing
