// A call without a connection: the test is its caller, and its loop.
#ifndef CORANK_TESTS_FUZZ_FAKE_CALL_H_
#define CORANK_TESTS_FUZZ_FAKE_CALL_H_

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/wire/call.h"
#include "tests/fuzz/fuzz_target.h"

namespace corank::fuzz {

/// Checks what handlers promise. Used by one thread.
class FakeCall final : public wire::Call {
 public:
  explicit FakeCall(std::string path = "") {
    head_.path = std::move(path);
    head_.peer = std::make_shared<wire::Peer>();
  }

  void Serve(std::shared_ptr<wire::Handler> handler) { handler_ = std::move(handler); }

  void Read() override {
    FUZZ_CHECK(!reading_, "two reads at a time");
    reading_ = !finished_;
  }
  void ReadWhenever() override { Read(); }
  void SendMetadata(wire::Metadata) override {}
  void Write(Bytes message) override {
    if (finished_) return;
    FUZZ_CHECK(!writing_, "two writes at a time");
    writing_ = true;
    answers_.push_back(message.ToString());
  }
  void Finish(CallStatus status, wire::Metadata, std::optional<Bytes> message) override {
    FUZZ_CHECK(status.code != wire::kInternal && status.code != wire::kUnknown, status.message);
    FUZZ_CHECK(!finished_, "Finish is called twice");
    finished_ = true;
    reading_ = false;
    status_ = std::move(status);
    if (message) answers_.push_back(message->ToString());
  }
  void Post(wire::Loop::Task task) override { posted_.push_back(std::move(task)); }
  wire::Loop::Place AfterReads(size_t, wire::Loop::Task task) override {
    posted_.push_back(std::move(task));
    return {};
  }
  void Withdraw(wire::Loop::Place) override {}
  std::chrono::nanoseconds Wait() const override { return {}; }
  void AllowUnread(int32_t) override {}

  /// Runs what was posted. False: nothing was.
  bool RunPosted() {
    if (posted_.empty()) return false;
    wire::Loop::Task task = std::move(posted_.front());
    posted_.pop_front();
    task();
    return true;
  }
  /// After Read: a message, in pieces of `cut` bytes; 0: whole.
  void Deliver(absl::string_view message, size_t cut) {
    reading_ = false;
    wire::Sink* const sink = handler_->OnMessageBegin(message.size());
    if (sink == nullptr) return;
    while (!message.empty()) {
      const absl::Span<char> room = sink->Room();
      FUZZ_CHECK(!room.empty(), "no room for a message that was accepted");
      size_t count = std::min(room.size(), message.size());
      if (cut > 0) count = std::min(count, cut);
      std::memcpy(room.data(), message.data(), count);
      message.remove_prefix(count);
      sink->Fill(count);
      if (finished_) return;
    }
    handler_->OnMessage();
  }
  /// After Read: no message follows.
  void HalfClose() {
    reading_ = false;
    handler_->OnHalfClose();
  }
  /// After Write: the message has left.
  void Take() {
    writing_ = false;
    if (!finished_) handler_->OnWritten();
  }
  void Cancel() {
    reading_ = false;
    if (finished_) return;
    handler_->OnCancel({wire::kCancelled, "cancelled", ""});
  }
  /// The connection lets go of the call.
  void End() {
    FUZZ_CHECK(finished_, "the call is not over");
    while (RunPosted()) continue;
    std::exchange(handler_, nullptr)->OnDone();
  }

  bool finished() const { return finished_; }
  bool reading() const { return reading_; }
  bool writing() const { return writing_; }
  const CallStatus& status() const { return status_; }
  const std::vector<std::string>& answers() const { return answers_; }

 private:
  std::shared_ptr<wire::Handler> handler_;
  bool reading_ = false, writing_ = false, finished_ = false;
  CallStatus status_;
  std::vector<std::string> answers_;
  std::deque<wire::Loop::Task> posted_;
};

}  // namespace corank::fuzz

#endif  // CORANK_TESTS_FUZZ_FAKE_CALL_H_
