// Worked examples from the literature, as test vectors for every engine.
#ifndef CORANK_TESTS_SUPPORT_PUBLISHED_EXAMPLES_H_
#define CORANK_TESTS_SUPPORT_PUBLISHED_EXAMPLES_H_

#include <cstdint>

namespace corank::testing::published {

/// The co-rank walk-through of W. W. Hwu, D. B. Kirk, I. El Hajj, "Programming Massively Parallel Processors", 4th ed.,
/// ch. 12, after C. Siebert, J. L. Träff, "Perfectly load-balanced, optimal, stable, parallel merge", 2013: three
/// threads merge A and B, three outputs each.
struct CoRankExample {
  static constexpr int32_t kA[] = {1, 7, 8, 9, 10};
  static constexpr int32_t kB[] = {7, 10, 10, 12};
  static constexpr int32_t kMerged[] = {1, 7, 7, 8, 9, 10, 10, 10, 12};
  /// The ends of the threads' outputs, and the numbers of earlier outputs that come from A and from B.
  static constexpr int kK[] = {3, 6, 9};
  static constexpr int kI[] = {2, 5, 5};
  static constexpr int kJ[] = {1, 1, 4};
};

/// S. Baxter, moderngpu, "IntervalExpand and IntervalMove", https://moderngpu.github.io/intervalmove.html: the expand
/// demonstration.
struct IntervalExpandExample {
  static constexpr int64_t kCounts[] = {2, 5, 7, 16, 0, 1, 0, 0, 14, 10, 3, 14, 2, 1, 11, 2, 1, 0, 5, 6};
  static constexpr int32_t kValues[] = {1,  1,   2,   3,   5,   8,   13,   21,   34,   55,
                                        89, 144, 233, 377, 610, 987, 1597, 2584, 4181, 6765};
  static constexpr int32_t kExpanded[] = {1,    1,    1,    1,    1,    1,    1,    2,    2,    2,     //
                                          2,    2,    2,    2,    3,    3,    3,    3,    3,    3,     //
                                          3,    3,    3,    3,    3,    3,    3,    3,    3,    3,     //
                                          8,    34,   34,   34,   34,   34,   34,   34,   34,   34,    //
                                          34,   34,   34,   34,   34,   55,   55,   55,   55,   55,    //
                                          55,   55,   55,   55,   55,   89,   89,   89,   144,  144,   //
                                          144,  144,  144,  144,  144,  144,  144,  144,  144,  144,   //
                                          144,  144,  233,  233,  377,  610,  610,  610,  610,  610,   //
                                          610,  610,  610,  610,  610,  610,  987,  987,  1597, 4181,  //
                                          4181, 4181, 4181, 4181, 6765, 6765, 6765, 6765, 6765, 6765};
};

/// The move demonstration of the same page: 20 intervals of the source 0, 1, 2, ..., 99.
struct IntervalMoveExample {
  static constexpr int64_t kCounts[] = {3, 9, 1, 9, 8, 5, 10, 2, 5, 2, 8, 6, 5, 2, 4, 0, 8, 2, 5, 6};
  static constexpr int64_t kSourceOffsets[] = {75, 86, 17, 2, 67, 24, 37, 11, 95, 35,
                                               52, 18, 47, 0, 13, 75, 78, 60, 62, 29};
  static constexpr int64_t kDestinationOffsets[] = {10, 80, 99, 27, 41, 71, 15, 0,  36, 13,
                                                    89, 49, 66, 97, 76, 76, 2,  25, 61, 55};
  static constexpr int32_t kMoved[] = {11, 12, 78, 79, 80, 81, 82, 83, 84, 85,  //
                                       75, 76, 77, 35, 36, 37, 38, 39, 40, 41,  //
                                       42, 43, 44, 45, 46, 60, 61, 2,  3,  4,   //
                                       5,  6,  7,  8,  9,  10, 95, 96, 97, 98,  //
                                       99, 67, 68, 69, 70, 71, 72, 73, 74, 18,  //
                                       19, 20, 21, 22, 23, 29, 30, 31, 32, 33,  //
                                       34, 62, 63, 64, 65, 66, 47, 48, 49, 50,  //
                                       51, 24, 25, 26, 27, 28, 13, 14, 15, 16,  //
                                       86, 87, 88, 89, 90, 91, 92, 93, 94, 52,  //
                                       53, 54, 55, 56, 57, 58, 59, 0,  1,  17};
};

/// S. Baxter, moderngpu, "Load-Balancing Search", https://moderngpu.github.io/loadbalance.html: the demonstration with
/// 50 objects and 125 work items.
struct LoadBalanceExample {
  static constexpr int64_t kCounts[] = {0, 3, 5, 2, 1, 3, 1, 5, 4, 5,  //
                                        2, 5, 4, 0, 2, 3, 1, 4, 0, 5,  //
                                        4, 3, 2, 4, 2, 4, 3, 3, 0, 3,  //
                                        1, 4, 4, 4, 4, 2, 0, 3, 0, 5,  //
                                        0, 0, 0, 0, 2, 2, 3, 0, 4, 4};
  static constexpr int64_t kObjects[] = {1,  1,  1,  2,  2,  2,  2,  2,  3,  3,   //
                                         4,  5,  5,  5,  6,  7,  7,  7,  7,  7,   //
                                         8,  8,  8,  8,  9,  9,  9,  9,  9,  10,  //
                                         10, 11, 11, 11, 11, 11, 12, 12, 12, 12,  //
                                         14, 14, 15, 15, 15, 16, 17, 17, 17, 17,  //
                                         19, 19, 19, 19, 19, 20, 20, 20, 20, 21,  //
                                         21, 21, 22, 22, 23, 23, 23, 23, 24, 24,  //
                                         25, 25, 25, 25, 26, 26, 26, 27, 27, 27,  //
                                         29, 29, 29, 30, 31, 31, 31, 31, 32, 32,  //
                                         32, 32, 33, 33, 33, 33, 34, 34, 34, 34,  //
                                         35, 35, 37, 37, 37, 39, 39, 39, 39, 39,  //
                                         44, 44, 45, 45, 46, 46, 46, 48, 48, 48,  //
                                         48, 49, 49, 49, 49};
};

/// 40 objects and 79 work items, after the method of the same page. Made for this project; not a copy of its figures.
struct FortyObjectsExample {
  static constexpr int64_t kCounts[] = {1, 2, 4, 0, 4, 4, 3, 3, 2, 4,  //
                                        0, 0, 1, 2, 1, 1, 0, 2, 2, 1,  //
                                        1, 4, 2, 3, 2, 2, 1, 1, 3, 0,  //
                                        2, 1, 1, 3, 4, 2, 2, 4, 0, 4};
  static constexpr int64_t kStarts[] = {0,  1,  3,  7,  7,  11, 15, 18, 21, 23,  //
                                        27, 27, 27, 28, 30, 31, 32, 32, 34, 36,  //
                                        37, 38, 42, 44, 47, 49, 51, 52, 53, 56,  //
                                        56, 58, 59, 60, 63, 67, 69, 71, 75, 75};
};

}  // namespace corank::testing::published

#endif  // CORANK_TESTS_SUPPORT_PUBLISHED_EXAMPLES_H_
