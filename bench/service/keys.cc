#include "bench/service/keys.h"

#include <algorithm>
#include <cstddef>
#include <thread>

#include "bench/harness/inputs.h"

namespace corank::bench {

std::vector<uint32_t> UniformKeys(int64_t count, uint64_t seed) {
  InputSpec spec;
  spec.count = count;
  spec.seed = seed;
  std::vector<uint32_t> keys(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) keys[static_cast<size_t>(i)] = InputKey<uint32_t>(spec, i);
  return keys;
}

std::vector<uint32_t> SortedOnAllCores(std::vector<uint32_t> keys) {
  size_t width = keys.size() / std::max(1U, std::thread::hardware_concurrency()) + 1;
  const auto on_each = [&keys](size_t step, const auto& work) {
    std::vector<std::thread> threads;
    for (size_t begin = 0; begin < keys.size(); begin += step) threads.emplace_back([&work, begin] { work(begin); });
    for (std::thread& thread : threads) thread.join();
  };
  const auto at = [&keys](size_t index) { return keys.begin() + static_cast<ptrdiff_t>(std::min(index, keys.size())); };
  on_each(width, [&](size_t begin) { std::sort(at(begin), at(begin + width)); });
  for (; width < keys.size(); width *= 2) {
    on_each(2 * width, [&](size_t begin) { std::inplace_merge(at(begin), at(begin + width), at(begin + 2 * width)); });
  }
  return keys;
}

}  // namespace corank::bench
