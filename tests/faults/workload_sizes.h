// Sizes of workloads that depend on device code.
#ifndef CORANK_TESTS_FAULTS_WORKLOAD_SIZES_H_
#define CORANK_TESTS_FAULTS_WORKLOAD_SIZES_H_

#include <cstdint>

namespace corank::testing {

/// A number of one-byte keys for a merge of more than two inputs, whose tiles are so many that two launches partition
/// them.
int64_t KeysOfTwoPartitions();

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_WORKLOAD_SIZES_H_
