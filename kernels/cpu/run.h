// Runs an operator on the cores of the host, with a workspace of its own.
#ifndef CORANK_KERNELS_CPU_RUN_H_
#define CORANK_KERNELS_CPU_RUN_H_

#include <system_error>

#include "kernels/common/group.h"
#include "kernels/common/join.h"
#include "kernels/common/operators.h"
#include "kernels/common/select.h"
#include "kernels/common/sets.h"

namespace corank::cpu {

/// `threads`: the threads to use, the calling one included; 0: all cores that this process may use. *report is written
/// before the return. std::errc::not_enough_memory if the host has no memory for the workspace, otherwise std::errc().
std::errc Run(const SortArgs& args, int threads, OperatorReport* report);
std::errc Run(const MergeArgs& args, int threads, OperatorReport* report);
std::errc Run(const SearchArgs& args, int threads, OperatorReport* report);
std::errc Run(const GroupArgs& args, int threads, GroupReport* report);
std::errc Run(const SelectArgs& args, int threads, SelectReport* report);
std::errc Run(const SetArgs& args, int threads, SetReport* report);
std::errc Run(const JoinArgs& args, int threads, JoinReport* report);
std::errc Run(const ExpandArgs& args, int threads, OperatorReport* report);
std::errc Run(const MoveArgs& args, int threads, OperatorReport* report);
std::errc Run(const LoadBalanceArgs& args, int threads, OperatorReport* report);

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_RUN_H_
