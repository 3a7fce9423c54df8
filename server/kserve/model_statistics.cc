#include "server/kserve/model_statistics.h"

#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace corank {
namespace {

void Set(inference::StatisticDuration* duration, int64_t count, int64_t ns) {
  duration->set_count(static_cast<uint64_t>(count));
  duration->set_ns(static_cast<uint64_t>(ns));
}

}  // namespace

struct ModelStatisticsTable::PerModel {
  mutable absl::Mutex mutex;  // held for a few additions
  int64_t successes ABSL_GUARDED_BY(mutex) = 0, failures ABSL_GUARDED_BY(mutex) = 0;
  int64_t success_ns ABSL_GUARDED_BY(mutex) = 0, failure_ns ABSL_GUARDED_BY(mutex) = 0;
  // Of successful requests.
  int64_t queue_ns ABSL_GUARDED_BY(mutex) = 0, input_ns ABSL_GUARDED_BY(mutex) = 0;
  int64_t infer_ns ABSL_GUARDED_BY(mutex) = 0, output_ns ABSL_GUARDED_BY(mutex) = 0;
  int64_t last_ms ABSL_GUARDED_BY(mutex) = 0;
};

ModelStatisticsTable::ModelStatisticsTable() : models_(new PerModel[Models().size()]) {}
ModelStatisticsTable::~ModelStatisticsTable() = default;

void ModelStatisticsTable::Count(const Model& model, const RequestRecord& record) {
  const auto stage_ns = [&record](Stage stage) {
    return std::max<int64_t>(0, record.stage_ns[static_cast<size_t>(stage)]);
  };
  PerModel& counts = models_[static_cast<size_t>(model.index)];
  absl::MutexLock lock(&counts.mutex);
  counts.last_ms = absl::ToUnixMillis(absl::Now());
  if (record.code != absl::StatusCode::kOk) {
    ++counts.failures;
    counts.failure_ns += record.total_ns;
    return;
  }
  ++counts.successes;
  counts.success_ns += record.total_ns;
  counts.queue_ns += stage_ns(Stage::kQueue);
  counts.input_ns += stage_ns(Stage::kValidate) + stage_ns(Stage::kCopyIn);
  counts.infer_ns += stage_ns(Stage::kKernel);
  counts.output_ns += stage_ns(Stage::kCopyOut);
}

bool ModelStatisticsTable::HasRun(const Model& model) const {
  const PerModel& counts = models_[static_cast<size_t>(model.index)];
  absl::MutexLock lock(&counts.mutex);
  return counts.last_ms != 0;
}

inference::ModelStatistics ModelStatisticsTable::Describe(const Model& model) const {
  const PerModel& counts = models_[static_cast<size_t>(model.index)];
  inference::ModelStatistics described;
  described.set_name(model.name);
  described.set_version(kModelVersion);
  absl::MutexLock lock(&counts.mutex);
  described.set_last_inference(static_cast<uint64_t>(counts.last_ms));
  described.set_inference_count(static_cast<uint64_t>(counts.successes));
  described.set_execution_count(static_cast<uint64_t>(counts.successes));
  inference::InferStatistics* const times = described.mutable_inference_stats();
  Set(times->mutable_success(), counts.successes, counts.success_ns);
  Set(times->mutable_fail(), counts.failures, counts.failure_ns);
  Set(times->mutable_queue(), counts.successes, counts.queue_ns);
  Set(times->mutable_compute_input(), counts.successes, counts.input_ns);
  Set(times->mutable_compute_infer(), counts.successes, counts.infer_ns);
  Set(times->mutable_compute_output(), counts.successes, counts.output_ns);
  Set(times->mutable_cache_hit(), 0, 0);
  Set(times->mutable_cache_miss(), 0, 0);
  if (counts.successes == 0) return described;
  inference::InferBatchStatistics* const batch = described.add_batch_stats();
  batch->set_batch_size(1);
  Set(batch->mutable_compute_input(), counts.successes, counts.input_ns);
  Set(batch->mutable_compute_infer(), counts.successes, counts.infer_ns);
  Set(batch->mutable_compute_output(), counts.successes, counts.output_ns);
  return described;
}

}  // namespace corank
