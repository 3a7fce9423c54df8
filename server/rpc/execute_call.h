// One call of Execute: chunks in, chunks and results out, between the wire and the pipe of its job.
#ifndef CORANK_SERVER_RPC_EXECUTE_CALL_H_
#define CORANK_SERVER_RPC_EXECUTE_CALL_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/rpc/call.h"
#include "server/rpc/execute_job.h"
#include "server/rpc/message_receiver.h"
#include "server/run/chunk_pipe.h"

namespace corank {

/// Never waits: it reads while its window has room and writes while there is output, one message of each at a time.
class ExecuteCall final : public wire::Handler, public StreamPart, public std::enable_shared_from_this<ExecuteCall> {
 public:
  /// What answers a call.
  static std::shared_ptr<wire::Handler> Start(std::shared_ptr<ExecuteJobs> jobs, std::shared_ptr<wire::Call> call);
  ~ExecuteCall() override;

  wire::Sink* OnMessageBegin(size_t size) override;
  void OnMessage() override;
  void OnHalfClose() override;
  void OnWritten() override;
  void OnCancel(const CallStatus& status) override;
  void OnDone() override;
  void Wake() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  ExecuteCall(std::shared_ptr<ExecuteJobs> jobs, std::shared_ptr<wire::Call> call);

  absl::Status Admit();
  absl::StatusOr<std::shared_ptr<void>> Place(size_t bytes);
  // For the next message of this size.
  absl::Status CheckSize(int64_t bytes) const;
  // Nothing more is received.
  void StopReceiving(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Processes the messages that have arrived, in order. Releases the lock while it processes one.
  void TakeArrived() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Processes one message. Only the thread that takes messages calls these.
  absl::Status Take(const ReceivedMessage& message);
  absl::Status TakePlan(const ReceivedMessage& message);
  absl::Status JoinJob(const ReceivedMessage& message);
  absl::Status TakeChunk(const ReceivedMessage& message);
  CallId TakeId(const std::string& requested) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status EndInput();
  // The status of a call whose job failed.
  absl::Status Failed() const;
  void EndEarly(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  // Once, when the call and its joining are over.
  void LeaveJob() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<ExecuteJobs> jobs_;
  const CallEnvironment& environment_;
  const std::shared_ptr<wire::Call> call_;
  const Instant arrival_;
  const Instant deadline_;
  std::shared_ptr<const Caller> caller_;
  MessageReceiver receiver_;  // of the loop's thread
  SendAhead ahead_;           // likewise, but for JoinJob, which runs while nothing is received
  int64_t received_bytes_ = 0;
  bool is_active_ = false;  // counted among the calls that a draining server finishes

  absl::Mutex mutex_;
  CallId id_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ExecuteJob> job_;  // set once, under the lock; the thread that takes messages reads it without
  int part_ = 0;                     // likewise
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool input_ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::optional<ReceivedMessage>> arrived_ ABSL_GUARDED_BY(mutex_);  // arrived messages; nullopt: the end
  bool taking_ ABSL_GUARDED_BY(mutex_) = false;                                 // a thread is processing messages
  bool is_woken_ ABSL_GUARDED_BY(mutex_) = false;                               // the loop will pump
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;  // the wire has let go, perhaps while a plan is being read
  size_t results_written_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t sent_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_EXECUTE_CALL_H_
