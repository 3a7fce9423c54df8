// The places of one operation of a plan: streams, results of earlier operations, and every place that a unary request
// may name.
#ifndef CORANK_SERVER_PLAN_EXECUTE_PLACES_H_
#define CORANK_SERVER_PLAN_EXECUTE_PLACES_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/model/outcome.h"
#include "server/plan/request_places.h"
#include "server/run/chunk_pipe.h"
#include "server/run/job_memory.h"
#include "server/run/job_parts.h"
#include "server/run/stream_target.h"

namespace corank {

/// Arrays that the plan's operations have stored so far: temporaries, and arrays to keep once the job has succeeded.
class PlanArrays {
 public:
  using Name = std::pair<bool, std::string>;  // whether it is a temporary

  /// Null: none of that name.
  const Operand* Find(const v1::StoredPlace& place) const;
  /// Where the result of a target lies: on a device, or in parts on several.
  struct Place {
    const void* bytes = nullptr;
    int device = 0;
    std::vector<const void*> shards = {};
    uint64_t shard_devices = 0;
  };

  /// Announces a result. `place` belongs to the target, which sets it before Store.
  void Expect(Name name, std::shared_ptr<ResultTarget> target, const Place* place);
  /// The operation for which Expect was called has made its results.
  void Store(const Outcome& outcome);
  void Clear();

 private:
  struct Expected {
    Name name;
    std::shared_ptr<ResultTarget> target;
    const Place* place;
  };
  std::vector<Expected> expected_;
  std::map<Name, Operand> arrays_;
};

/// How an operation of a plan uses several devices.
struct PlanShards {
  uint64_t devices = 0;    // of the plan's sharded arrays and results, as a mask; 0: it has none
  bool is_shared = false;  // the operation has some of them, so the devices make its results in parts if they can
};

/// Used by one thread, for one operation.
class ExecutePlaces final : public RequestPlaces {
 public:
  /// Objects that exist once the inputs have arrived.
  struct Arrived {
    const std::vector<Operand>* inputs = nullptr;  // complete, in the plan's order
    std::shared_ptr<JobMemory> memory;
    Promised promised;
  };

  /// `streams`: the plan's inputs. Without `arrived`, the places only announce an operation. `spills`: streamed results
  /// that are made as a whole are made in host memory. The pointees outlive the places.
  ExecutePlaces(const SharedPlaces& shared, std::shared_ptr<const Caller> caller, const Payloads* payloads,
                const std::vector<StreamInput>& streams, PlanArrays* arrays, const PlanShards& shards, bool spills,
                const Arrived* arrived = nullptr)
      : RequestPlaces(shared, std::move(caller), payloads, shards.devices,
                      arrived == nullptr ? std::nullopt : std::optional(arrived->promised)),
        shards_(shards),
        streams_(streams),
        spills_(spills),
        received_(arrived == nullptr ? nullptr : arrived->inputs),
        arrays_(arrays),
        memory_(arrived == nullptr ? nullptr : arrived->memory) {}

  absl::Status Find(const v1::Array& array, Field field, ArrayUse use, Operand* operand) override;
  absl::StatusOr<std::shared_ptr<ResultTarget>> Target(const v1::Destination& destination, Field field, int64_t bytes,
                                                       int32_t element_bytes) override;

  /// Targets of streamed results so far.
  const std::vector<std::shared_ptr<StreamTarget>>& targets() const { return targets_; }
  bool is_shared() const { return shards_.is_shared; }
  /// Targets of results so far that several devices make, but whose place is another.
  const std::vector<std::shared_ptr<PartsTarget>>& parts() const { return parts_; }
  /// The operation cannot be shared: all results so far are made by one device. Those that the caller wants sharded are
  /// then divided.
  void MakeWhole();
  /// The most memory that results in parts take of a device of the job.
  int64_t part_bytes() const;

 private:
  class PlanTarget;

  absl::Status FindStream(const v1::Array& array, Field field, ArrayUse use, Operand* operand);
  absl::StatusOr<std::shared_ptr<ResultTarget>> FinalTarget(const v1::Destination& destination, Field field,
                                                            int64_t bytes, int32_t element_bytes);

  const PlanShards shards_;
  const std::vector<StreamInput>& streams_;
  const bool spills_;
  const std::vector<Operand>* const received_;
  PlanArrays* const arrays_;
  const std::shared_ptr<JobMemory> memory_;
  std::vector<std::shared_ptr<StreamTarget>> targets_;
  std::vector<std::pair<std::shared_ptr<PlanTarget>, bool>> temporaries_;  // in parts; whether the caller wants that
  std::vector<std::shared_ptr<PartsTarget>> parts_;
};

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_EXECUTE_PLACES_H_
