// Datatypes and typed contents of the Open Inference Protocol.
#ifndef CORANK_SERVER_KSERVE_TENSORS_H_
#define CORANK_SERVER_KSERVE_TENSORS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "corank/v1/array.pb.h"
#include "inference/grpc_service.pb.h"

namespace corank {

/// A type with its names.
struct Datatype {
  v1::ElementType type;
  const char* name;    // such as "FP32"
  const char* suffix;  // of models, such as "fp32"
  inference::DataType config;
  int bytes;
};

/// All types that keys may have.
absl::Span<const Datatype> Datatypes();
/// The type, which is one of Datatypes().
const Datatype& DatatypeOf(v1::ElementType type);
/// Null: no such type.
const Datatype* FindDatatype(absl::string_view name);

/// The elements of typed contents as little-endian bytes. INVALID_ARGUMENT, with the `field`: the type has no typed
/// contents, the elements are in the wrong list, or one does not fit the type.
absl::StatusOr<std::string> PackContents(const inference::InferTensorContents& contents, const Datatype& type,
                                         absl::string_view field);

}  // namespace corank

#endif  // CORANK_SERVER_KSERVE_TENSORS_H_
