// MemoryService: any sequence of its calls, each with the bytes of its messages, without a network.
//
// Input: parts (fuzz_target.h) with a method and a message. A message for StoreArray goes to the open call; an empty
// one ends it.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "corank/v1/memory_service.pb.h"
#include "server/rpc/memory_service.h"
#include "server/rpc/methods.h"
#include "tests/fuzz/fake_call.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/world.h"

namespace corank::fuzz {
namespace {

enum Method : uint8_t {
  kRegister,
  kRegisterIpc,
  kLease,
  kEndLease,
  kListRegions,
  kUnregister,
  kStore,
  kFetch,
  kList,
  kDelete,
  kMethods
};

class Run {
 public:
  Run() : world_(World::Get()), service_(Environment()) {
    Methods methods;
    service_.AddTo(&methods);
    router_ = methods.router();
  }
  ~Run() {
    EndStore();
    EndLease();
    const v1::ListRegionsResponse listed = world_.regions.List("");
    for (const v1::Region& region : listed.regions()) {
      if (region.name() != "r") FUZZ_CHECK(world_.regions.Unregister("", region.name()).ok(), region.name());
    }
    if (world_.regions.region_count() == 0) world_.RegisterRegion();
    FUZZ_CHECK(active_calls_.count() == 0, "calls are left");
    world_.Reset();
  }

  void Step(absl::string_view part) {
    Input input(part);
    const auto method = static_cast<Method>(input.Choice(kMethods));
    const std::string message = absl::StrReplaceAll(input.Rest(), {{kRegionKey, OwnRegionKey()}});
    switch (method) {
      case kRegister:
        return Unary<v1::RegisterSharedMemoryResponse>("RegisterSharedMemory", message);
      case kRegisterIpc:
        return Unary<v1::RegisterCudaIpcResponse>("RegisterCudaIpc", message);
      case kListRegions:
        return Unary<v1::ListRegionsResponse>("ListRegions", message);
      case kUnregister:
        return Unary<v1::UnregisterRegionResponse>("UnregisterRegion", message);
      case kList:
        return Unary<v1::ListArraysResponse>("ListArrays", message);
      case kDelete:
        return Unary<v1::DeleteArrayResponse>("DeleteArray", message);
      case kLease:
        EndLease();
        lease_ = Begin("OpenLease");
        lease_->Deliver(message, 4);
        return;
      case kEndLease:
        return EndLease();
      case kStore:
        if (store_ == nullptr) store_ = Begin("StoreArray");
        if (message.empty()) return EndStore();
        if (store_->reading()) store_->Deliver(message, 5);
        return;
      default:
        Fetch(message);
    }
  }

 private:
  std::shared_ptr<FakeCall> Begin(absl::string_view method) {
    auto call = std::make_shared<FakeCall>(absl::StrCat("/corank.v1.MemoryService/", method));
    call->Serve(router_(call));
    return call;
  }
  template <typename Response>
  void Unary(absl::string_view method, absl::string_view message) {
    const std::shared_ptr<FakeCall> call = Begin(method);
    if (call->reading()) call->Deliver(message, 4);
    FUZZ_CHECK(call->finished(), "a call of the service waits");
    if (call->status().ok()) FUZZ_CHECK(Response().ParseFromString(call->answers().at(0)), std::string(message));
    call->End();
  }
  // Reads everything, or gives up after a few messages; then the call ends.
  void Fetch(absl::string_view message) {
    const std::shared_ptr<FakeCall> call = Begin("FetchArray");
    if (call->reading()) call->Deliver(message, 3);
    for (int writes = 0; call->writing() && writes < 100; ++writes) call->Take();
    if (!call->finished()) call->Cancel();
    call->End();
  }
  void EndLease() {
    if (lease_ == nullptr) return;
    lease_->Cancel();
    std::exchange(lease_, nullptr)->End();
  }
  void EndStore() {
    if (store_ == nullptr) return;
    if (store_->reading()) store_->HalfClose();
    FUZZ_CHECK(store_->finished(), "the call is not over");
    v1::StoreArrayResponse response;
    if (store_->status().ok()) {
      FUZZ_CHECK(response.ParseFromString(store_->answers().at(0)) && response.has_array(), "no answer");
    }
    std::exchange(store_, nullptr)->End();
  }

  MemoryEnvironment Environment() {
    static auto* const metrics = new Metrics;
    MemoryEnvironment environment;
    environment.places = world_.places();
    environment.logger = &world_.logger;
    environment.max_chunk_bytes = world_.limits.max_chunk_bytes;
    environment.active_calls = &active_calls_;
    environment.gate = &gate_;
    environment.metrics = metrics;
    environment.buffered = world_.buffered.get();
    return environment;
  }

  World& world_;
  ActiveCalls active_calls_;
  const Gate gate_;
  MemoryServiceImpl service_;
  wire::Router router_;
  std::shared_ptr<FakeCall> store_, lease_;
};

std::string Part(Method method, const google::protobuf::Message& message) {
  return std::string(1, static_cast<char>(method)) + message.SerializeAsString();
}

}  // namespace

std::vector<std::string> Seeds() {
  v1::RegisterSharedMemoryRequest region;
  region.set_name("n");
  region.set_key(kRegionKey);
  region.set_offset_bytes(4096);
  region.set_size_bytes(4096);
  v1::UnregisterRegionRequest unregister;
  unregister.set_name("n");
  v1::RegisterCudaIpcRequest ipc;
  ipc.set_name("g");
  ipc.set_handle(std::string(64, 'h'));
  ipc.set_size_bytes(64);
  v1::StoreArrayRequest header;
  header.mutable_header()->set_name("x");
  header.mutable_header()->mutable_expiry()->set_seconds(60);
  header.mutable_header()->mutable_array()->set_type(v1::ELEMENT_TYPE_UINT16);
  header.mutable_header()->mutable_array()->set_count(1000);
  header.mutable_header()->mutable_array()->mutable_stream()->set_stream_id(3);
  v1::StoreArrayRequest first, second;
  first.mutable_chunk()->set_stream_id(3);
  first.mutable_chunk()->set_data(std::string(1000, 'a'));
  second.mutable_chunk()->set_stream_id(3);
  second.mutable_chunk()->set_first_element(500);
  second.mutable_chunk()->set_data(std::string(1000, 'b'));
  v1::FetchArrayRequest fetch;
  fetch.set_name("x");
  v1::DeleteArrayRequest remove;
  remove.set_name("x");
  const std::string end_of_store(1, static_cast<char>(kStore));
  return {
      Join({Part(kRegister, region), Part(kListRegions, v1::ListRegionsRequest()), Part(kUnregister, unregister)}),
      Join({Part(kLease, v1::OpenLeaseRequest()), Part(kRegister, region), Part(kEndLease, v1::OpenLeaseRequest())}),
      Join({Part(kRegisterIpc, ipc), Part(kUnregister, unregister)}),
      Join({Part(kStore, header), Part(kStore, first), Part(kStore, second), end_of_store, Part(kFetch, fetch),
            Part(kList, v1::ListArraysRequest()), Part(kDelete, remove)}),
      Join({Part(kStore, header), Part(kStore, first), end_of_store, Part(kFetch, fetch)}),
  };
}

}  // namespace corank::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  corank::fuzz::Run run;
  for (const absl::string_view part : corank::fuzz::Parts(bytes)) run.Step(part);
  return 0;
}
