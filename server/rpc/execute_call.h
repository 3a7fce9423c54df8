// One call of Execute: chunks in, chunks and results out, between gRPC and the exchange of its job.
#ifndef CORANK_SERVER_RPC_EXECUTE_CALL_H_
#define CORANK_SERVER_RPC_EXECUTE_CALL_H_

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/rpc/call.h"
#include "server/rpc/execute_job.h"
#include "server/rpc/idle_watch.h"
#include "server/run/chunk_pipe.h"

namespace corank {

/// Owns itself until gRPC calls OnDone. Never waits: it reads while its window has room and writes while there is
/// output, one message of each at a time, as gRPC requires.
class ExecuteCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                          public StreamPart,
                          public std::enable_shared_from_this<ExecuteCall> {
 public:
  /// Starts a call; gRPC takes the reactor.
  static ExecuteCall* Start(std::shared_ptr<ExecuteJobs> jobs, grpc::CallbackServerContext* context);
  ~ExecuteCall() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  void Wake() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  ExecuteCall(std::shared_ptr<ExecuteJobs> jobs, grpc::CallbackServerContext* context);

  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);

  // Processes the messages that have arrived, in order. Releases the lock while it processes one.
  void TakeArrived() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Processes one message. Only the thread that takes messages calls these.
  absl::Status Take(const grpc::ByteBuffer& message);
  absl::Status TakePlan(const grpc::ByteBuffer& message);
  absl::Status JoinJob(const grpc::ByteBuffer& message);
  absl::Status TakeChunk(const grpc::ByteBuffer& message);
  CallId TakeId(const std::string& requested) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status EndInput();
  // The status of a call whose job failed.
  absl::Status Failed() const;
  // The status of a cancelled call.
  absl::Status Cancelled() const;
  void EndEarly(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts to time the write in progress, which depends on the caller alone.
  void WatchWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndUnread() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<ExecuteJobs> jobs_;
  const CallEnvironment& environment_;
  grpc::CallbackServerContext* const context_;
  const Instant arrival_;
  const Instant deadline_;
  std::shared_ptr<ExecuteCall> self_;  // until OnDone
  std::shared_ptr<const Caller> caller_;
  grpc::ByteBuffer incoming_;  // of the read in progress
  int64_t received_bytes_ = 0;
  std::atomic<bool> is_woken_{false};  // a helper will pump
  bool is_active_ = false;             // counted among the calls that a draining server finishes

  absl::Mutex mutex_;
  CallId id_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ExecuteJob> job_;  // set once, under the lock; the thread that takes messages reads it without
  int part_ = 0;                     // likewise
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool input_ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::optional<grpc::ByteBuffer>> arrived_ ABSL_GUARDED_BY(mutex_);  // arrived messages; nullopt: the end
  bool taking_ ABSL_GUARDED_BY(mutex_) = false;                                  // a thread is processing messages
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status last_status_ ABSL_GUARDED_BY(mutex_);           // once the call has ended
  std::shared_ptr<IdleWatch> unread_ ABSL_GUARDED_BY(mutex_);  // once the call ended or succeeded during a write
  size_t results_written_ ABSL_GUARDED_BY(mutex_) = 0;
  grpc::ByteBuffer outgoing_ ABSL_GUARDED_BY(mutex_);  // in the write in progress
  int64_t sent_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_EXECUTE_CALL_H_
