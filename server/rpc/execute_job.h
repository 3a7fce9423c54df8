// The job of one Execute call, or of several calls that are its parts.
#ifndef CORANK_SERVER_RPC_EXECUTE_JOB_H_
#define CORANK_SERVER_RPC_EXECUTE_JOB_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/memory/names.h"
#include "server/observe/metrics.h"
#include "server/plan/execute_plan.h"
#include "server/rpc/call.h"
#include "server/run/chunk_pipe.h"
#include "server/run/task.h"

namespace corank {

/// Its parts hold it, and so do its task and, while parts are missing, the registry. It counts as one request once all
/// of them release it. Thread-safe.
class ExecuteJob final : public Completion, public std::enable_shared_from_this<ExecuteJob> {
 public:
  /// `pipe`: for the plan. `all_memory` counts the memory of all jobs of a server. The job may outlive the
  /// environment, because a lane may release it after all calls have ended; the pointees of the environment outlive the
  /// lanes.
  ExecuteJob(std::shared_ptr<const CallEnvironment> environment, std::unique_ptr<ExecutePlan> plan,
             std::shared_ptr<ChunkPipe> pipe, std::shared_ptr<Budget> all_memory);
  ~ExecuteJob() override;

  const std::shared_ptr<ChunkPipe>& pipe() const { return pipe_; }
  const CallId& id() const { return plan_->id(); }
  const ExecutePlan& plan() const { return *plan_; }

  /// Called when the job fails, before Fail returns and without locks. Set it before other threads know the job.
  void SetOnFailure(std::function<void()> on_failure) { on_failure_ = std::move(on_failure); }
  /// Reserves the server memory that the job needs; for a job of several parts, once all have arrived. The errors of
  /// ExecutePlan::Reserve and ChunkPipe::Reserve.
  absl::Status Reserve();
  /// Adds a part and returns how many have arrived. The part's deadline applies to the whole job.
  int AddPart(int part, Instant deadline);
  /// Submits the job to the queue, once. If the queue refuses it, the job fails.
  void Start();
  /// Ends the job on all parts and, as soon as the lane notices, on its lane. The first status counts. `part`: the part
  /// that failed; the others then end with ABORTED.
  void Fail(const absl::Status& status, int part = ChunkPipe::kAllParts);
  /// Counts what a part received and sent.
  void AddTraffic(int64_t received_bytes, int64_t sent_bytes);

  void Done(const absl::Status& status, Outcome& outcome) override;
  void Abandon(const absl::Status& status) override;

 private:
  absl::Status Submit();
  // Fails the job with the status of its task.
  void FailTask(const absl::Status& status);
  void LogFailure(const absl::Status& status) const;

  const std::shared_ptr<const CallEnvironment> shared_environment_;
  const CallEnvironment& environment_;
  const std::shared_ptr<ExecutePlan> plan_;
  const std::shared_ptr<ChunkPipe> pipe_;
  const std::shared_ptr<JobMemory> memory_;
  const Instant arrival_;
  std::function<void()> on_failure_;
  std::shared_ptr<ExecuteJob> self_;  // while there is a task, until Done
  std::atomic<bool> cancelled_{false};
  std::vector<Outcome> earlier_;  // results of the operations before the last
  mutable absl::Mutex mutex_;
  int parts_ ABSL_GUARDED_BY(mutex_) = 0;
  Instant deadline_ ABSL_GUARDED_BY(mutex_) = kForever;
  int first_deadline_part_ ABSL_GUARDED_BY(mutex_) = 0;  // whose deadline is the job's
  Instant submitted_ ABSL_GUARDED_BY(mutex_);
  Instant finished_ ABSL_GUARDED_BY(mutex_);
  RequestRecord record_ ABSL_GUARDED_BY(mutex_);
};

/// Bytes that a call holds until its job starts, outside the host pool and in it.
struct PartMemory {
  int64_t ahead = 0;  // that its caller may send after the plan
  int64_t plan = 0, plan_pinned = 0;
};

/// Brings the parts of jobs together. Thread-safe.
class ExecuteJobs : public std::enable_shared_from_this<ExecuteJobs> {
 public:
  static std::shared_ptr<ExecuteJobs> Create(const CallEnvironment& environment);

  const CallEnvironment& environment() const { return *environment_; }

  /// The job that a call with this plan is, or is a part of. It starts when all parts have arrived. INVALID_ARGUMENT:
  /// the plan is not that of the earlier parts, which fail too, or the part has already arrived. Also the status with
  /// which the job failed. RESOURCE_EXHAUSTED with RetryInfo: too many jobs are waiting for their parts, over all
  /// tenants (max_joining_jobs) or of this tenant (a quarter of that), or this tenant's hold too much memory, or there
  /// is no room for the windows of another job. All parts then get this status and nothing of the job remains. A job
  /// that waits for its parts holds nothing but its plan and what its callers sent ahead; one that fails meanwhile is
  /// forgotten. `held`: by this call.
  absl::StatusOr<std::shared_ptr<ExecuteJob>> Join(std::unique_ptr<ExecutePlan> plan, PartMemory held, Instant deadline,
                                                   const std::shared_ptr<StreamPart>& call);

  /// Device and host memory of jobs outside their windows.
  int64_t memory_in_use() const { return memory_->used(); }

  /// Refuses new jobs, counted as `reason`, and ends jobs that wait for their parts.
  void Close(const absl::Status& refusal, Refusal reason) ABSL_LOCKS_EXCLUDED(mutex_, all_mutex_);
  /// Close, and also ends all other jobs with `refusal`; their lanes may work on them for a little longer.
  void Abort(const absl::Status& refusal, Refusal reason) ABSL_LOCKS_EXCLUDED(mutex_, all_mutex_);
  int64_t joining_jobs() const ABSL_LOCKS_EXCLUDED(mutex_);
  /// Jobs that have not ended.
  int64_t jobs() const ABSL_LOCKS_EXCLUDED(all_mutex_);

 private:
  struct Joining {
    std::shared_ptr<ExecuteJob> job;
    std::vector<bool> has_come;
    std::string plan;                  // without the part
    Budget::Reservation room;          // for its bytes
    int64_t buffered = 0, pinned = 0;  // bytes of all parts that have come
  };

  explicit ExecuteJobs(const CallEnvironment& environment);
  absl::StatusOr<std::shared_ptr<ExecuteJob>> JoinPart(std::unique_ptr<ExecutePlan> plan, PartMemory held,
                                                       Instant deadline, const std::shared_ptr<StreamPart>& call);
  // OK, or the refusal after Close, which it counts.
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For another job, which holds so many bytes.
  absl::Status CheckJoining(const std::string& tenant, int64_t buffered, int64_t pinned) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the job from those that wait for their parts; null if it is not among them.
  std::optional<Joining> TakeJoining(const OwnedName& id, const ExecuteJob* job) ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveUp(const OwnedName& id, const std::weak_ptr<ExecuteJob>& waiting);
  // Gives up on the job after the patience for its parts.
  void LimitPatience(const OwnedName& id, const std::shared_ptr<ExecuteJob>& job);
  absl::StatusOr<std::shared_ptr<ExecuteJob>> Make(std::unique_ptr<ExecutePlan> plan) ABSL_LOCKS_EXCLUDED(all_mutex_);
  void Forget(const ExecuteJob* job) ABSL_LOCKS_EXCLUDED(all_mutex_);

  const std::shared_ptr<const CallEnvironment> environment_;
  const std::shared_ptr<Budget> memory_;
  mutable absl::Mutex mutex_;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  Refusal refusal_reason_ ABSL_GUARDED_BY(mutex_) = Refusal::kDraining;
  std::map<OwnedName, Joining> joining_ ABSL_GUARDED_BY(mutex_);
  mutable absl::Mutex all_mutex_ ABSL_ACQUIRED_AFTER(mutex_);
  std::map<const ExecuteJob*, std::weak_ptr<ExecuteJob>> all_ ABSL_GUARDED_BY(all_mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_EXECUTE_JOB_H_
