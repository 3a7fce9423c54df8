// A server on an engine that fails on request, and its client.
#ifndef CORANK_TESTS_FAULTS_FAULT_WORLD_H_
#define CORANK_TESTS_FAULTS_FAULT_WORLD_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/cpu_engine.h"
#include "tests/faults/placed_request.h"
#include "tests/server/memory_calls.h"
#include "tests/server/running_server.h"
#include "tests/server/shared_object.h"
#include "tests/server/streamed_call.h"
#include "tests/support/faulty_engine.h"

namespace corank::testing {

inline constexpr int64_t kRegionBytes = int64_t{1} << 20;

inline Server::Options FaultOptions() {
  Server::Options options = TestOptions();
  options.regions.shared_memory_prefixes = {SharedObject::kPrefix};
  options.arrays.max_bytes = options.arrays.quota_bytes = int64_t{16} << 20;
  options.host_pool.max_kept_bytes = 0;  // every buffer comes from the engine
  options.max_kept_run_bytes = 0;
  options.streams.piece_bytes = 8 << 10;
  options.limits.max_chunk_bytes = 4 << 10;
  return options;
}

/// The outcome for a caller: the status, and all bytes of the response.
struct Answer {
  grpc::Status status;
  std::string bytes;
};

template <typename Response>
std::string WithoutStats(Response response) {
  response.clear_stats();
  return response.SerializeAsString();
}

/// A server on a failing engine, and its surroundings.
class World {
 public:
  explicit World(const Server::Options& options = FaultOptions(), const Clock* clock = &Clock::Steady())
      : plan_(std::make_shared<FaultPlan>()),
        running_(options, {Faulty(*CreateCpuEngine({1}), plan_), "a test asks for it"}, clock),
        memory_(running_.channel()) {
    EXPECT_TRUE(memory_.Register(object_).ok());
  }

  FaultPlan& plan() { return *plan_; }
  Server& server() { return running_.server(); }
  const std::shared_ptr<grpc::Channel>& channel() { return running_.channel(); }
  v1::CorankService::Stub& stub() { return running_.stub(); }
  SharedObject& object() { return object_; }

  const MemoryCalls& memory() { return memory_; }

  Answer Unary(const AnyRequest& request) {
    return std::visit(
        [this](const auto& message) {
          grpc::ClientContext context;
          typename corank::testing::Unary<std::decay_t<decltype(message)>>::Response response;
          Answer answer;
          answer.status = Call(stub(), &context, message, &response);
          answer.bytes = WithoutStats(std::move(response));
          return answer;
        },
        request);
  }
  Answer Stream(const v1::Plan& plan, const std::vector<v1::ExecuteRequest>& chunks) {
    StreamedAnswer streamed = Execute(stub(), plan, chunks);
    Answer answer{streamed.status, ""};
    for (const v1::ArrayChunk& chunk : streamed.chunks) {
      answer.bytes += absl::StrCat(chunk.stream_id(), ":", chunk.data(), ";");
    }
    answer.bytes += absl::StrCat(streamed.results.size(), " results");
    return answer;
  }

  // Expects that no more is in use than at the start.
  void ExpectNothingLeft(const std::string& where) {
    const auto is_free = [this] {
      return server().active_calls() == 0 && server().host_pool().bytes_in_use() == 0 &&
             server().jobs().memory_in_use == 0 && server().jobs().joining_jobs == 0 &&
             server().waiting_requests() == 0 && device_work() == 0 &&
             server().regions().region_count() == kept_regions_ && server().arrays().used_bytes() == kept_bytes_ &&
             plan().blocks() == kept_blocks_;
    };
    EXPECT_TRUE(Eventually(is_free)) << where << ": " << server().active_calls() << " calls, "
                                     << server().host_pool().bytes_in_use() << " bytes of buffers, "
                                     << server().jobs().memory_in_use << " bytes of jobs, "
                                     << server().jobs().joining_jobs << " joining, " << server().waiting_requests()
                                     << " waiting, " << device_work() << " bytes of device work, "
                                     << server().regions().region_count() << " regions, "
                                     << server().arrays().used_bytes() - kept_bytes_ << " bytes kept, "
                                     << plan().blocks() - kept_blocks_ << " blocks of memory";
  }
  // Makes the current state the one to compare with.
  void Settle() {
    EXPECT_TRUE(
        Eventually([this] { return server().active_calls() == 0 && server().host_pool().bytes_in_use() == 0; }));
    kept_bytes_ = server().arrays().used_bytes();
    kept_blocks_ = plan().blocks();
    kept_regions_ = server().regions().region_count();
  }

 private:
  double device_work() const { return MetricOf(running_.server(), "corank_memory_used_bytes", "device_work"); }

  const std::shared_ptr<FaultPlan> plan_;
  SharedObject object_{kRegionBytes};
  RunningServer running_;
  const MemoryCalls memory_;
  int64_t kept_bytes_ = 0;
  int64_t kept_blocks_ = 0;
  int64_t kept_regions_ = 1;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_FAULT_WORLD_H_
