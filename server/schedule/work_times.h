// How long lanes take for work, learned from completed work.
#ifndef CORANK_SERVER_SCHEDULE_WORK_TIMES_H_
#define CORANK_SERVER_SCHEDULE_WORK_TIMES_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/model/operator.h"

namespace corank {

/// For each operator and size class (a factor of four in bytes), tracks the median time of a request. It moves in steps
/// whose size does not depend on the distance of a sample, so an outlier moves it by one step. Within a class, the time
/// is a fixed cost, that of the operator's smallest requests, plus a time for each byte. Not thread-safe.
class WorkTimes {
 public:
  void Learn(Operator op, int64_t bytes, absl::Duration time, Instant now);

  /// Expected lane time of a request. None if too few of this size were measured, or none within the last ten seconds:
  /// work refused because of an old estimate would never be measured again.
  std::optional<absl::Duration> Estimate(Operator op, int64_t bytes, Instant now) const;

  /// Rate of the operator's largest measured requests; 0 if none was measured.
  double BytesPerSecond(Operator op) const;

 private:
  static constexpr int kClasses = 20;
  struct Class {
    int64_t samples = 0;
    double bytes = 0;    // mean, with most weight on the latest
    double seconds = 0;  // median
    double step = 0;     // of the median's logarithm
    bool rose = false;
    Instant learned;
  };

  static int ClassOf(int64_t bytes);

  std::array<std::array<Class, kClasses>, kOperatorCount> classes_;
};

}  // namespace corank

#endif  // CORANK_SERVER_SCHEDULE_WORK_TIMES_H_
