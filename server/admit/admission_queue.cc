#include "server/admit/admission_queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/respond/errors.h"

namespace corank {

AdmissionQueue::AdmissionQueue(const Options& options, const Clock* clock, Metrics* metrics)
    : options_(options), clock_(clock), metrics_(metrics) {}

AdmissionQueue::~AdmissionQueue() { Abort(absl::UnavailableError("the server ended")); }

absl::Status AdmissionQueue::Admit(std::unique_ptr<Task>&& task) {
  if (absl::Status wanted = task->CheckWanted(clock_->Now()); !wanted.ok()) return wanted;
  {
    absl::MutexLock lock(&mutex_);
    if (!refusal_.ok()) return refusal_;
    const bool direct =
        direct_runner_ != nullptr && !runs_directly_ && requests_ == 0 && task->bytes <= options_.direct_bytes;
    if (!direct) return Enqueue(task);
    runs_directly_ = true;
  }
  direct_runner_->RunDirectly(std::move(task));
  absl::MutexLock lock(&mutex_);
  runs_directly_ = false;
  return absl::OkStatus();
}

absl::Status AdmissionQueue::Enqueue(std::unique_ptr<Task>& task) {
  const bool requests_full = requests_ >= options_.max_requests;
  if (requests_full || task->bytes > options_.max_bytes - bytes_) {
    return RetryLater(absl::StatusCode::kResourceExhausted,
                      requests_full ? absl::StrCat("the queue is full: ", requests_, " requests wait")
                                    : absl::StrCat("the queue is full: ", bytes_, " bytes of requests wait, and ",
                                                   options_.max_bytes, " are allowed"),
                      rate_.Estimate(requests_, bytes_));
  }
  Count(1, task->bytes);
  lines_[static_cast<int>(task->priority)].push_back(std::move(task));
  return absl::OkStatus();
}

void AdmissionQueue::Sweep() {
  std::vector<std::pair<std::unique_ptr<Task>, absl::Status>> dropped;
  {
    absl::MutexLock lock(&mutex_);
    const Instant now = clock_->Now();
    for (Line& line : lines_) {
      const auto unwanted = [&](std::unique_ptr<Task>& task) {
        absl::Status wanted = task->CheckWanted(now);
        if (wanted.ok()) return false;
        Count(-1, -task->bytes);
        dropped.emplace_back(std::move(task), std::move(wanted));
        return true;
      };
      line.erase(std::remove_if(line.begin(), line.end(), unwanted), line.end());
    }
  }
  for (const auto& [task, status] : dropped) task->Drop(status);
}

void AdmissionQueue::Close(const absl::Status& refusal) {
  absl::MutexLock lock(&mutex_);
  refusal_ = refusal;
}

void AdmissionQueue::Abort(const absl::Status& refusal) {
  std::vector<std::unique_ptr<Task>> dropped;
  {
    absl::MutexLock lock(&mutex_);
    refusal_ = refusal;
    for (Line& line : lines_) {
      while (!line.empty()) dropped.push_back(Pop(line));
    }
  }
  for (const std::unique_ptr<Task>& task : dropped) task->Drop(refusal);
}

std::vector<std::unique_ptr<Task>> AdmissionQueue::Take(
    int max_tasks, absl::FunctionRef<bool(const Task& first, const Task& next)> joins) {
  std::vector<std::unique_ptr<Task>> taken;
  absl::MutexLock lock(&mutex_);
  ++waiting_takers_;
  mutex_.Await(absl::Condition(this, &AdmissionQueue::HasWorkOrClosed));
  --waiting_takers_;
  Line* const line = Front();
  if (line == nullptr) return taken;
  const bool is_small = IsSmall(*line->front());
  // An idle lane should get a share of a burst before one lane works through all of it.
  const int64_t others =
      is_small && options_.small_takers > 0
          ? std::min<int64_t>(waiting_takers_, std::max(0, options_.small_takers - small_batches_ - 1))
          : waiting_takers_;
  const int64_t share = (requests_ + others) / (others + 1);
  const int64_t most = std::min<int64_t>(max_tasks, share);
  int64_t bytes = 0;
  do {
    taken.push_back(Pop(*line));
    bytes += taken.back()->bytes;
  } while (static_cast<int64_t>(taken.size()) < most && !line->empty() && joins(*taken.front(), *line->front()));
  rate_.Leave(static_cast<int64_t>(taken.size()), bytes, clock_->Now(), requests_ > 0);
  if (is_small) {
    ++small_batches_;
    taken.front()->batch =
        std::shared_ptr<void>(this, [](void* queue) { static_cast<AdmissionQueue*>(queue)->EndSmallBatch(); });
  }
  return taken;
}

AdmissionQueue::Line* AdmissionQueue::Front() {
  const auto line = std::find_if(lines_.begin(), lines_.end(), [](const Line& line) { return !line.empty(); });
  return line == lines_.end() ? nullptr : &*line;
}

bool AdmissionQueue::HasWorkOrClosed() {
  const Line* const line = Front();
  if (line == nullptr) return !refusal_.ok();
  return options_.small_takers == 0 || small_batches_ < options_.small_takers || !IsSmall(*line->front());
}

void AdmissionQueue::EndSmallBatch() {
  absl::MutexLock lock(&mutex_);
  --small_batches_;
}

int64_t AdmissionQueue::waiting_requests() const {
  absl::MutexLock lock(&mutex_);
  return requests_;
}

std::unique_ptr<Task> AdmissionQueue::Pop(Line& line) {
  std::unique_ptr<Task> task = std::move(line.front());
  line.pop_front();
  Count(-1, -task->bytes);
  return task;
}

void AdmissionQueue::Count(int64_t requests, int64_t bytes) {
  requests_ += requests;
  bytes_ += bytes;
  metrics_->AddQueued(requests, bytes);
}

}  // namespace corank
