// The alignment of arrays that an engine allocates.
#ifndef CORANK_KERNELS_ENGINE_ALIGNMENT_H_
#define CORANK_KERNELS_ENGINE_ALIGNMENT_H_

#include <cstdint>

namespace corank {

/// Bytes. Any element may begin at a multiple of it, and loads of whole sectors are aligned too.
inline constexpr int64_t kArrayAlignment = 256;

/// The least multiple of kArrayAlignment that is not below `bytes`.
constexpr int64_t AlignUp(int64_t bytes) { return (bytes + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment; }

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_ALIGNMENT_H_
