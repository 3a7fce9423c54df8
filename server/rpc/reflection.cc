#include "server/rpc/reflection.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "server/base/errors.h"
#include "server/rpc/small_message.h"

namespace corank {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
constexpr size_t kMostNameBytes = 4 << 10;
// Calls at a time. Each of them may leave an answer of some 100 KB unread.
constexpr int kMostCalls = 64;
constexpr absl::Duration kReflectionRetry = absl::Seconds(1);
constexpr const char* kServices[] = {"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"};

void AddFile(const FileDescriptor* file, absl::flat_hash_set<const FileDescriptor*>* added,
             grpc::reflection::v1::FileDescriptorResponse* response) {
  if (!added->insert(file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  response->add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file->dependency_count(); ++i) AddFile(file->dependency(i), added, response);
}

// The file, and those that it needs. Null: there is none.
void SetFile(const FileDescriptor* file, ServerReflectionResponse* response) {
  if (file == nullptr) {
    response->mutable_error_response()->set_error_code(wire::kNotFound);
    response->mutable_error_response()->set_error_message("the server has no such file, symbol or extension");
    return;
  }
  absl::flat_hash_set<const FileDescriptor*> added;
  AddFile(file, &added, response->mutable_file_descriptor_response());
}

ServerReflectionResponse Respond(const ServerReflectionRequest& request, const std::vector<std::string>& services) {
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kListServices:
      for (const std::string& name : services) response.mutable_list_services_response()->add_service()->set_name(name);
      break;
    case ServerReflectionRequest::kFileByFilename:
      SetFile(pool.FindFileByName(request.file_by_filename()), &response);
      break;
    case ServerReflectionRequest::kFileContainingSymbol:
      SetFile(pool.FindFileContainingSymbol(request.file_containing_symbol()), &response);
      break;
    default:  // no message of the contract has extensions
      SetFile(nullptr, &response);
  }
  return response;
}

// What all calls share.
struct Reflected {
  std::vector<std::string> services;
  std::atomic<int> calls{0};
};

class ReflectionCall final : public wire::Handler {
 public:
  ReflectionCall(std::shared_ptr<wire::Call> call, std::shared_ptr<Reflected> reflected)
      : call_(std::move(call)), reflected_(std::move(reflected)) {
    if (++reflected_->calls <= kMostCalls) {
      call_->ReadWhenever();
      return;
    }
    call_->Finish(ToCallStatus(
        RetryLater(v1::ERROR_REASON_TOO_MANY_OPEN, "too many reflection calls are open", kReflectionRetry), ""));
  }
  ~ReflectionCall() override { --reflected_->calls; }

  wire::Sink* OnMessageBegin(size_t size) override {
    if (size > kMostNameBytes) {
      call_->Finish(ToCallStatus(TooLargeField("request", "a name has at most 4 KiB"), ""));
      return nullptr;
    }
    collector_ = std::make_unique<wire::Collector>(size);
    return collector_.get();
  }
  void OnMessage() override {
    ServerReflectionRequest request;
    const absl::Status parsed = ParseSmall(collector_->view(), &request);
    if (!parsed.ok()) return call_->Finish(ToCallStatus(parsed, ""));
    call_->Write(SmallBytes(Respond(request, reflected_->services)));
  }
  void OnHalfClose() override { call_->Finish({}); }
  void OnWritten() override { call_->ReadWhenever(); }
  void OnCancel(const CallStatus& status) override { call_->Finish(status); }
  void OnDone() override {}

 private:
  const std::shared_ptr<wire::Call> call_;
  const std::shared_ptr<Reflected> reflected_;
  std::unique_ptr<wire::Collector> collector_;
};

}  // namespace

void AddReflection(std::vector<std::string> services, Methods* methods) {
  for (const char* own : kServices) services.emplace_back(own);
  const auto shared = std::make_shared<Reflected>();
  shared->services = std::move(services);
  for (const char* own : kServices) {
    methods->Add(own, "ServerReflectionInfo", [shared](const std::shared_ptr<wire::Call>& call) {
      return std::make_shared<ReflectionCall>(call, shared);
    });
  }
}

}  // namespace corank
