// How long the lanes take for work, learned from what they did.
#ifndef CORANK_SERVER_ADMIT_WORK_TIMES_H_
#define CORANK_SERVER_ADMIT_WORK_TIMES_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "server/observe/clock.h"
#include "server/observe/operator.h"

namespace corank {

/// For each operator and size class (a factor of four in bytes), the median time of a request, followed by steps whose
/// size does not depend on how far off a sample is: one outlier moves it by one step. Between the sizes of a class the
/// time is a fixed cost, that of the operator's smallest requests, and a time for each byte. Not thread-safe.
class WorkTimes {
 public:
  void Learn(Operator op, int64_t bytes, absl::Duration time, Instant now);

  /// What a request will take of a lane. None where too little of this size was done, or nothing within the last ten
  /// seconds: work that was refused by an old estimate would never be measured again.
  std::optional<absl::Duration> Estimate(Operator op, int64_t bytes, Instant now) const;

  /// Of the largest requests of this operator that were measured; 0 where none was.
  double BytesPerSecond(Operator op) const;

 private:
  static constexpr int kClasses = 20;
  struct Class {
    int64_t samples = 0;
    double bytes = 0;    // mean, the latest weighing most
    double seconds = 0;  // median
    double step = 0;     // of the median's logarithm
    bool rose = false;
    Instant learned;
  };

  static int ClassOf(int64_t bytes);

  std::array<std::array<Class, kClasses>, kOperatorCount> classes_;
};

}  // namespace corank

#endif  // CORANK_SERVER_ADMIT_WORK_TIMES_H_
