// Turns of calls with large messages: few at a time, fair among tenants and their connections.
//
// All that upload at once share the way to the server. Beyond its capacity each of them would become so slow that all
// miss their deadlines. Calls without a turn keep their bytes: only HTTP/2's first window of a message is on its way.
#ifndef CORANK_SERVER_RPC_LARGE_CALLS_H_
#define CORANK_SERVER_RPC_LARGE_CALLS_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/base/clock.h"

namespace corank {

/// Thread-safe.
class LargeCalls {
 public:
  struct Options {
    /// Turns at a time.
    int most_turns = 16;
    /// How many calls may wait for a turn: in all, of one tenant, and of one connection. The last limit leaves the
    /// tenant's other connections room.
    int most_waiting = 512, most_waiting_of_tenant = 128, most_waiting_of_connection = 96;
    /// How long a call keeps others waiting at most. Later it goes on without a turn: it may be slow for good.
    std::chrono::nanoseconds most_time = std::chrono::milliseconds(25);
    std::chrono::nanoseconds most_time_per_mib = std::chrono::milliseconds(1);
    /// Runs a task after a time.
    std::function<void(std::chrono::nanoseconds, std::function<void()>)> later;
  };

  /// Whose call it is. Tenants have turns one after the other, and so have the connections of a tenant.
  struct Caller {
    std::string tenant;
    const void* connection = nullptr;  // names one, for as long as it has calls
  };

  class Turn {
   public:
    ~Turn() { line_.Leave(this); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// The call was answered: tells how long calls take.
    void Answered() { is_answered_ = true; }

   private:
    friend class LargeCalls;
    Turn(LargeCalls* line, Caller caller, std::function<void()> begin)
        : line_(*line), caller_(std::move(caller)), begin_(std::move(begin)) {}

    LargeCalls& line_;
    const Caller caller_;
    std::function<void()> begin_;  // empty once the turn has begun
    bool is_held_ = false;         // counts among the turns
    bool is_answered_ = false;
    Instant began_ = {}, ends_ = {};
  };

  /// Outlives its turns. `clock` outlives it.
  LargeCalls(const Clock* clock, Options options) : clock_(*clock), options_(std::move(options)) {}

  /// A place in line for a call with a message of `bytes`. If `*begins` is true afterwards the turn has begun;
  /// otherwise `begin` is called once it does, on any thread, but not while the turn is being destroyed. The call ends
  /// its turn by destroying it. With RetryInfo: too many wait (RESOURCE_EXHAUSTED), or the call would be answered only
  /// in the last quarter of its time, or later (DEADLINE_EXCEEDED).
  absl::StatusOr<std::unique_ptr<Turn>> Ask(const Caller& caller, int64_t bytes, Instant deadline,
                                            std::function<void()> begin, bool* begins) ABSL_LOCKS_EXCLUDED(mutex_);

  int turns() const ABSL_LOCKS_EXCLUDED(mutex_);
  int waiting() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    Turn* turn;
    int64_t bytes;
  };
  // Calls of a tenant that wait. Neither it nor one of its queues is empty.
  struct Line {
    std::map<const void*, std::deque<Waiting>> queues;  // by connection
    const void* last = nullptr;                         // the connection that had the last turn
    size_t size = 0;
  };

  void Leave(Turn* turn) ABSL_LOCKS_EXCLUDED(mutex_);
  void Hold(Turn* turn, int64_t bytes, Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes turns from calls that have had them for long, and gives free ones to those who wait. What is to be called.
  std::vector<std::function<void()>> Advance(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The call whose turn comes next, which no longer waits.
  Waiting TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Withdraw(Turn* turn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How many calls of the caller's tenant wait, and how many of these are of its connection.
  struct Own {
    size_t of_tenant = 0, of_connection = 0, connections = 0;
  };
  Own FindOwn(const Caller& caller) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsFull(const Own& own) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Until a call that arrives now is answered, by experience.
  std::chrono::nanoseconds TimeToAnswer(const Own& own) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);
  void LookLater() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  const Options options_;
  mutable absl::Mutex mutex_;
  std::set<Turn*> held_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Line> lines_ ABSL_GUARDED_BY(mutex_);  // by tenant
  std::string last_ ABSL_GUARDED_BY(mutex_);                   // the tenant that had the last turn
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_looking_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::nanoseconds duration_ ABSL_GUARDED_BY(mutex_){0};  // average from the turn of a call to its answer
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_LARGE_CALLS_H_
