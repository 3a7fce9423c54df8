#include "server/batch/batcher.h"

namespace corank {

Batcher::Batcher(const Options& options, TaskSource* source) : options_(options), source_(source) {}

std::vector<std::unique_ptr<Task>> Batcher::Next() {
  return source_->Take(options_.max_tasks, [this](const Task& first, const Task& next) {
    return first.bytes <= options_.small_bytes && next.bytes <= options_.small_bytes &&
           first.operation->op() == next.operation->op();
  });
}

}  // namespace corank
