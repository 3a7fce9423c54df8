// The waiting tasks of one priority, shared fairly between tenants.
#ifndef CORANK_SERVER_SCHEDULE_FAIR_LINE_H_
#define CORANK_SERVER_SCHEDULE_FAIR_LINE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "server/run/task.h"

namespace corank {

/// Start-time fair queueing (Goyal, Vin and Cheng 1996): each tenant has a virtual time, which advances by cost /
/// weight with each of its tasks that is taken, and the tenant with the least time is next. While two tenants both
/// wait, their shares divided by their weights differ by at most the cost / weight of one task of each. A tenant that
/// was idle starts at the line's time, so it saves up nothing. Within a tenant: first in, first out.
///
/// Of idle tenants, the line remembers a few, and otherwise only those that recently took more than their share, at
/// most 1024. Not thread-safe.
class FairLine {
 public:
  /// Weights of tenants by name; the default is 1. Must outlive the line.
  using Weights = absl::flat_hash_map<std::string, double>;

  /// A waiting task. Valid until the line changes.
  class Place {
   public:
    Place() = default;
    explicit operator bool() const { return task_ != nullptr; }
    const Task& operator*() const { return *task_; }
    const Task* operator->() const { return task_; }

   private:
    friend class FairLine;
    const Task* task_ = nullptr;
    size_t tenant_ = 0, queue_ = 0;
  };

  explicit FairLine(const Weights* weights) : weights_(weights) {}

  void Push(std::unique_ptr<Task> task);

  /// Whether a taker may have tasks that `devices` may run.
  using MayTake = absl::FunctionRef<bool(uint64_t devices)>;

  /// Whether the tenant of a task may have the taker for it.
  using MayHave = absl::FunctionRef<bool(const Task& task)>;

  /// The first task, in fair order, that the taker may have, whose tenant may have the taker, and that is light or
  /// fits. A heavy task does not overtake a heavy one of its line that does not fit: First sets `*heavy_waits` when one
  /// does not fit, and returns no heavy task while it is set.
  Place First(MayTake may_take, MayHave may_have, absl::FunctionRef<bool(const Task& task)> fits,
              bool* heavy_waits) const;
  /// Takes the task and charges its tenant.
  std::unique_ptr<Task> Take(const Place& place);
  /// Takes all tasks for which `unwanted` holds, without charge.
  std::vector<std::unique_ptr<Task>> Remove(absl::FunctionRef<bool(const Task& task)> unwanted);

  bool empty() const { return requests_ == 0; }
  bool HasTaskFor(MayTake may_take) const;
  int64_t requests() const { return requests_; }
  int64_t bytes() const { return bytes_; }
  /// Cost of all waiting tasks.
  double cost() const { return cost_; }
  /// Cost of the tasks ahead of a task of this tenant that arrives now.
  double CostAhead(absl::string_view tenant) const;
  /// When the oldest task arrived; kForever if none waits.
  Instant OldestArrival() const;
  /// The earliest deadline of a task.
  Instant EarliestDeadline() const;
  int64_t tenant_requests(absl::string_view tenant) const;
  int64_t tenant_bytes(absl::string_view tenant) const;
  /// Number of remembered tenants.
  size_t tenants() const { return by_name_.size(); }

 private:
  struct Waiting {
    std::unique_ptr<Task> task;
    int64_t number;  // rises with each arrival
  };
  // Tasks of one tenant that the same takers may have.
  struct Queue {
    Queue(uint64_t devices, bool heavy) : devices(devices), heavy(heavy) {}
    Queue(Queue&&) = default;
    Queue(const Queue&) = delete;
    uint64_t devices;
    bool heavy;
    std::deque<Waiting> tasks;
  };
  struct Tenant {
    std::string name;
    double weight = 1;
    double start = 0;  // virtual time at which its next task starts
    int64_t requests = 0;
    int64_t bytes = 0;
    double cost = 0;
    std::vector<Queue> queues;
  };

  Tenant& Find(absl::string_view name);
  const Tenant* Known(absl::string_view name) const;
  // Inserts a tenant into active_, behind all tenants that start no later.
  void Activate(Tenant* tenant);
  void Count(Tenant& tenant, const Task& task, int sign);
  void Forget();

  const Weights* const weights_;
  absl::flat_hash_map<std::string, std::unique_ptr<Tenant>> by_name_;
  std::vector<Tenant*> active_;  // tenants with waiting tasks, by start
  double time_ = 0;              // start of the last task taken
  size_t idle_allowed_ = 16;     // before the next search for tenants to forget
  int64_t next_number_ = 0;
  int64_t requests_ = 0;
  int64_t bytes_ = 0;
  double cost_ = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_SCHEDULE_FAIR_LINE_H_
