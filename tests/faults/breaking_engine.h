// An engine that breaks when a request asks for it: a Sort with one of the key counts below.
#ifndef CORANK_TESTS_FAULTS_BREAKING_ENGINE_H_
#define CORANK_TESTS_FAULTS_BREAKING_ENGINE_H_

#include <cstdint>
#include <memory>

#include "kernels/engine/engine.h"

namespace corank::testing {

/// The key counts of sorts that break something.
enum Break : int64_t {
  /// The device is lost. On a GPU, a kernel writes out of bounds, ends with an assertion, or runs an illegal
  /// instruction. Elsewhere all three return UNAVAILABLE.
  kOutOfBounds = 7001,
  kAssertion = 7002,
  kIllegalInstruction = 7003,
  /// The sort does not end: on a GPU, a kernel occupies every multiprocessor; elsewhere, the sort sleeps.
  kHang = 7004,
  /// The same in the background: the sort itself ends, but later work on the device does not. Elsewhere the next call
  /// of any stream does not end.
  kHangBehind = 7005,
  /// From now on, every sort returns its keys unsorted, until a sort of kMend keys.
  kWrong = 7006,
  kMend = 7007,
  /// A fault with nothing in flight: kLaterMilliseconds after the sort, which succeeds.
  kLater = 7008,
  /// A fault of the engine that leaves the device as it was.
  kFault = 7009,
  /// The sort finds no memory. As soon as another stream frees what it keeps, that call does not end, nor does later
  /// work.
  kHangWhenTrimmed = 7010,
};

inline constexpr int kLaterMilliseconds = 500;

std::unique_ptr<Engine> Breaking(std::unique_ptr<Engine> engine);

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_BREAKING_ENGINE_H_
