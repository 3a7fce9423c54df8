// How far estimates are from what comes to pass.
#ifndef CORANK_SERVER_ADMIT_CAUTION_H_
#define CORANK_SERVER_ADMIT_CAUTION_H_

#include "absl/time/time.h"
#include "server/observe/clock.h"

namespace corank {

/// A queue that takes whatever it estimates to end by its deadline keeps, under overload, just what ends at its
/// deadline, and half of that ends late. The factor, by which a wait is taken to be longer than estimated, rises with
/// each request that was taken and ended late, and falls with time: few are late, and one bad moment is forgotten.
/// Not thread-safe.
class Caution {
 public:
  /// A request that had been taken was late. Those that are late together count once.
  void Late(Instant now);
  /// 1 to 4.
  double Factor(Instant now) const;

 private:
  double factor_ = 1.5;
  Instant changed_;
};

}  // namespace corank

#endif  // CORANK_SERVER_ADMIT_CAUTION_H_
