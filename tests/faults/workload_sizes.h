// Sizes of workloads that only device code knows.
#ifndef CORANK_TESTS_FAULTS_WORKLOAD_SIZES_H_
#define CORANK_TESTS_FAULTS_WORKLOAD_SIZES_H_

#include <cstdint>

namespace corank::testing {

/// Keys of one byte in a merge of more than two inputs that has so many tiles that they are partitioned in two
/// launches.
int64_t KeysOfTwoPartitions();

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_WORKLOAD_SIZES_H_
