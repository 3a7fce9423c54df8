// Counts and times of each model.
#ifndef CORANK_SERVER_KSERVE_MODEL_STATISTICS_H_
#define CORANK_SERVER_KSERVE_MODEL_STATISTICS_H_

#include <cstdint>
#include <memory>

#include "inference/grpc_service.pb.h"
#include "server/kserve/models.h"
#include "server/observe/metrics.h"

namespace corank {

/// Thread-safe. A description shows a request in all of its counts or in none.
class ModelStatisticsTable {
 public:
  ModelStatisticsTable();
  ~ModelStatisticsTable();

  /// Counts a request whose answer is about to leave.
  void Count(const Model& model, const RequestRecord& record);
  bool HasRun(const Model& model) const;
  inference::ModelStatistics Describe(const Model& model) const;

 private:
  struct PerModel;
  const std::unique_ptr<PerModel[]> models_;  // by Model::index
};

}  // namespace corank

#endif  // CORANK_SERVER_KSERVE_MODEL_STATISTICS_H_
