#include "client/cpp/parallel.h"

#include <system_error>
#include <thread>
#include <vector>

namespace corank::client {

void InParallel(int threads, absl::FunctionRef<void()> work) {
  std::vector<std::thread> others;
  others.reserve(static_cast<size_t>(threads));
  try {
    for (int i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The process is out of threads; the started ones do the work.
  }
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace corank::client
