// The places of one operation of a plan: what streams bring and take, what operations before it stored, and what unary
// requests may name.
#ifndef CORANK_SERVER_RPC_EXECUTE_PLACES_H_
#define CORANK_SERVER_RPC_EXECUTE_PLACES_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/execute/stream_exchange.h"
#include "server/execute/stream_memory.h"
#include "server/execute/stream_target.h"
#include "server/respond/outcome.h"
#include "server/rpc/request_places.h"

namespace corank {

/// What the operations of a plan have stored so far: temporaries, and arrays to be kept once the job has succeeded.
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

  /// Notes a result that will be made; `place`: of the target, set by then.
  void Expect(Name name, std::shared_ptr<ResultTarget> target, const Place* place);
  /// The results of the operation that Expect was called for are made.
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
  /// What there is once the inputs have come.
  struct Arrived {
    const std::vector<Operand>* inputs = nullptr;  // complete, in the order of the plan's
    std::shared_ptr<StreamMemory> memory;
    Promised promised;
  };

  /// `streams`: the plan's inputs. Without `arrived`, announces an operation. `spills`: streamed results that are made
  /// as a whole are made in memory of the host. The pointees outlive the places.
  ExecutePlaces(const SharedPlaces& shared, std::shared_ptr<const Caller> caller, const InlinePayloads* payloads,
                const std::vector<StreamInput>& streams, PlanArrays* arrays, bool spills,
                const Arrived* arrived = nullptr)
      : RequestPlaces(shared, std::move(caller), payloads,
                      arrived == nullptr ? std::nullopt : std::optional(arrived->promised)),
        streams_(streams),
        spills_(spills),
        received_(arrived == nullptr ? nullptr : arrived->inputs),
        arrays_(arrays),
        memory_(arrived == nullptr ? nullptr : arrived->memory) {}

  absl::Status Find(const v1::Array& array, Field field, ArrayUse use, Operand* operand) const override;
  absl::StatusOr<std::shared_ptr<ResultTarget>> Target(const v1::Destination& destination, Field field, int64_t bytes,
                                                       int32_t element_bytes) const override;

  /// Of the streamed results so far.
  const std::vector<std::shared_ptr<StreamTarget>>& targets() const { return targets_; }

 private:
  absl::Status FindStream(const v1::Array& array, Field field, ArrayUse use, Operand* operand) const;

  const std::vector<StreamInput>& streams_;
  const bool spills_;
  const std::vector<Operand>* const received_;
  PlanArrays* const arrays_;
  const std::shared_ptr<StreamMemory> memory_;
  mutable std::vector<std::shared_ptr<StreamTarget>> targets_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_EXECUTE_PLACES_H_
