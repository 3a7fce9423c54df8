#include "tests/wire/raw_peer.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace corank::wire::testing {
namespace {

constexpr size_t kHeadBytes = 9;
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string Number(uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i));
  return text;
}

uint32_t ParseNumber(absl::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

bool AnswersNothing(const Frame& frame) {
  return frame.type == NGHTTP2_SETTINGS || frame.type == NGHTTP2_WINDOW_UPDATE ||
         (frame.type == NGHTTP2_PING && (frame.flags & NGHTTP2_FLAG_ACK) != 0);
}

}  // namespace

Fields CallFields(const std::string& path) {
  return {{":method", "POST"},         {":scheme", "http"}, {":path", path},
          {":authority", "localhost"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
}

std::string Message(absl::string_view bytes) {
  return absl::StrCat(absl::string_view("\0", 1), Number(static_cast<uint32_t>(bytes.size()), 4), bytes);
}

std::string FrameOf(uint8_t type, uint8_t flags, int32_t stream, absl::string_view payload) {
  return absl::StrCat(Number(static_cast<uint32_t>(payload.size()), 3), std::string(1, static_cast<char>(type)),
                      std::string(1, static_cast<char>(flags)), Number(static_cast<uint32_t>(stream), 4), payload);
}

RawPeer::RawPeer(int port, bool greets, bool secures, const std::string& protocol)
    : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  nghttp2_hd_deflate_new(&deflater_, 4096);
  nghttp2_hd_inflate_new(&inflater_);
  if (secures) Secure(protocol);
  if (!greets) return;
  Send(kPreface);
  SendFrame(NGHTTP2_SETTINGS, 0, 0, "");
}

RawPeer::~RawPeer() {
  nghttp2_hd_deflate_del(deflater_);
  nghttp2_hd_inflate_del(inflater_);
  SSL_free(ssl_);
  close(fd_);
}

void RawPeer::Secure(const std::string& protocol) {
  const std::string offer =
      protocol.empty() ? "" : absl::StrCat(std::string(1, static_cast<char>(protocol.size())), protocol);
  signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to a connection that the server has closed, too
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  ssl_ = SSL_new(context);
  SSL_CTX_free(context);  // the session keeps it
  SSL_set_fd(ssl_, fd_);
  SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(offer.data()), static_cast<unsigned>(offer.size()));
  is_closed_ = SSL_connect(ssl_) != 1;
}

bool RawPeer::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ssl_ == nullptr ? send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL)
                                         : SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool RawPeer::SendFrame(uint8_t type, uint8_t flags, int32_t stream, absl::string_view payload) {
  return Send(FrameOf(type, flags, stream, payload));
}

bool RawPeer::SendHeaders(int32_t stream, const Fields& fields, bool ends) {
  std::vector<nghttp2_nv> pairs;
  for (const auto& [name, value] : fields) {
    pairs.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                     reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(), 0});
  }
  std::string block(nghttp2_hd_deflate_bound(deflater_, pairs.data(), pairs.size()), '\0');
  const ssize_t size = nghttp2_hd_deflate_hd(deflater_, reinterpret_cast<uint8_t*>(block.data()), block.size(),
                                             pairs.data(), pairs.size());
  EXPECT_GE(size, 0);
  block.resize(static_cast<size_t>(size));
  constexpr size_t kMost = 16384;
  const uint8_t last = NGHTTP2_FLAG_END_HEADERS;
  const uint8_t end = ends ? NGHTTP2_FLAG_END_STREAM : 0;
  bool sent = SendFrame(NGHTTP2_HEADERS, block.size() <= kMost ? last | end : end, stream, block.substr(0, kMost));
  for (size_t begin = kMost; begin < block.size(); begin += kMost) {
    sent =
        SendFrame(NGHTTP2_CONTINUATION, begin + kMost >= block.size() ? last : 0, stream, block.substr(begin, kMost));
  }
  return sent;
}

bool RawPeer::SendData(int32_t stream, absl::string_view bytes, bool ends) {
  constexpr size_t kMost = 16384;
  do {
    const absl::string_view part = bytes.substr(0, kMost);
    bytes.remove_prefix(part.size());
    if (!SendFrame(NGHTTP2_DATA, ends && bytes.empty() ? NGHTTP2_FLAG_END_STREAM : 0, stream, part)) return false;
  } while (!bytes.empty());
  return true;
}

bool RawPeer::Fill(absl::Duration patience) {
  pollfd waited = {fd_, POLLIN, 0};
  const bool is_there = ssl_ != nullptr && SSL_pending(ssl_) > 0;
  if (!is_there && poll(&waited, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) <= 0) return false;
  std::array<char, 65536> buffer;
  const ssize_t count = ssl_ == nullptr ? recv(fd_, buffer.data(), buffer.size(), 0)
                                        : SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()));
  if (count <= 0) {
    is_closed_ = true;
    return false;
  }
  received_.append(buffer.data(), static_cast<size_t>(count));
  return true;
}

bool RawPeer::AwaitDelivery() const {
  for (int i = 0; i < 10'000; ++i) {
    int left = 0;
    if (ioctl(fd_, SIOCOUTQ, &left) != 0) return false;
    if (left == 0) return true;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return false;
}

std::optional<Frame> RawPeer::Read(absl::Duration patience, bool all) {
  const absl::Time end = absl::Now() + patience;
  while (true) {
    const size_t size =
        received_.size() < kHeadBytes ? SIZE_MAX : ParseNumber(absl::string_view(received_).substr(0, 3));
    if (size == SIZE_MAX || received_.size() < kHeadBytes + size) {
      if (!Fill(std::max(absl::ZeroDuration(), end - absl::Now()))) return std::nullopt;
      continue;
    }
    Frame frame;
    frame.type = static_cast<uint8_t>(received_[3]);
    frame.flags = static_cast<uint8_t>(received_[4]);
    frame.stream = static_cast<int32_t>(ParseNumber(absl::string_view(received_).substr(5, 4)));
    frame.payload = received_.substr(kHeadBytes, size);
    received_.erase(0, kHeadBytes + size);
    if (all || !AnswersNothing(frame)) return frame;
  }
}

Fields RawPeer::Decode(absl::string_view block) {
  Fields fields;
  const auto* in = reinterpret_cast<const uint8_t*>(block.data());
  size_t left = block.size();
  while (true) {
    nghttp2_nv pair;
    int flags = 0;
    const ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &pair, &flags, in, left, 1);
    EXPECT_GE(used, 0);
    if (used < 0) break;
    in += used;
    left -= static_cast<size_t>(used);
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      fields.emplace_back(std::string(reinterpret_cast<char*>(pair.name), pair.namelen),
                          std::string(reinterpret_cast<char*>(pair.value), pair.valuelen));
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
  }
  nghttp2_hd_inflate_end_headers(inflater_);
  return fields;
}

Fields RawPeer::ReadCall(int32_t stream) {
  Fields all;
  while (true) {
    const std::optional<Frame> frame = Read();
    if (!frame) {
      all.emplace_back(":end", "");
      return all;
    }
    if (frame->type == NGHTTP2_HEADERS) {
      const Fields fields = Decode(frame->payload);  // also of other streams: the table is shared
      if (frame->stream == stream) all.insert(all.end(), fields.begin(), fields.end());
    }
    if (frame->stream != stream) continue;
    if (frame->type == NGHTTP2_DATA) all.emplace_back(":data", frame->payload);
    if (frame->type == NGHTTP2_RST_STREAM) {
      all.emplace_back(":reset", absl::StrCat(ParseNumber(frame->payload)));
      return all;
    }
    if ((frame->flags & NGHTTP2_FLAG_END_STREAM) != 0) return all;
  }
}

std::optional<uint32_t> RawPeer::ReadGoaway() {
  while (const std::optional<Frame> frame = Read()) {
    if (frame->type == NGHTTP2_GOAWAY) return ParseNumber(absl::string_view(frame->payload).substr(4, 4));
  }
  return std::nullopt;
}

bool RawPeer::ReadsPing() {
  while (const std::optional<Frame> frame = Read(absl::Seconds(10), /*all=*/true)) {
    if (frame->type == NGHTTP2_PING) return true;
  }
  return false;
}

bool RawPeer::IsClosedWithin(absl::Duration patience) {
  const absl::Time end = absl::Now() + patience;
  while (!is_closed_ && absl::Now() < end) Read(end - absl::Now(), true);
  return is_closed_;
}

std::string ValueOf(const Fields& fields, absl::string_view name) {
  for (const auto& [key, value] : fields) {
    if (key == name) return value;
  }
  return "none";
}

void Ask(RawPeer& peer, int32_t stream, const std::string& message) {
  peer.SendHeaders(stream, CallFields("/test/Echo"));
  peer.SendData(stream, Message(message), true);
}

}  // namespace corank::wire::testing
