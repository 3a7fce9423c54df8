// Sorts the latencies of requests on the cores of the host, with the number of each request, and prints the median, the
// 99th percentile and the slowest request.
#include <cstdint>
#include <iostream>
#include <random>
#include <system_error>
#include <vector>

#include "corank/cpu.h"

int main() {
  constexpr size_t kRequests = 1'000'000;
  std::vector<float> latencies(kRequests);
  std::vector<uint32_t> requests(kRequests);
  std::mt19937 random(1);
  std::exponential_distribution<float> milliseconds(0.2F);
  for (size_t i = 0; i < kRequests; ++i) {
    latencies[i] = milliseconds(random);
    requests[i] = static_cast<uint32_t>(i);
  }
  latencies[123'456] = 9'999;  // the one to find

  std::vector<float> sorted(kRequests);
  std::vector<uint32_t> sorted_requests(kRequests);
  const std::errc error = corank::cpu::SortWithValues<float, uint32_t>(latencies, requests, sorted, sorted_requests);
  if (error != std::errc()) {
    std::cerr << std::make_error_code(error).message() << '\n';
    return 1;
  }
  std::cout << "median: " << sorted[kRequests / 2] << " ms\n"
            << "99th percentile: " << sorted[kRequests / 100 * 99] << " ms\n"
            << "slowest: request " << sorted_requests.back() << " with " << sorted.back() << " ms\n";
  return sorted_requests.back() == 123'456 ? 0 : 1;
}
