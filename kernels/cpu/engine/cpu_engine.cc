#include "kernels/cpu/cpu_engine.h"

#include <tbb/global_control.h>
#include <tbb/info.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "kernels/cpu/columns.h"
#include "kernels/cpu/engine/block_pool.h"
#include "kernels/cpu/engine/host_memory.h"
#include "kernels/cpu/group.h"
#include "kernels/cpu/intervals.h"
#include "kernels/cpu/join.h"
#include "kernels/cpu/merge.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/search.h"
#include "kernels/cpu/select.h"
#include "kernels/cpu/sets.h"
#include "kernels/cpu/sort.h"
#include "kernels/engine/arena.h"
#include "kernels/engine/budget.h"
#include "kernels/engine/memory_limit.h"

namespace corank {
namespace {

using Clock = std::chrono::steady_clock;
using CpuArena = Arena<cpu::HostMemory>;

// Memory that streams and blocks keep together between requests, and that one stream does. Together they must not fill
// a small container. One or two streams do most of the work and may keep it all: fresh pages can take as much of a
// large request's time as its work.
constexpr int64_t kKeptShare = 16;
constexpr int64_t kStreamShare = 32;

int64_t Nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

class CpuStream final : public EngineStream {
 public:
  CpuStream(int threads, CpuArena::Options memory, std::shared_ptr<cpu::BlockPool> blocks)
      : arena_(cpu::HostMemory(), std::move(memory)), parallel_(threads), blocks_(std::move(blocks)) {}

  absl::Status Begin(Pace) override {
    arena_.Reset();
    workspace_size_ = 0;
    workspace_bytes_ = 0;
    kernels_begin_ = kernels_end_ = Clock::now();
    return absl::OkStatus();
  }

  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t) override { return h_bytes; }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override { return arena_.Allocate(bytes); }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override { return arena_.Allocate(bytes); }
  absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) override {
    absl::StatusOr<void*> memory = arena_.Allocate(bytes);
    if (!memory.ok()) return memory.status();
    return ResultBuffer{*memory, *memory};
  }

  absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t) override {
    return ResultBuffer{h_place, h_place};
  }

  absl::Status Zero(void* d_bytes, int64_t bytes) override {
    return Run(0, [&](void*) { parallel_.Zero(d_bytes, bytes); });
  }
  absl::Status Iota(void* d_out, int element_bytes, int64_t first, int64_t count) override {
    constexpr int64_t kGrain = 1 << 16;
    const auto fill = [&](auto* out) {
      parallel_.ForRange(count, kGrain, [&](int64_t begin, int64_t end) {
        std::iota(out + begin, out + end, static_cast<std::remove_pointer_t<decltype(out)>>(first + begin));
      });
    };
    return Run(0, [&](void*) {
      element_bytes == 4 ? fill(static_cast<uint32_t*>(d_out)) : fill(static_cast<uint64_t*>(d_out));
    });
  }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    return Run(0, [&](void*) { parallel_.Copy(d_to, d_from, bytes); });
  }

  absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) override {
    return Copy(d_to, h_from, bytes);
  }
  absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) override { return Copy(h_to, d_from, bytes); }

  absl::Status EndCopyIn() override {
    kernels_begin_ = kernels_end_ = Clock::now();
    return absl::OkStatus();
  }
  absl::Status EndKernels() override {
    kernels_end_ = Clock::now();
    return absl::OkStatus();
  }
  absl::Status Download(const ResultBuffer& result, int64_t bytes) override {
    return result.host == result.device ? absl::OkStatus() : CopyToHost(result.host, result.device, bytes);
  }
  absl::StatusOr<PhaseTimes> Finish() override {
    PhaseTimes times;
    times.kernel_ns = Nanoseconds(kernels_end_ - kernels_begin_);
    return times;
  }

  absl::Status Sort(const SortArgs& args, OperatorReport* report) override {
    return Run(cpu::SortWorkspaceBytes(args, parallel_.threads()),
               [&](void* workspace) { cpu::Sort(args, workspace, parallel_, report); });
  }
  absl::Status SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) override {
    // One thread sorts each array: arrays are too short to share.
    constexpr int64_t kGrain = 16;
    int64_t bytes_each = 0;
    for (const SortArgs& args : sorts) bytes_each = std::max(bytes_each, cpu::SortWorkspaceBytes(args, 1));
    const auto count = static_cast<int64_t>(sorts.size());
    return Run(count * bytes_each, [&](void* workspace) {
      parallel_.ForRange(count, kGrain, [&](int64_t begin, int64_t end) {
        cpu::Parallel alone(1);
        for (int64_t i = begin; i < end; ++i) {
          cpu::Sort(sorts[static_cast<size_t>(i)], static_cast<char*>(workspace) + i * bytes_each, alone, &reports[i]);
        }
      });
    });
  }
  absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) override {
    return Run(cpu::ColumnSortWorkspaceBytes(args),
               [&](void* workspace) { cpu::SortColumns(args, workspace, parallel_, report); });
  }
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override {
    return Run(cpu::MergeWorkspaceBytes(args, parallel_.threads()),
               [&](void* workspace) { cpu::Merge(args, workspace, parallel_, report); });
  }
  absl::Status SplitRuns(const SplitArgs& args) override {
    return Run(0, [&](void*) { cpu::SplitRuns(args); });
  }
  absl::Status Expand(const ExpandArgs& args, OperatorReport* report) override {
    return Run(cpu::ExpandWorkspaceBytes(args),
               [&](void* workspace) { cpu::Expand(args, workspace, parallel_, report); });
  }
  absl::Status Move(const MoveArgs& args, OperatorReport* report) override {
    return Run(cpu::MoveWorkspaceBytes(args, parallel_.threads()),
               [&](void* workspace) { cpu::Move(args, workspace, parallel_, report); });
  }
  absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) override {
    return Run(cpu::LoadBalanceWorkspaceBytes(args),
               [&](void* workspace) { cpu::LoadBalance(args, workspace, parallel_, report); });
  }
  absl::Status Search(const SearchArgs& args, OperatorReport* report) override {
    return Run(0, [&](void*) { cpu::Search(args, parallel_, report); });
  }
  absl::Status SearchColumns(const ColumnSearchArgs& args, OperatorReport* report) override {
    return Run(0, [&](void*) { cpu::SearchColumns(args, parallel_, report); });
  }
  absl::Status Group(const GroupArgs& args, GroupReport* report) override {
    return Run(cpu::GroupWorkspaceBytes(args),
               [&](void* workspace) { cpu::Group(args, workspace, parallel_, report); });
  }
  absl::Status Select(const SelectArgs& args, SelectReport* report) override {
    return Run(cpu::SelectWorkspaceBytes(args),
               [&](void* workspace) { cpu::Select(args, workspace, parallel_, report); });
  }
  absl::Status CombineSets(const SetArgs& args, SetReport* report) override {
    return Run(cpu::CombineSetsWorkspaceBytes(args),
               [&](void* workspace) { cpu::CombineSets(args, workspace, parallel_, report); });
  }
  absl::Status Join(const JoinArgs& args, JoinReport* report) override {
    return Run(cpu::JoinWorkspaceBytes(args, parallel_.threads()),
               [&](void* workspace) { cpu::Join(args, workspace, parallel_, report); });
  }

  void End() override { arena_.Reset(); }
  void Trim() override {
    arena_.Clear();
    blocks_->Trim();
  }
  int64_t workspace_bytes() const override { return workspace_bytes_; }

 private:
  // The boundary to code that throws if memory is short: the standard library and oneTBB.
  template <typename Fn>
  absl::Status Run(int64_t workspace_bytes, const Fn& fn) {
    if (workspace_bytes > workspace_size_) {
      const absl::StatusOr<void*> memory = arena_.Allocate(workspace_bytes);
      if (!memory.ok()) return memory.status();
      workspace_ = *memory;
      workspace_size_ = workspace_bytes;
      workspace_bytes_ += workspace_bytes;
    }
    try {
      fn(workspace_bytes > 0 ? workspace_ : nullptr);
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("the host has no memory left");
    }
    return absl::OkStatus();
  }

  CpuArena arena_;
  cpu::Parallel parallel_;
  const std::shared_ptr<cpu::BlockPool> blocks_;  // shared with the engine
  void* workspace_ = nullptr;                     // of the operators of this request, one after the other
  int64_t workspace_size_ = 0;
  int64_t workspace_bytes_ = 0;
  Clock::time_point kernels_begin_, kernels_end_;
};

class CpuMemory final : public EngineMemory {
 public:
  static absl::StatusOr<std::unique_ptr<EngineMemory>> Make(int64_t bytes) {
    absl::StatusOr<void*> memory = cpu::HostMemory().Allocate(bytes);
    if (!memory.ok()) return memory.status();
    return std::make_unique<CpuMemory>(*memory, bytes);
  }
  using EngineMemory::EngineMemory;
  ~CpuMemory() override { cpu::HostMemory().Free(data()); }
};

class PooledBlock final : public EngineMemory {
 public:
  PooledBlock(void* data, int64_t bytes, std::shared_ptr<cpu::BlockPool> pool)
      : EngineMemory(data, bytes), pool_(std::move(pool)) {}
  ~PooledBlock() override { pool_->Free(data()); }

 private:
  const std::shared_ptr<cpu::BlockPool> pool_;
};

class CpuEngine final : public Engine {
 public:
  explicit CpuEngine(EngineInfo info)
      : info_(std::move(info)),
        kept_(Budget::Create(info_.memory_bytes / kKeptShare)),
        blocks_(std::make_shared<cpu::BlockPool>(kept_)),
        worker_limit_(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(info_.parallelism)) {}

  const EngineInfo& info() const override { return info_; }
  void LimitKept(const KeptMemory& most) override { kept_->set_limit(most.device_bytes); }
  KeptMemory kept() const override { return {kept_->used(), 0}; }
  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override {
    CpuArena::Options memory;
    memory.keep_bytes = std::min(memory.keep_bytes, info_.memory_bytes / kStreamShare);
    memory.kept = kept_;
    return std::make_unique<CpuStream>(info_.parallelism, std::move(memory), blocks_);
  }

  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) override { return CpuMemory::Make(bytes); }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) override {
    absl::StatusOr<void*> memory = blocks_->Allocate(bytes);
    if (!memory.ok()) return memory.status();
    return std::make_unique<PooledBlock>(*memory, bytes, blocks_);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) override {
    return std::make_unique<EngineMemory>(h_bytes, bytes);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpc(absl::string_view, int64_t, int64_t) override {
    return absl::UnimplementedError("the CPU engine has no GPU memory");
  }

  int64_t WorkspaceBytes(const SortArgs& args) const override {
    return cpu::SortWorkspaceBytes(args, info_.parallelism);
  }
  int64_t WorkspaceBytes(const ColumnSortArgs& args) const override { return cpu::ColumnSortWorkspaceBytes(args); }
  int64_t WorkspaceBytes(const MergeArgs& args) const override {
    return cpu::MergeWorkspaceBytes(args, info_.parallelism);
  }
  int64_t WorkspaceBytes(const ExpandArgs& args) const override { return cpu::ExpandWorkspaceBytes(args); }
  int64_t WorkspaceBytes(const MoveArgs& args) const override {
    return cpu::MoveWorkspaceBytes(args, info_.parallelism);
  }
  int64_t WorkspaceBytes(const LoadBalanceArgs& args) const override { return cpu::LoadBalanceWorkspaceBytes(args); }
  int64_t WorkspaceBytes(const SearchArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const ColumnSearchArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const GroupArgs& args) const override { return cpu::GroupWorkspaceBytes(args); }
  int64_t WorkspaceBytes(const SelectArgs& args) const override { return cpu::SelectWorkspaceBytes(args); }
  int64_t WorkspaceBytes(const SetArgs& args) const override { return cpu::CombineSetsWorkspaceBytes(args); }
  int64_t WorkspaceBytes(const JoinArgs& args) const override {
    return cpu::JoinWorkspaceBytes(args, info_.parallelism);
  }

 private:
  EngineInfo info_;
  const std::shared_ptr<Budget> kept_;            // unused memory of streams and blocks
  const std::shared_ptr<cpu::BlockPool> blocks_;  // for streams and kept arrays
  tbb::global_control worker_limit_;              // without it, oneTBB stops at the number of cores and warns on stderr
};

std::string CpuModelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos) return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return "CPU";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> CreateCpuEngine(const CpuEngineOptions& options) {
  if (options.threads < 0) return absl::InvalidArgumentError("the number of CPU threads must be 0 or more");
  EngineInfo info;
  info.kind = EngineKind::kCpu;
  info.device = CpuModelName();
  info.memory_bytes = HostMemoryBytes();
  info.parallelism = options.threads > 0 ? options.threads : std::max(1, tbb::info::default_concurrency());
  return std::make_unique<CpuEngine>(std::move(info));
}

}  // namespace corank
