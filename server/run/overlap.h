// Whether a result in shared memory overwrites an input of its own request.
#ifndef CORANK_SERVER_RUN_OVERLAP_H_
#define CORANK_SERVER_RUN_OVERLAP_H_

#include <cstdint>
#include <memory>

#include "server/model/operand.h"
#include "server/model/result_target.h"

namespace corank {

/// Whether a result of `bytes` bytes lies, in part or as a whole, where the input is.
bool Overlaps(const Operand& input, const std::shared_ptr<ResultTarget>& target, int64_t bytes);
/// Whether the result begins where the input does.
bool BeginsWith(const Operand& input, const std::shared_ptr<ResultTarget>& target);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_OVERLAP_H_
