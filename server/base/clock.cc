#include "server/base/clock.h"

namespace corank {
namespace {

class SteadyClock final : public Clock {
 public:
  Instant Now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock& Clock::Steady() {
  static const SteadyClock* const clock = new SteadyClock;
  return *clock;
}

}  // namespace corank
