// Any bytes as an HTTP/2 connection: its handlers see whole messages and one end, and nothing of it is left.
//
// Input: parts (fuzz_target.h). The first byte of each part says whether the rest is a frame or raw bytes.
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/wire/server.h"
#include "tests/fuzz/fuzz_target.h"

namespace corank::fuzz {
namespace {

constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr size_t kMostBytes = 64 << 10;
constexpr auto kPatience = std::chrono::seconds(10);

std::atomic<int> handlers{0}, served{0};

// What it does with a message depends on the path.
class CheckedHandler final : public wire::Handler {
 public:
  explicit CheckedHandler(std::shared_ptr<wire::Call> call) : call_(std::move(call)) { ++handlers; }
  ~CheckedHandler() override {
    FUZZ_CHECK(is_done_, call_->head().path);
    --handlers;
  }

  wire::Sink* OnMessageBegin(size_t size) override {
    FUZZ_CHECK(!is_cancelled_ && !is_done_ && message_ == nullptr, "a message too many");
    size_ = size;
    if (size > kMostBytes) {
      Finish({wire::kResourceExhausted, "too long", ""});
      return nullptr;
    }
    message_ = std::make_unique<wire::Collector>(size);
    return message_.get();
  }
  void OnMessage() override {
    const std::unique_ptr<wire::Collector> message = std::move(message_);
    FUZZ_CHECK(message != nullptr && message->view().size() == size_, "a message that is not whole");
    ++served;
    const std::string& path = call_->head().path;
    if (path == "/f/Hang") return;
    if (path == "/f/Many") {
      call_->Write(Bytes(std::string(message->view())));
      return call_->Read();
    }
    if (!is_cancelled_) call_->Finish({}, {}, Bytes(std::string(message->view())));
  }
  void OnHalfClose() override { Finish({}); }
  void OnCancel(const CallStatus& status) override {
    FUZZ_CHECK(!is_cancelled_ && !is_done_, "a second end");
    is_cancelled_ = true;
    Finish(status);
  }
  void OnDone() override {
    FUZZ_CHECK(!is_done_, "done twice");
    is_done_ = true;
  }

 private:
  void Finish(const CallStatus& status) { call_->Finish(status); }

  const std::shared_ptr<wire::Call> call_;
  std::unique_ptr<wire::Collector> message_;
  size_t size_ = 0;
  bool is_cancelled_ = false, is_done_ = false;
};

wire::Server& TheServer() {
  static auto* const server = [] {
    const wire::Router router = [](const std::shared_ptr<wire::Call>& call) -> std::shared_ptr<wire::Handler> {
      if (call->head().path == "/f/None") return nullptr;
      auto handler = std::make_shared<CheckedHandler>(call);
      call->Read();
      return handler;
    };
    return new wire::Server(/*loops=*/1, wire::ConnectionLimits(), router);
  }();
  return *server;
}

std::string Frame(uint8_t type, uint8_t flags, int32_t stream, absl::string_view payload) {
  const auto byte = [](size_t value, int shift) { return static_cast<char>(value >> shift); };
  const std::string head = {byte(payload.size(), 16),
                            byte(payload.size(), 8),
                            byte(payload.size(), 0),
                            static_cast<char>(type),
                            static_cast<char>(flags),
                            '\0',
                            '\0',
                            '\0',
                            static_cast<char>(stream)};
  return absl::StrCat(head, payload);
}

// A part: how it is framed, and what is in it.
enum Kind : uint8_t { kRaw, kFrame, kMessage, kKinds };

std::string Written(absl::string_view part) {
  Input input(part);
  const int kind = input.Choice(kKinds);
  if (kind == kRaw) return std::string(input.Rest());
  const uint8_t type = input.Byte(), flags = input.Byte(), stream = input.Byte();
  if (kind == kFrame) return Frame(type, flags, stream, input.Rest());
  const absl::string_view message = input.Rest();
  const std::string prefix = {'\0', '\0', '\0', static_cast<char>(message.size() >> 8),
                              static_cast<char>(message.size())};
  return Frame(NGHTTP2_DATA, flags, stream, absl::StrCat(prefix, message));
}

// Sends the bytes, takes whatever is answered, and hangs up.
void Converse(absl::string_view bytes) {
  std::array<int, 2> ends;
  FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0, "no sockets");
  TheServer().Serve(ends[0], "fuzz");
  std::array<char, 16384> answer;
  for (bool is_open = true; is_open;) {
    if (!bytes.empty()) {
      const ssize_t sent = send(ends[1], bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
      if (sent < 0 && errno != EAGAIN) bytes = {};
    }
    if (bytes.empty()) shutdown(ends[1], SHUT_WR);  // once more does no harm
    pollfd wait = {ends[1], static_cast<int16_t>(bytes.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    int ready = 0;
    do {
      ready = poll(&wait, 1, 10'000);
    } while (ready < 0 && errno == EINTR);  // libFuzzer's alarm
    FUZZ_CHECK(ready == 1, "the connection stays open");
    const ssize_t got = recv(ends[1], answer.data(), answer.size(), 0);
    is_open = got > 0 || (got < 0 && errno == EAGAIN);
  }
  close(ends[1]);
}

void AwaitNothingLeft() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (TheServer().connections() > 0 || TheServer().open_calls() > 0 || handlers > 0) {
    FUZZ_CHECK(std::chrono::steady_clock::now() < end,
               absl::StrCat(TheServer().connections(), " connections, ", handlers.load(), " handlers are left"));
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

std::string Part(Kind kind, uint8_t type, uint8_t flags, uint8_t stream, absl::string_view payload) {
  return absl::StrCat(std::string{static_cast<char>(kind), static_cast<char>(type), static_cast<char>(flags),
                                  static_cast<char>(stream)},
                      payload);
}

// Literals without indexing.
std::string Fields(absl::string_view path) {
  std::string block;
  for (const auto& [name, value] : {std::pair<absl::string_view, absl::string_view>{":method", "POST"},
                                    {":scheme", "http"},
                                    {":path", path},
                                    {":authority", "a"},
                                    {"te", "trailers"},
                                    {"content-type", "application/grpc"},
                                    {"grpc-timeout", "5S"}}) {
    absl::StrAppend(&block, std::string{'\0', static_cast<char>(name.size())}, name,
                    std::string{static_cast<char>(value.size())}, value);
  }
  return block;
}

std::string Conversation(absl::string_view path, absl::string_view message, bool ends) {
  constexpr uint8_t kHeadersEnd = NGHTTP2_FLAG_END_HEADERS, kStreamEnd = NGHTTP2_FLAG_END_STREAM;
  std::vector<std::string> parts = {
      absl::StrCat(std::string{kRaw}, kPreface),
      Part(kFrame, NGHTTP2_SETTINGS, 0, 0, ""),
      Part(kFrame, NGHTTP2_HEADERS, kHeadersEnd, 1, Fields(path)),
      Part(kMessage, NGHTTP2_DATA, ends ? kStreamEnd : uint8_t{0}, 1, message),
      Part(kFrame, NGHTTP2_PING, 0, 0, "12345678"),
      Part(kFrame, NGHTTP2_WINDOW_UPDATE, 0, 1, absl::string_view("\0\0\1\0", 4)),
  };
  if (!ends) parts.push_back(Part(kFrame, NGHTTP2_RST_STREAM, 0, 1, absl::string_view("\0\0\0\10", 4)));
  return Join(parts);
}

}  // namespace

std::vector<std::string> Seeds() {
  return {Conversation("/f/Echo", "abc", true), Conversation("/f/Echo", std::string(5000, 'x'), true),
          Conversation("/f/Many", "abc", false), Conversation("/f/Hang", "abc", false),
          Conversation("/f/None", "abc", true)};
}

}  // namespace corank::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace corank::fuzz;
  static const std::string right = Seeds()[0];
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  const int before = served;
  std::string bytes;
  for (const absl::string_view part : Parts(input)) bytes += Written(part);
  Converse(bytes);
  AwaitNothingLeft();
  FUZZ_CHECK(input != right || served == before + 1, "a right call was not served");
  return 0;
}
