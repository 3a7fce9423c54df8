#include "server/schedule/batcher.h"

namespace corank {

Batcher::Batcher(const Options& options, TaskSource* source) : options_(options), source_(source) {}

std::vector<std::unique_ptr<Task>> Batcher::Next(int device) {
  const BatchRule rule{options_.max_tasks, options_.max_bytes, options_.delay};
  return source_->Take(device, rule, [this](const Task& first, const Task& next) {
    return first.work_bytes <= options_.small_bytes && next.work_bytes <= options_.small_bytes &&
           first.operation->op() == next.operation->op();
  });
}

}  // namespace corank
