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

void CheckStatus(const grpc::Status& status) {
  FUZZ_CHECK(status.error_code() != grpc::StatusCode::INTERNAL && status.error_code() != grpc::StatusCode::UNKNOWN,
             status.error_message());
}

class Unary final : public grpc::ServerCallbackUnary {
 public:
  void Bind(grpc::ServerUnaryReactor* reactor) {
    reactor_ = reactor;
    BindReactor(reactor);
    FUZZ_CHECK(finished_, "a call of the service waits");
    reactor->OnDone();
  }
  void Finish(grpc::Status status) override {
    CheckStatus(status);
    finished_ = true;
  }
  void SendInitialMetadata() override {}

 private:
  grpc::internal::ServerReactor* reactor() override { return reactor_; }
  void CallOnDone() override {}

  grpc::ServerUnaryReactor* reactor_ = nullptr;
  bool finished_ = false;
};

class Reader final : public grpc::ServerCallbackReader<grpc::ByteBuffer> {
 public:
  explicit Reader(MemoryServiceImpl& service) : reactor_(service.StoreArray(&context_, &response_)) {
    BindReactor(reactor_);
  }
  ~Reader() override {
    Deliver(nullptr);
    FUZZ_CHECK(finished_ && read_ == nullptr, "the call is not over");
    reactor_->OnDone();
  }
  // Null: no message follows.
  void Deliver(const grpc::ByteBuffer* message) {
    grpc::ByteBuffer* const to = std::exchange(read_, nullptr);
    if (to == nullptr) return;
    if (message != nullptr) *to = *message;
    reactor_->OnReadDone(message != nullptr);
  }
  void Finish(grpc::Status status) override {
    CheckStatus(status);
    FUZZ_CHECK(!finished_, "Finish is called twice");
    finished_ = true;
    v1::StoreArrayResponse response;
    if (status.ok()) FUZZ_CHECK(response.ParseFromString(Flat(response_)) && response.has_array(), "no answer");
  }
  void SendInitialMetadata() override {}
  void Read(grpc::ByteBuffer* to) override { read_ = to; }

 private:
  grpc::internal::ServerReactor* reactor() override { return reactor_; }
  void CallOnDone() override {}

  grpc::CallbackServerContext context_;
  grpc::ByteBuffer response_;
  grpc::ServerReadReactor<grpc::ByteBuffer>* const reactor_;
  grpc::ByteBuffer* read_ = nullptr;
  bool finished_ = false;
};

class Writer final : public grpc::ServerCallbackWriter<grpc::ByteBuffer> {
 public:
  explicit Writer(grpc::ServerWriteReactor<grpc::ByteBuffer>* reactor) : reactor_(reactor) { BindReactor(reactor); }
  // Reads everything, or gives up after a few messages; then the call ends.
  ~Writer() override {
    for (int writes = 0; writing_ && writes < 100; ++writes) {
      writing_ = false;
      reactor_->OnWriteDone(true);
    }
    if (!finished_) reactor_->OnCancel();
    if (std::exchange(writing_, false)) reactor_->OnWriteDone(false);
    FUZZ_CHECK(finished_, "the call is not over");
    reactor_->OnDone();
  }
  void Finish(grpc::Status status) override {
    if (status.error_code() != grpc::StatusCode::CANCELLED) CheckStatus(status);
    FUZZ_CHECK(!finished_, "Finish is called twice");
    finished_ = true;
  }
  void SendInitialMetadata() override {}
  void Write(const grpc::ByteBuffer*, grpc::WriteOptions) override { writing_ = true; }
  void WriteAndFinish(const grpc::ByteBuffer*, grpc::WriteOptions, grpc::Status) override {
    FUZZ_CHECK(false, "not used");
  }

 private:
  grpc::internal::ServerReactor* reactor() override { return reactor_; }
  void CallOnDone() override {}

  grpc::ServerWriteReactor<grpc::ByteBuffer>* const reactor_;
  bool writing_ = false, finished_ = false;
};

class Run {
 public:
  Run() : world_(World::Get()), service_(Environment()) {}
  ~Run() {
    store_.reset();
    lease_.reset();
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
        return Call<v1::RegisterSharedMemoryResponse>(&MemoryServiceImpl::RegisterSharedMemory, message);
      case kRegisterIpc:
        return Call<v1::RegisterCudaIpcResponse>(&MemoryServiceImpl::RegisterCudaIpc, message);
      case kListRegions:
        return Call<v1::ListRegionsResponse>(&MemoryServiceImpl::ListRegions, message);
      case kUnregister:
        return Call<v1::UnregisterRegionResponse>(&MemoryServiceImpl::UnregisterRegion, message);
      case kList:
        return Call<v1::ListArraysResponse>(&MemoryServiceImpl::ListArrays, message);
      case kDelete:
        return Call<v1::DeleteArrayResponse>(&MemoryServiceImpl::DeleteArray, message);
      case kLease: {
        const grpc::ByteBuffer request = Sliced(message, 4);
        lease_.reset();
        lease_ = std::make_unique<Writer>(service_.OpenLease(&lease_context_, &request));
        return;
      }
      case kEndLease:
        lease_.reset();
        return;
      case kStore: {
        if (store_ == nullptr) store_ = std::make_unique<Reader>(service_);
        const grpc::ByteBuffer bytes = Sliced(message, 5);
        if (message.empty()) return store_.reset();
        store_->Deliver(&bytes);
        return;
      }
      default: {
        grpc::CallbackServerContext context;
        const grpc::ByteBuffer bytes = Sliced(message, 3);
        const Writer writer(service_.FetchArray(&context, &bytes));
      }
    }
  }

 private:
  template <typename Response>
  void Call(grpc::ServerUnaryReactor* (MemoryServiceImpl::*method)(grpc::CallbackServerContext*,
                                                                   const grpc::ByteBuffer*, grpc::ByteBuffer*),
            absl::string_view message) {
    const grpc::ByteBuffer request = Sliced(message, 4);
    grpc::ByteBuffer response;
    grpc::CallbackServerContext context;
    Unary unary;
    unary.Bind((service_.*method)(&context, &request, &response));
    FUZZ_CHECK(!response.Valid() || Response().ParseFromString(Flat(response)), std::string(message));
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
    return environment;
  }

  World& world_;
  ActiveCalls active_calls_;
  const Gate gate_;
  MemoryServiceImpl service_;
  grpc::CallbackServerContext lease_context_;
  std::unique_ptr<Reader> store_;
  std::unique_ptr<Writer> lease_;
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
