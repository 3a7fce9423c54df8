// Translates a ModelInferRequest to the request of an operator, and the operator's outcome to a ModelInferResponse.
#ifndef CORANK_SERVER_KSERVE_INFER_REQUEST_H_
#define CORANK_SERVER_KSERVE_INFER_REQUEST_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "proto/payloads.h"
#include "server/kserve/models.h"
#include "server/kserve/tensors.h"
#include "server/memory/received_message.h"
#include "server/memory/region_registry.h"
#include "server/model/outcome.h"
#include "server/plan/parse/validate.h"

namespace corank {

/// One request. Read it, then Translate it. Payloads stay where they are: Translate says to which array each belongs.
class InferRequest {
 public:
  /// Parses everything but the raw contents. INVALID_ARGUMENT; NOT_FOUND: no such model.
  absl::Status Read(const ReceivedMessage& bytes);
  /// Makes the operator's request. `regions`, `tenant`: where the names of shared memory are looked up. Errors name the
  /// field of the ModelInferRequest.
  absl::Status Translate(RegionRegistry* regions, const std::string& tenant);

  /// After Read.
  const Model& model() const { return *model_; }
  bool has_model() const { return model_ != nullptr; }
  const std::string& id() const { return message_.id(); }
  std::optional<std::chrono::nanoseconds> timeout() const { return timeout_; }

  // After Translate.
  /// The ranges of the raw contents, with the arrays of the operator's request as holders.
  const std::vector<PayloadRange>& payloads() const { return payloads_; }
  /// The typed contents, likewise.
  const PayloadMap& typed_payloads() const { return typed_payloads_; }
  const v1::RequestOptions& options() const;
  /// As corank::Validate. Also INVALID_ARGUMENT if a result exceeds the caller's range of shared memory.
  absl::StatusOr<std::unique_ptr<Operation>> Validate(const Limits& limits, Places& places) const;

  /// The ModelInferResponse; `in_stream`: within a ModelStreamInferResponse. Shares the memory of large results with
  /// their targets.
  Bytes Respond(const Outcome& outcome, bool in_stream = false) const;

 private:
  absl::Status ReadParameters();
  absl::Status ReadOption(const std::string& name, const inference::InferParameter& value, const std::string& field);
  absl::Status ReadInputs();
  absl::Status ReadInput(const inference::ModelInferRequest::InferInputTensor& input, const std::string& field);
  absl::Status ReadOutputs();
  // Asks the operator for the outputs that the caller wants.
  void ChooseResults();
  // The array of the operator's request that an input fills.
  absl::StatusOr<v1::Array*> ArrayOf(const std::string& name, const std::string& field, const InputTensor** tensor);
  absl::Status PlaceContents(const inference::ModelInferRequest::InferInputTensor& input, const Datatype& type,
                             const std::string& field, v1::Array* array);
  bool IsRequested(const char* output) const { return requested_.empty() || requested_.contains(output); }
  std::string Head(const Outcome& outcome) const;

  inference::ModelInferRequest message_;  // without its raw contents
  std::vector<PayloadRange> raw_;         // of the message
  size_t next_raw_ = 0;
  const Model* model_ = nullptr;
  std::unique_ptr<google::protobuf::Message> request_;  // of the operator
  std::optional<std::chrono::nanoseconds> timeout_;
  bool wants_final_ = false;
  RegionRegistry* regions_ = nullptr;
  const std::string* tenant_ = nullptr;
  absl::flat_hash_set<const v1::Array*> filled_;
  absl::flat_hash_set<std::string> requested_;
  absl::flat_hash_map<std::string, int64_t> room_;  // bytes of shared memory, by the operator's field of a destination
  std::vector<PayloadRange> payloads_;
  std::vector<std::unique_ptr<std::string>> typed_;
  PayloadMap typed_payloads_;
};

}  // namespace corank

#endif  // CORANK_SERVER_KSERVE_INFER_REQUEST_H_
