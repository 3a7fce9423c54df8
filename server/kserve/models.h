// The operators as models of the Open Inference Protocol: one model for each operator and type of key.
#ifndef CORANK_SERVER_KSERVE_MODELS_H_
#define CORANK_SERVER_KSERVE_MODELS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "corank/v1/operators.pb.h"
#include "google/protobuf/message.h"
#include "inference/grpc_service.pb.h"
#include "server/kserve/tensors.h"
#include "server/model/operator.h"
#include "server/model/outcome.h"
#include "server/plan/parse/validate.h"

namespace corank {

/// The only version of every model.
inline constexpr char kModelVersion[] = "1";

/// The type of a tensor.
enum class TensorType : uint8_t {
  kModel,  // the model's own
  kUint8,
  kInt64,
  kFloat64,
  kIndex,      // UINT32, or UINT64 if some index needs it
  kRowNumber,  // INT32, or INT64 if some row needs it
  kSum,        // of 64 bits, signed, unsigned or a float, as the values are
  kAny,        // an input: any type; an output: the type of the input that it is made of
};

/// An input, named like the field of the operator's request that it fills.
struct InputTensor {
  const char* name;
  TensorType type;
  bool is_optional = false;  // descriptions leave it out
  /// A repeated field: the inputs are name_0, name_1 and so on, at least two.
  bool is_repeated = false;
};

struct OutputTensor {
  const char* name;
  TensorType type;
  ResultRole role;
  const char* destination;  // the field of the operator's request
};

/// A request message of an operator.
struct RequestKind {
  std::unique_ptr<google::protobuf::Message> (*make)();
  absl::StatusOr<std::unique_ptr<Operation>> (*validate)(const google::protobuf::Message& request, const Limits& limits,
                                                         Places& places);
  const v1::RequestOptions& (*options)(const google::protobuf::Message& request);
  v1::RequestOptions* (*mutable_options)(google::protobuf::Message* request);
};

/// The message of an operator that has models.
RequestKind RequestKindOf(Operator op);

/// The models of one operator.
struct ModelFamily {
  const char* name;
  Operator op;
  std::vector<InputTensor> inputs;
  std::vector<OutputTensor> outputs;
  /// Parameters of requests, named like fields of the operator's request; `descending` sets the order.
  std::vector<const char*> parameters;
  /// Sets the fields of the operator's request that are the same in all requests. Null: none.
  void (*preset)(google::protobuf::Message* request) = nullptr;
  RequestKind request = RequestKindOf(op);
};

struct Model {
  std::string name;
  const ModelFamily* family;
  v1::ElementType type;
  int index;  // in Models()
};

/// The type that a tensor has by default. Values may have any type; this is that of the model.
const Datatype& DefaultType(const Model& model, TensorType type);

/// All models. They exist as long as the process.
absl::Span<const Model> Models();

/// NOT_FOUND with the `field` for an unknown name or version.
absl::StatusOr<const Model*> FindModel(absl::string_view name, absl::string_view version, absl::string_view field);

inference::ModelMetadataResponse MetadataOf(const Model& model);
inference::ModelConfig ConfigOf(const Model& model);

}  // namespace corank

#endif  // CORANK_SERVER_KSERVE_MODELS_H_
