// Peers that keep to HTTP/2 and not to gRPC, or to neither.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/wire/arrivals.h"
#include "tests/wire/raw_peer.h"
#include "tests/wire/wire_server.h"

namespace corank::wire::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// INITIAL_WINDOW_SIZE 0: the server may send no answer.
void GreetWithoutWindow(RawPeer& peer) {
  peer.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  peer.SendFrame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\x04\0\0\0\0", 6));
}

TEST(FramesTest, AnswersACallThatComesByteByByte) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/Echo"));
  const std::string message = Message("abc");
  for (const char byte : message) peer.SendData(1, std::string(1, byte));
  peer.SendData(1, "", true);
  const Fields answer = peer.ReadCall(1);
  EXPECT_EQ(ValueOf(answer, ":status"), "200");
  EXPECT_EQ(ValueOf(answer, ":data"), message);
  EXPECT_EQ(ValueOf(answer, "grpc-status"), "0");
}

TEST(FramesTest, TellsACallWhoseDeadlinePasses) {
  WireServer server;
  RawPeer peer(server.port());
  Fields fields = CallFields("/test/Hang");
  fields.emplace_back("grpc-timeout", "50m");
  peer.SendHeaders(1, fields);
  const Fields answer = peer.ReadCall(1);
  EXPECT_EQ(ValueOf(answer, "grpc-status"), "4");
  EXPECT_EQ(server.seen().AwaitCancel().code, kDeadlineExceeded);
  EXPECT_TRUE(server.seen().AwaitNoHandlers());
}

TEST(FramesTest, RefusesWhatIsNotGrpc) {
  WireServer server;
  RawPeer peer(server.port());
  Fields get = CallFields("/test/Echo");
  get[0].second = "GET";
  peer.SendHeaders(1, get, true);
  EXPECT_EQ(ValueOf(peer.ReadCall(1), ":status"), "405");
  Fields text = CallFields("/test/Echo");
  text.back().second = "text/plain";
  peer.SendHeaders(3, text, true);
  EXPECT_EQ(ValueOf(peer.ReadCall(3), ":status"), "415");
  EXPECT_EQ(server.seen().done, 0);
}

TEST(FramesTest, RefusesHeadsThatAreWrong) {
  WireServer server;
  RawPeer peer(server.port());
  Fields timeout = CallFields("/test/Echo");
  timeout.emplace_back("grpc-timeout", "soon");
  peer.SendHeaders(1, timeout, true);
  EXPECT_EQ(ValueOf(peer.ReadCall(1), "grpc-status"), "3");
  Fields binary = CallFields("/test/Echo");
  binary.emplace_back("note-bin", "!");
  peer.SendHeaders(3, binary, true);
  EXPECT_EQ(ValueOf(peer.ReadCall(3), "grpc-status"), "3");
  peer.SendHeaders(5, CallFields("/test/None"), true);
  EXPECT_EQ(ValueOf(peer.ReadCall(5), "grpc-status"), "12");
  EXPECT_EQ(server.seen().done, 0);
}

TEST(FramesTest, RefusesByTrailersAlone) {
  WireServer server;
  RawPeer peer(server.port());
  int32_t stream = 1;
  for (const char* const path : {"/test/None", "/test/Late"}) {
    peer.SendHeaders(stream, CallFields(path));  // its message has not come
    const std::optional<Frame> answer = peer.Read();
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->type, NGHTTP2_HEADERS) << path;
    EXPECT_EQ(answer->flags, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM) << path;
    EXPECT_EQ(answer->stream, stream) << path;
    const std::optional<Frame> reset = peer.Read();
    EXPECT_TRUE(reset && reset->type == NGHTTP2_RST_STREAM) << "the caller need not send the message: " << path;
    stream += 2;
  }
}

TEST(FramesTest, RefusesMoreMetadataThanTheLimit) {
  ConnectionLimits limits;
  limits.max_header_bytes = 4096;
  WireServer server(limits);
  RawPeer peer(server.port());
  Fields fields = CallFields("/test/Echo");
  fields.emplace_back("note", std::string(3000, 'a'));
  peer.SendHeaders(1, fields, true);
  EXPECT_EQ(ValueOf(peer.ReadCall(1), "grpc-status"), "13") << "no message came, but the metadata are small enough";
  fields.emplace_back("note", std::string(1000, 'b'));
  peer.SendHeaders(3, fields, true);
  EXPECT_EQ(ValueOf(peer.ReadCall(3), "grpc-status"), "8");
}

TEST(FramesTest, RefusesCompressedMessages) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/Echo"));
  std::string message = Message("abc");
  message[0] = 1;
  peer.SendData(1, message, true);
  const Fields answer = peer.ReadCall(1);
  EXPECT_EQ(ValueOf(answer, "grpc-status"), "12");
  EXPECT_EQ(ValueOf(answer, "grpc-accept-encoding"), "identity");
}

TEST(FramesTest, EndsACallThatEndsInTheMiddleOfAMessage) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/Echo"));
  peer.SendData(1, Message("abcdef").substr(0, 8), true);
  EXPECT_EQ(ValueOf(peer.ReadCall(1), "grpc-status"), "13");
  EXPECT_TRUE(server.seen().AwaitNoHandlers());
}

TEST(FramesTest, RefusesCallsOverTheLimit) {
  ConnectionLimits limits;
  limits.max_streams = 4;
  WireServer server(limits);
  RawPeer peer(server.port());
  for (int32_t stream = 1; stream <= 9; stream += 2) peer.SendHeaders(stream, CallFields("/test/Hang"));
  EXPECT_EQ(ValueOf(peer.ReadCall(9), ":reset"), absl::StrCat(NGHTTP2_REFUSED_STREAM));
  EXPECT_EQ(server.seen().handlers, 4);
}

TEST(FramesTest, CancelsCallsThatAreReset) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/Hang"));
  peer.SendFrame(NGHTTP2_RST_STREAM, 0, 1, std::string("\0\0\0\x08", 4));
  EXPECT_EQ(server.seen().AwaitCancel().code, kCancelled);
  EXPECT_TRUE(server.seen().AwaitNoHandlers());
}

TEST(FramesTest, CancelsTheCallsOfAConnectionThatEnds) {
  WireServer server;
  {
    RawPeer peer(server.port());
    peer.SendHeaders(1, CallFields("/test/Hang"));
    Ask(peer, 3, "abc");
    EXPECT_EQ(ValueOf(peer.ReadCall(3), "grpc-status"), "0");
  }
  EXPECT_EQ(server.seen().AwaitCancel().code, kCancelled);
  EXPECT_TRUE(server.seen().AwaitNoHandlers());
}

TEST(FramesTest, StopsReadingACallThatIsNotRead) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/Hold"));
  const std::string message = Message(std::string(65535 - 5, 'x'));
  peer.SendData(1, message);  // all that the window holds
  Ask(peer, 3, "abc");
  EXPECT_EQ(ValueOf(peer.ReadCall(3), "grpc-status"), "0") << "another call of the connection goes on";
  EXPECT_EQ(server.seen().received_bytes, 3) << "the held one was not read";
  server.Release();
  peer.SendData(1, "", true);
  EXPECT_EQ(ValueOf(peer.ReadCall(1), ":data"), Message("65530"));
}

TEST(FramesTest, OpensTheWindowOfACallOnlyAsItIsRead) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/Hold"));
  peer.SendData(1, Message(std::string(65535 - 5, 'x')));
  Ask(peer, 3, "abc");
  while (const auto frame = peer.Read(absl::Seconds(10), true)) {
    EXPECT_FALSE(frame->type == NGHTTP2_WINDOW_UPDATE && frame->stream == 1);
    if (frame->stream == 3 && (frame->flags & NGHTTP2_FLAG_END_STREAM) != 0) break;
  }
  server.Release();
  bool is_opened = false;
  while (!is_opened) {
    const auto frame = peer.Read(absl::Seconds(10), true);
    ASSERT_TRUE(frame);
    is_opened = frame->type == NGHTTP2_WINDOW_UPDATE && frame->stream == 1;
  }
}

// The value that a SETTINGS frame has for the setting; 0: none.
uint32_t SettingOf(const Frame& frame, int setting) {
  constexpr size_t kEntryBytes = 6;
  for (size_t i = 0; i + kEntryBytes <= frame.payload.size(); i += kEntryBytes) {
    const auto* const entry = reinterpret_cast<const uint8_t*>(frame.payload.data()) + i;
    if (entry[1] == setting) return uint32_t{entry[2]} << 24 | entry[3] << 16 | entry[4] << 8 | entry[5];
  }
  return 0;
}

TEST(FramesTest, TakesLongFramesOnceACallMaySendALongMessage) {
  constexpr size_t kShort = 16384;
  const std::string message = Message(std::string(200'000, 'x'));
  WireServer server;
  RawPeer peer(server.port());
  std::optional<Frame> first = peer.Read(absl::Seconds(10), true);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->type, NGHTTP2_SETTINGS);
  EXPECT_EQ(SettingOf(*first, NGHTTP2_SETTINGS_MAX_FRAME_SIZE), 0U);

  // The test service lets every call send long messages.
  peer.SendHeaders(1, CallFields("/test/Echo"));
  peer.SendFrame(NGHTTP2_DATA, 0, 1, message.substr(0, kShort));
  uint32_t allowed = 0;
  while (allowed == 0) {
    const std::optional<Frame> frame = peer.Read(absl::Seconds(10), true);
    ASSERT_TRUE(frame);
    if (frame->type == NGHTTP2_SETTINGS) allowed = SettingOf(*frame, NGHTTP2_SETTINGS_MAX_FRAME_SIZE);
  }
  ASSERT_GE(allowed, message.size());
  peer.SendFrame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, "");  // for the first
  peer.SendFrame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, "");
  peer.SendFrame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, message.substr(kShort));
  bool has_answer = false;
  while (!has_answer) {
    const std::optional<Frame> frame = peer.Read();
    ASSERT_TRUE(frame);
    ASSERT_NE(frame->type, NGHTTP2_GOAWAY);
    ASSERT_NE(frame->type, NGHTTP2_RST_STREAM);
    has_answer = frame->type == NGHTTP2_DATA;
  }
}

TEST(FramesTest, EndsAConnectionThatSendsALongFrameBefore) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendFrame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, std::string(20'000, '\x82'));
  EXPECT_EQ(peer.ReadGoaway(), NGHTTP2_FRAME_SIZE_ERROR);
}

TEST(FramesTest, DropsAnswersThatNobodyReads) {
  ConnectionLimits limits;
  limits.write_timeout = milliseconds(300);
  WireServer server(limits);
  RawPeer peer(server.port(), false);
  GreetWithoutWindow(peer);
  Ask(peer, 1, "abc");
  EXPECT_EQ(ValueOf(peer.ReadCall(1), ":reset"), absl::StrCat(NGHTTP2_CANCEL));
  EXPECT_TRUE(server.seen().AwaitNoHandlers());
}

TEST(FramesTest, MakesNoMoreAnswersForACallerThatLeavesThemUnread) {
  constexpr int32_t kCalls = 8, kWindow = 1 << 20;
  ConnectionLimits limits;
  limits.max_unread_answer_bytes = 300 << 10;
  WireServer server(limits);
  RawPeer peer(server.port(), false);
  GreetWithoutWindow(peer);
  const std::string message(60000, 'x');
  std::vector<int32_t> refused;
  for (int32_t stream = 1; stream < 2 * kCalls; stream += 2) {
    Ask(peer, stream, message);
    std::optional<Frame> head = peer.Read();
    while (head && head->type != NGHTTP2_HEADERS) head = peer.Read();
    ASSERT_TRUE(head);
    if ((head->flags & NGHTTP2_FLAG_END_STREAM) != 0) refused.push_back(head->stream);
  }
  EXPECT_EQ(refused, (std::vector<int32_t>{11, 13, 15})) << "five answers fill the share";

  RawPeer other(server.port());
  Ask(other, 1, message);
  EXPECT_EQ(ValueOf(other.ReadCall(1), "grpc-status"), "0") << "another caller has room";

  const std::string grown = {'\0', '\x04', '\0', static_cast<char>(kWindow >> 16), '\0', '\0'};
  peer.SendFrame(NGHTTP2_SETTINGS, 0, 0, grown);
  peer.SendFrame(NGHTTP2_WINDOW_UPDATE, 0, 0, grown.substr(2));
  std::map<int32_t, std::string> answers;
  for (size_t ended = 0; ended < 5;) {
    const std::optional<Frame> frame = peer.Read();
    ASSERT_TRUE(frame);
    if (frame->type == NGHTTP2_DATA) answers[frame->stream] += frame->payload;
    if (frame->type == NGHTTP2_HEADERS && (frame->flags & NGHTTP2_FLAG_END_STREAM) != 0) ++ended;
  }
  Ask(peer, 2 * kCalls + 1, message);
  while (answers[2 * kCalls + 1].size() < Message(message).size()) {
    const std::optional<Frame> frame = peer.Read();
    ASSERT_TRUE(frame) << "it has taken its answers, so this call is served";
    if (frame->type == NGHTTP2_DATA) answers[frame->stream] += frame->payload;
  }
  for (int32_t stream = 1; stream < 11; stream += 2) EXPECT_EQ(answers[stream], Message(message)) << stream;
}

TEST(FramesTest, DropsAnswersThatAreTakenByTheByte) {
  ConnectionLimits limits;
  limits.write_timeout = milliseconds(300);
  WireServer server(limits);
  RawPeer peer(server.port(), false);
  GreetWithoutWindow(peer);
  Ask(peer, 1, std::string(60000, 'x'));
  bool is_reset = false;
  for (const absl::Time end = absl::Now() + absl::Seconds(10); !is_reset && absl::Now() < end;) {
    peer.SendFrame(NGHTTP2_WINDOW_UPDATE, 0, 1, std::string("\0\0\0\1", 4));
    absl::SleepFor(absl::Milliseconds(5));
    const std::optional<Frame> frame = peer.Read(absl::Milliseconds(5));
    is_reset = frame && frame->type == NGHTTP2_RST_STREAM;
  }
  EXPECT_TRUE(is_reset);
  EXPECT_TRUE(server.seen().AwaitNoHandlers());
}

TEST(FramesTest, EndsConnectionsThatSayNothing) {
  ConnectionLimits limits;
  limits.handshake_timeout = milliseconds(200);
  WireServer server(limits);
  RawPeer peer(server.port(), false);
  EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10)));
}

TEST(FramesTest, EndsConnectionsThatDoNotAnswerPings) {
  ConnectionLimits limits;
  limits.keepalive_interval = milliseconds(200);
  limits.keepalive_timeout = milliseconds(200);
  WireServer server(limits);
  RawPeer peer(server.port());
  EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10)));
}

TEST(FramesTest, KeepsConnectionsThatAnswerPings) {
  ConnectionLimits limits;
  limits.keepalive_interval = milliseconds(200);
  limits.keepalive_timeout = milliseconds(500);
  WireServer server(limits);
  RawPeer peer(server.port());
  for (int answered = 0; answered < 2;) {
    const auto frame = peer.Read();
    ASSERT_TRUE(frame) << "after " << answered << " pings";
    if (frame->type != NGHTTP2_PING) continue;
    peer.SendFrame(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, frame->payload);
    ++answered;
  }
}

TEST(ArrivalsTest, DatesWhatWasThereAndNotRead) {
  const Instant began{};
  const auto at = [began](int ms) { return began + milliseconds(ms); };
  Arrivals arrivals(began);
  EXPECT_EQ(arrivals.CameSince(at(3)), at(3));
  arrivals.Take(100, 0, at(5));
  EXPECT_EQ(arrivals.CameSince(at(4)), at(5)) << "the socket was empty then";
  arrivals.Take(100, 250, at(20));
  EXPECT_EQ(arrivals.CameSince(at(19)), at(5)) << "250 bytes had come before 20";
  arrivals.Take(100, 200, at(30));
  EXPECT_EQ(arrivals.CameSince(at(29)), at(5)) << "150 of the 250 bytes are left";
  arrivals.Take(150, 50, at(40));
  EXPECT_EQ(arrivals.CameSince(at(39)), at(20)) << "the last 50 bytes came between 20 and 30";
  arrivals.Take(50, 0, at(50));
  EXPECT_EQ(arrivals.CameSince(at(60)), at(60));
}

TEST(FramesTest, CountsTheTimeThatBytesWaitForABusyLoop) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/Block"));
  peer.SendData(1, Message(""), true);
  server.seen().blocked.WaitForNotification();
  peer.SendHeaders(3, CallFields("/test/Age"));
  peer.SendData(3, Message(""), true);
  constexpr int kWait = 50;
  absl::SleepFor(absl::Milliseconds(kWait));
  server.seen().unblock.Notify();
  const std::string answer = ValueOf(peer.ReadCall(3), ":data");
  int age = 0;
  ASSERT_TRUE(absl::SimpleAtoi(answer.substr(std::min<size_t>(5, answer.size())), &age)) << answer;
  EXPECT_GE(age, kWait);
}

TEST(FramesTest, CutsOffEndlessHeads) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendFrame(NGHTTP2_HEADERS, 0, 1, "");
  for (int i = 0; i < 1000; ++i) {
    if (!peer.SendFrame(NGHTTP2_CONTINUATION, 0, 1, std::string("\0\x01\x61\x01\x62", 5))) break;
  }
  EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10)));
}

TEST(FramesTest, SurvivesBytesThatAreNotHttp2) {
  WireServer server;
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), std::string(100000, '\xff')}) {
    RawPeer peer(server.port(), false);
    peer.Send(text);
    EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10)));
  }
  RawPeer peer(server.port());
  Ask(peer, 1, "abc");
  EXPECT_EQ(ValueOf(peer.ReadCall(1), "grpc-status"), "0");
}

TEST(FramesTest, DrainsConnections) {
  WireServer server;
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/Total"));
  Ask(peer, 3, "abc");
  EXPECT_EQ(ValueOf(peer.ReadCall(3), "grpc-status"), "0");
  server.server().Drain();
  EXPECT_EQ(peer.ReadGoaway(), NGHTTP2_NO_ERROR);
  peer.SendData(1, Message("abc"), true);
  EXPECT_EQ(ValueOf(peer.ReadCall(1), ":data"), Message("3")) << "a running call goes on";
  EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10)));
}

// A proxy may still hold answers for slow callers.
TEST(FramesTest, LeavesTheEndOfADrainedConnectionToThePeer) {
  ConnectionLimits limits;
  limits.linger_timeout = std::chrono::hours(1);
  WireServer server(limits);
  {
    RawPeer peer(server.port());
    Ask(peer, 1, "abc");
    EXPECT_EQ(ValueOf(peer.ReadCall(1), "grpc-status"), "0");
    server.server().Drain();
    EXPECT_EQ(peer.ReadGoaway(), NGHTTP2_NO_ERROR) << "the notice";
    EXPECT_EQ(peer.ReadGoaway(), NGHTTP2_NO_ERROR);
    EXPECT_FALSE(peer.IsClosedWithin(absl::Milliseconds(100)));
    EXPECT_EQ(server.server().connections(), 1);
  }
  for (int i = 0; i < 1000 && server.server().connections() > 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(server.server().connections(), 0);
}

TEST(FramesTest, EndsOldConnections) {
  ConnectionLimits limits;
  limits.max_age = milliseconds(100);
  limits.age_grace = milliseconds(500);
  WireServer server(limits);
  RawPeer peer(server.port());
  peer.SendHeaders(1, CallFields("/test/Hang"));
  EXPECT_EQ(peer.ReadGoaway(), NGHTTP2_NO_ERROR);
  EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10)));
  EXPECT_EQ(server.seen().AwaitCancel().code, kCancelled);
}

TEST(FramesTest, EndsIdleConnections) {
  ConnectionLimits limits;
  limits.max_idle = milliseconds(100);
  WireServer server(limits);
  RawPeer peer(server.port());
  EXPECT_EQ(peer.ReadGoaway(), NGHTTP2_NO_ERROR);
  EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10)));
}

}  // namespace
}  // namespace corank::wire::testing
