// A call on an HTTP/2 stream, between its connection and what answers it.
#ifndef CORANK_SERVER_WIRE_STREAM_CALL_H_
#define CORANK_SERVER_WIRE_STREAM_CALL_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/wire/call.h"
#include "server/wire/unread_answers.h"

namespace corank::wire {

class Connection;

class StreamCall final : public Call, public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(std::shared_ptr<Loop> loop, Connection* connection, int32_t stream, std::shared_ptr<const Peer> peer);

  void Read() override;
  void ReadWhenever() override;
  void SendMetadata(Metadata metadata) override;
  void Write(Bytes message) override;
  void Finish(CallStatus status, Metadata trailers, std::optional<Bytes> message) override;
  void Post(Loop::Task task) override { loop_->Post(std::move(task)); }
  Loop::Place AfterReads(size_t bytes, Loop::Task task) override { return loop_->AfterReads(bytes, std::move(task)); }
  void Withdraw(Loop::Place place) override { loop_->Withdraw(place); }
  std::chrono::nanoseconds Wait() const override { return loop_->Wait(); }
  void AllowUnread(int32_t bytes) override;
  void LimitTime(std::chrono::nanoseconds time) override;
  void DropRest() override;
  bool MustTakeAnswers(absl::string_view tenant) override;

 private:
  friend class Connection;

  struct Outgoing {
    Bytes bytes;  // with its prefix
    size_t piece = 0, offset = 0;
    bool is_written = false;  // whether OnWritten follows
  };

  // --- Of the loop's thread; Connection calls these.
  // Takes bytes of messages. Returns how many of them the caller may replace by others now.
  size_t Take(absl::string_view bytes);
  void TakeHalfClose();
  void SetRead(bool is_patient);
  // Reads what was held back.
  void TakeHeld();
  // Holds back the bytes that follow the first `taken` ones.
  void Hold(std::string bytes, size_t taken);
  void DropHeld();
  size_t Parse(absl::string_view bytes);
  void EndIncomplete();
  void Queue(Bytes message, bool is_written);
  // These bytes leave.
  void TakeProgress(size_t bytes);
  void End(CallStatus status, Metadata trailers, std::optional<Bytes> message);
  void Cancel(const CallStatus& status);
  void PassDeadline();
  // Ends a call whose caller breaks the protocol.
  void Refuse(CallStatus status, Metadata trailers = {});
  // The stream or the connection is gone.
  void Done(const CallStatus& status);
  // Lets go of the handler once it has finished and the stream is gone.
  void LetGo();
  // Memory for the next bytes of a message under way, at most `most` of them; empty: none, or not now.
  absl::Span<char> RoomFor(size_t most);
  bool wants_bytes() const { return wants_message_ && !is_finished_; }
  bool drops_bytes() const { return is_finished_ || drops_rest_; }

  const std::shared_ptr<Loop> loop_;
  Connection* connection_;  // null once the stream is closed
  const int32_t stream_;
  size_t head_bytes_ = 0;
  int http_status_ = 200;
  bool has_content_type_ = false;
  std::atomic<int>* open_ = nullptr;   // counts handlers that have not been let go of
  std::optional<CallStatus> refusal_;  // of a head that is not acceptable
  std::shared_ptr<Handler> handler_;
  Loop::Timer deadline_;

  // Received.
  bool wants_message_ = false;
  bool is_parsing_ = false;
  char prefix_[5] = {};
  size_t prefix_bytes_ = 0;
  Sink* sink_ = nullptr;
  size_t message_left_ = 0;  // bytes of the message in sink_ that have not come
  bool is_patient_ = false;  // whether the wanted message may begin at any time
  Instant heard_;            // when bytes came last, or began to be wanted
  bool half_closed_ = false;
  bool half_close_told_ = false;
  bool drops_rest_ = false;  // no message is wanted any more
  std::string held_;         // came before they were asked for
  size_t held_taken_ = 0;    // of these, since

  // To send.
  std::deque<Outgoing> outgoing_;
  size_t outgoing_bytes_ = 0;
  size_t sent_bytes_ = 0;
  size_t progress_bytes_ = 0;  // that have left since progress_
  Instant progress_;           // when enough bytes left last, or began to wait
  Metadata initial_;
  bool headers_sent_ = false;
  bool is_finished_ = false;  // its status is on its way
  bool is_answered_ = false;  // the handler has called Finish
  bool is_cancelled_ = false;
  std::optional<CallStatus> cut_;  // why the server resets the stream
  CallStatus status_;
  Metadata trailers_;
  int32_t unread_ = kUnreadBytes;
  UnreadAnswers::Debt* debt_ = nullptr;  // counts the answer while nobody reads it; null: of no tenant
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_STREAM_CALL_H_
