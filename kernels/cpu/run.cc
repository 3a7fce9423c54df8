#include "kernels/cpu/run.h"

#include <tbb/global_control.h>
#include <tbb/info.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "kernels/cpu/group.h"
#include "kernels/cpu/intervals.h"
#include "kernels/cpu/join.h"
#include "kernels/cpu/merge.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/search.h"
#include "kernels/cpu/select.h"
#include "kernels/cpu/sets.h"
#include "kernels/cpu/sort.h"

namespace corank::cpu {
namespace {

constexpr std::align_val_t kWorkspaceAlignment{256};

struct FreeWorkspace {
  void operator()(char* workspace) const { operator delete(workspace, kWorkspaceAlignment); }
};

// bytes_for(threads): the bytes of workspace. run(workspace, parallel): the operator.
template <typename BytesFor, typename RunOperator>
std::errc RunOn(int threads, const BytesFor& bytes_for, const RunOperator& run) {
  const int cores = std::max(1, tbb::info::default_concurrency());
  if (threads == 0) threads = cores;
  // The boundary to code that throws if memory is short: the standard library and oneTBB.
  try {
    // Without it, oneTBB stops at the number of cores and warns on stderr.
    std::optional<tbb::global_control> more_workers;
    if (threads > cores) {
      more_workers.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads));
    }
    const int64_t bytes = bytes_for(threads);
    std::unique_ptr<char, FreeWorkspace> workspace;
    if (bytes > 0) workspace.reset(static_cast<char*>(operator new(static_cast<size_t>(bytes), kWorkspaceAlignment)));
    Parallel parallel(threads);
    run(workspace.get(), parallel);
  } catch (const std::bad_alloc&) {
    return std::errc::not_enough_memory;
  }
  return std::errc();
}

}  // namespace

std::errc Run(const SortArgs& args, int threads, OperatorReport* report) {
  return RunOn(
      threads, [&](int count) { return SortWorkspaceBytes(args, count); },
      [&](void* workspace, Parallel& parallel) { Sort(args, workspace, parallel, report); });
}

std::errc Run(const MergeArgs& args, int threads, OperatorReport* report) {
  return RunOn(
      threads, [&](int count) { return MergeWorkspaceBytes(args, count); },
      [&](void* workspace, Parallel& parallel) { Merge(args, workspace, parallel, report); });
}

std::errc Run(const SearchArgs& args, int threads, OperatorReport* report) {
  return RunOn(
      threads, [](int) { return int64_t{0}; }, [&](void*, Parallel& parallel) { Search(args, parallel, report); });
}

std::errc Run(const GroupArgs& args, int threads, GroupReport* report) {
  return RunOn(
      threads, [&](int) { return GroupWorkspaceBytes(args); },
      [&](void* workspace, Parallel& parallel) { Group(args, workspace, parallel, report); });
}

std::errc Run(const SelectArgs& args, int threads, SelectReport* report) {
  return RunOn(
      threads, [&](int) { return SelectWorkspaceBytes(args); },
      [&](void* workspace, Parallel& parallel) { Select(args, workspace, parallel, report); });
}

std::errc Run(const SetArgs& args, int threads, SetReport* report) {
  return RunOn(
      threads, [&](int) { return CombineSetsWorkspaceBytes(args); },
      [&](void* workspace, Parallel& parallel) { CombineSets(args, workspace, parallel, report); });
}

std::errc Run(const JoinArgs& args, int threads, JoinReport* report) {
  return RunOn(
      threads, [&](int count) { return JoinWorkspaceBytes(args, count); },
      [&](void* workspace, Parallel& parallel) { Join(args, workspace, parallel, report); });
}

std::errc Run(const ExpandArgs& args, int threads, OperatorReport* report) {
  return RunOn(
      threads, [&](int) { return ExpandWorkspaceBytes(args); },
      [&](void* workspace, Parallel& parallel) { Expand(args, workspace, parallel, report); });
}

std::errc Run(const MoveArgs& args, int threads, OperatorReport* report) {
  return RunOn(
      threads, [&](int count) { return MoveWorkspaceBytes(args, count); },
      [&](void* workspace, Parallel& parallel) { Move(args, workspace, parallel, report); });
}

std::errc Run(const LoadBalanceArgs& args, int threads, OperatorReport* report) {
  return RunOn(
      threads, [&](int) { return LoadBalanceWorkspaceBytes(args); },
      [&](void* workspace, Parallel& parallel) { LoadBalance(args, workspace, parallel, report); });
}

}  // namespace corank::cpu
