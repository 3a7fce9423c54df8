// The keys of the service's benchmarks, on the host.
#ifndef CORANK_BENCH_SERVICE_KEYS_H_
#define CORANK_BENCH_SERVICE_KEYS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace corank::bench {

std::vector<uint32_t> UniformKeys(int64_t count, uint64_t seed = 1);

/// Sorts with std::sort on all cores, so that the check takes no longer than the measured work.
std::vector<uint32_t> SortedOnAllCores(std::vector<uint32_t> keys);

template <typename T>
std::string Bytes(const std::vector<T>& elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
}

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_KEYS_H_
