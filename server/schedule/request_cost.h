// How much requests cost each other.
#ifndef CORANK_SERVER_SCHEDULE_REQUEST_COST_H_
#define CORANK_SERVER_SCHEDULE_REQUEST_COST_H_

#include <cstdint>

namespace corank {

/// Cost of a request beside its arrays, in bytes, so that a flood of tiny requests is not cheaper than it really is.
inline constexpr int64_t kRequestCostBytes = 16 << 10;

/// Cost of a request with arrays of `bytes` bytes.
constexpr double RequestCost(int64_t bytes) { return static_cast<double>(bytes) + kRequestCostBytes; }

}  // namespace corank

#endif  // CORANK_SERVER_SCHEDULE_REQUEST_COST_H_
