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
#include "server/run/stream_target.h"

namespace corank {

/// Arrays that the plan's operations have stored so far: temporaries, and arrays to keep once the job has succeeded.
class PlanArrays {
 public:
  using Name = std::pair<bool, std::string>;  // whether it is a temporary

  /// Null: none of that name.
  const Operand* Find(const v1::StoredPlace& place) const;
  /// Where the result of a target lies.
  struct Place {
    const void* bytes = nullptr;
    int device = 0;
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
                const std::vector<StreamInput>& streams, PlanArrays* arrays, bool spills,
                const Arrived* arrived = nullptr)
      : RequestPlaces(shared, std::move(caller), payloads,
                      arrived == nullptr ? std::nullopt : std::optional(arrived->promised)),
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

 private:
  absl::Status FindStream(const v1::Array& array, Field field, ArrayUse use, Operand* operand);

  const std::vector<StreamInput>& streams_;
  const bool spills_;
  const std::vector<Operand>* const received_;
  PlanArrays* const arrays_;
  const std::shared_ptr<JobMemory> memory_;
  std::vector<std::shared_ptr<StreamTarget>> targets_;
};

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_EXECUTE_PLACES_H_
