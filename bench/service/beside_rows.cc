#include "bench/service/beside_rows.h"

#include <grpcpp/client_context.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/harness/statistics.h"
#include "bench/service/closed_loop.h"
#include "bench/service/inline_work.h"
#include "bench/service/kept_array.h"
#include "bench/service/keys.h"
#include "corank/v1/corank_service.grpc.pb.h"

namespace corank::bench {
namespace {

constexpr char kShared[] = "beside-shared", kWhole[] = "beside-whole";

std::string SortedName(const std::string& name) { return name + "-sorted"; }

// Sorts a kept array into another.
absl::Status SortKept(v1::CorankService::Stub& stub, const std::string& name, int64_t count, bool sharded) {
  v1::SortRequest request;
  request.mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT32);
  request.mutable_keys()->set_count(count);
  request.mutable_keys()->mutable_stored()->set_name(name);
  request.mutable_keys_destination()->mutable_stored()->set_name(SortedName(name));
  request.mutable_keys_destination()->mutable_stored()->set_sharded(sharded);
  grpc::ClientContext context;
  v1::SortResponse response;
  return FromGrpc(stub.Sort(&context, request, &response));
}

// Does so again and again, until it is destroyed.
class LargeSorts {
 public:
  LargeSorts(v1::CorankService::Stub& stub, const std::string& name, int64_t count, bool sharded)
      : thread_([this, &stub, name, count, sharded] {
          while (!done_ && status_.ok()) {
            status_ = SortKept(stub, name, count, sharded);
            ++sorted_;
          }
        }) {}
  ~LargeSorts() { static_cast<void>(Stop()); }

  int sorted() const { return sorted_; }
  absl::Status Stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    return status_;
  }

 private:
  std::atomic<bool> done_{false};
  std::atomic<int> sorted_{0};
  absl::Status status_;
  std::thread thread_;
};

// Stores the arrays, and checks a sort of each kind once.
absl::Status KeepAndCheck(v1::MemoryService::Stub& memory, v1::CorankService::Stub& stub, int64_t count) {
  std::vector<uint32_t> keys = UniformKeys(count);
  for (const bool sharded : {false, true}) {
    KeptArray array;
    array.name = sharded ? kShared : kWhole;
    array.sharded = sharded;
    if (absl::Status kept = Keep(memory, array, keys.data(), count); !kept.ok()) return kept;
  }
  keys = SortedOnAllCores(std::move(keys));
  const absl::string_view sorted(reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(uint32_t));
  for (const bool sharded : {false, true}) {
    const std::string name = sharded ? kShared : kWhole;
    absl::Status status = SortKept(stub, name, count, sharded);
    if (status.ok()) status = CheckKept(memory, SortedName(name), sorted);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Small sorts beside one kind of large ones.
struct Phase {
  const char* large = nullptr;  // the name of the array; null: none
  bool sharded = false;
  std::vector<double> p50_us, p99_us, large_per_second;  // by round
};

absl::Status MeasureRound(LightClient& client, const InlineWork& work, v1::CorankService::Stub& stub,
                          int64_t large_keys, absl::Duration length, Phase* phase) {
  std::unique_ptr<LargeSorts> large;
  if (phase->large != nullptr) {
    large = std::make_unique<LargeSorts>(stub, phase->large, large_keys, phase->sharded);
  }
  const absl::StatusOr<LoopResult> result =
      RunClosedLoop(client, LightRequest(work.method, work.request), work.stats_field, 1, length);
  const int sorted = large == nullptr ? 0 : large->sorted();
  if (large != nullptr) {
    if (absl::Status stopped = large->Stop(); !stopped.ok()) return stopped;
  }
  if (!result.ok()) return result.status();
  phase->p50_us.push_back(Quantile(result->latency_us, 0.5));
  phase->p99_us.push_back(Quantile(result->latency_us, 0.99));
  phase->large_per_second.push_back(sorted / result->seconds);
  return absl::OkStatus();
}

}  // namespace

std::vector<BesideLoad> BesideLoads() {
  return {{"Sort 4 KiB beside a large sort", 1 << 10}, {"Sort 256 KiB beside a large sort", 1 << 16}};
}

absl::StatusOr<Row> MeasureBeside(const BesideLoad& load, int64_t large_keys, const LoadOptions& options) {
  const auto channel = Connect(options.corankd, 1).front();
  const auto memory = v1::MemoryService::NewStub(channel);
  const auto stub = v1::CorankService::NewStub(channel);
  if (absl::Status kept = KeepAndCheck(*memory, *stub, large_keys); !kept.ok()) return kept;
  const InlineWork work = MakeInlineWork(InlineOperator::kSort, load.keys);
  auto client = LightClient::Connect(options.corankd, 1, 1);
  if (!client.ok()) return client.status();
  const absl::StatusOr<grpc::ByteBuffer> answer = CallOnce(**client, LightRequest(work.method, work.request));
  if (!answer.ok()) return answer.status();
  if (!IsAnswer(work, *answer)) return absl::InternalError("corankd: wrong answer");

  Phase alone, whole, shared;
  whole.large = kWhole;
  shared.large = kShared;
  shared.sharded = true;
  for (int round = -1; round < options.rounds; ++round) {  // round -1 warms up
    for (Phase* const phase : {&alone, &whole, &shared}) {
      Phase ignored = *phase;
      const absl::Status status =
          MeasureRound(**client, work, *stub, large_keys, options.round, round < 0 ? &ignored : phase);
      if (!status.ok()) return status;
    }
  }
  Row row;
  row.row = load.name;
  row.type = work.type;
  row.n = load.keys;
  row.distribution = work.distribution;
  row.reference_name = "alone";
  row.better = Better::kLower;
  row.unit = "us p99";
  row.ours = Summarize(shared.p99_us);
  row.reference = Summarize(alone.p99_us);
  row.checked = true;
  row.details["large_keys"] = static_cast<double>(large_keys);
  row.details["p50_us"] = Quantile(shared.p50_us, 0.5);
  row.details["alone_p50_us"] = Quantile(alone.p50_us, 0.5);
  row.details["beside_one_gpu_p50_us"] = Quantile(whole.p50_us, 0.5);
  row.details["beside_one_gpu_p99_us"] = Quantile(whole.p99_us, 0.5);
  row.details["large_per_second"] = Quantile(shared.large_per_second, 0.5);
  row.details["large_per_second_on_one_gpu"] = Quantile(whole.large_per_second, 0.5);
  return row;
}

}  // namespace corank::bench
