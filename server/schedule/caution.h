// How far estimates are from what happens.
#ifndef CORANK_SERVER_SCHEDULE_CAUTION_H_
#define CORANK_SERVER_SCHEDULE_CAUTION_H_

#include "server/base/clock.h"

namespace corank {

/// A queue that admits everything it expects to end by its deadline keeps, under overload, exactly those tasks that end
/// near their deadline, and half of them end late. This factor lengthens estimated waits. It rises with each admitted
/// request that ends late and falls with time, so few requests are late and one bad moment is forgotten. Not
/// thread-safe.
class Caution {
 public:
  /// An admitted request was late. Requests that are late together count once.
  void Late(Instant now);
  /// 1 to 4.
  double Factor(Instant now) const;

 private:
  double factor_ = 1.5;
  Instant changed_;
};

}  // namespace corank

#endif  // CORANK_SERVER_SCHEDULE_CAUTION_H_
