// An engine that breaks when a request asks it to: a Sort of so many keys is such a request.
#ifndef CORANK_TESTS_FAULTS_BREAKING_ENGINE_H_
#define CORANK_TESTS_FAULTS_BREAKING_ENGINE_H_

#include <cstdint>
#include <memory>

#include "kernels/engine/engine.h"

namespace corank::testing {

/// Key counts of the sorts that break something.
enum Break : int64_t {
  /// The device is lost. On a GPU by a kernel: one that writes out of bounds, one that ends with an assertion, one that
  /// runs an illegal instruction. Elsewhere all three are UNAVAILABLE.
  kOutOfBounds = 7001,
  kAssertion = 7002,
  kIllegalInstruction = 7003,
  /// Does not end: a kernel on every multiprocessor on a GPU, a sleep elsewhere.
  kHang = 7004,
  /// The same in the background: the sort itself ends, what comes behind it on the device does not. Elsewhere the next
  /// call of any stream does not end.
  kHangBehind = 7005,
  /// From now on every sort answers with its keys as they came, until a sort of kMend keys.
  kWrong = 7006,
  kMend = 7007,
  /// A fault with nothing in flight: kLaterMilliseconds after the sort, which succeeds.
  kLater = 7008,
};

inline constexpr int kLaterMilliseconds = 500;

std::unique_ptr<Engine> Breaking(std::unique_ptr<Engine> engine);

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_BREAKING_ENGINE_H_
