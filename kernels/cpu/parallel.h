// The cores of one stream of the CPU engine.
#ifndef CORANK_KERNELS_CPU_PARALLEL_H_
#define CORANK_KERNELS_CPU_PARALLEL_H_

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#ifdef __SANITIZE_THREAD__
#include <atomic>
#include <thread>
#include <vector>
#endif

namespace corank::cpu {

/// The number of equal pieces to cut `work` steps into for `threads` threads: 1 if pieces would be smaller than
/// `grain`, otherwise a few for each thread, so that one slow core does not delay the others.
inline int64_t PieceCount(int64_t work, int64_t grain, int threads) {
  if (threads == 1) return 1;
  return std::clamp<int64_t>(work / grain, 1, int64_t{4} * threads);
}

/// The first step of piece `piece` of `pieces`, out of `work` steps. Never overflows.
inline int64_t PieceBegin(int64_t work, int64_t piece, int64_t pieces) {
  return work / pieces * piece + std::min(work % pieces, piece);
}

/// Parallel loops on a private task arena. The calling thread always takes part, so that a stream never waits for the
/// work of another one. Small loops run on the calling thread. Only one thread may use an object at a time; loops may
/// nest.
class Parallel {
 public:
  /// threads >= 1, including the calling thread.
  explicit Parallel(int threads) : threads_(threads), arena_(threads, 1) {}

  int threads() const { return threads_; }

  /// Calls fn(piece) for every piece in [0, pieces).
  template <typename Fn>
  void ForPieces(int64_t pieces, const Fn& fn) {
    if (pieces <= 1 || threads_ == 1) {
      for (int64_t piece = 0; piece < pieces; ++piece) fn(piece);
      return;
    }
#ifdef __SANITIZE_THREAD__
    OnThreads(pieces, fn);
#else
    arena_.execute([&] { tbb::parallel_for(int64_t{0}, pieces, fn, tbb::simple_partitioner()); });
#endif
  }

  /// Calls fn(begin, end) for ranges that cover [0, count). Ranges are not smaller than `grain`.
  template <typename Fn>
  void ForRange(int64_t count, int64_t grain, const Fn& fn) {
    if (count <= grain || threads_ == 1) {
      if (count > 0) fn(int64_t{0}, count);
      return;
    }
#ifdef __SANITIZE_THREAD__
    const int64_t pieces = PieceCount(count, grain, threads_);
    OnThreads(pieces,
              [&](int64_t piece) { fn(PieceBegin(count, piece, pieces), PieceBegin(count, piece + 1, pieces)); });
#else
    arena_.execute([&] {
      tbb::parallel_for(tbb::blocked_range<int64_t>(0, count, grain),
                        [&](const tbb::blocked_range<int64_t>& range) { fn(range.begin(), range.end()); });
    });
#endif
  }

  void Copy(void* to, const void* from, int64_t bytes) {
    ForRange(bytes, kBytesGrain, [&](int64_t begin, int64_t end) {
      std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
    });
  }

  void Zero(void* to, int64_t bytes) {
    ForRange(bytes, kBytesGrain,
             [&](int64_t begin, int64_t end) { std::memset(static_cast<char*>(to) + begin, 0, end - begin); });
  }

 private:
  static constexpr int64_t kBytesGrain = int64_t{1} << 18;

#ifdef __SANITIZE_THREAD__
  // oneTBB is not instrumented, so ThreadSanitizer would report everything that its tasks hand over as a race. It
  // understands threads that start and join here. The relaxed counter adds no order that the loop itself does not have.
  template <typename Fn>
  void OnThreads(int64_t pieces, const Fn& fn) {
    std::atomic<int64_t> next{0};
    const auto work = [&] {
      for (int64_t piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) fn(piece);
    };
    std::vector<std::thread> helpers;
    for (int64_t i = std::min<int64_t>(threads_, pieces); i > 1; --i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
  }
#endif

  int threads_;
  tbb::task_arena arena_;
};

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_PARALLEL_H_
