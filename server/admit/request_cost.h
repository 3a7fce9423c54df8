// What requests cost each other.
#ifndef CORANK_SERVER_ADMIT_REQUEST_COST_H_
#define CORANK_SERVER_ADMIT_REQUEST_COST_H_

#include <cstdint>

namespace corank {

/// In bytes: what a request costs beside its arrays, so that a flood of tiny ones is no cheaper than it is.
inline constexpr int64_t kRequestCostBytes = 16 << 10;

/// Of a request with arrays of `bytes` bytes.
constexpr double RequestCost(int64_t bytes) { return static_cast<double>(bytes) + kRequestCostBytes; }

}  // namespace corank

#endif  // CORANK_SERVER_ADMIT_REQUEST_COST_H_
