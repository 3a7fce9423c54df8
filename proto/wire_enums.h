// Converts the algorithms of kernels/common to enums of corank.v1 and back. No other file pairs them.
#ifndef CORANK_PROTO_WIRE_ENUMS_H_
#define CORANK_PROTO_WIRE_ENUMS_H_

#include <optional>

#include "corank/v1/operators.pb.h"
#include "kernels/common/types.h"

namespace corank {

v1::SortAlgorithm ToWire(SortAlgorithm algorithm);
v1::MergeAlgorithm ToWire(MergeAlgorithm algorithm);

/// UNSPECIFIED becomes AUTO. Returns nullopt for a number that this version does not know.
std::optional<SortAlgorithm> FromWire(v1::SortAlgorithm algorithm);
std::optional<MergeAlgorithm> FromWire(v1::MergeAlgorithm algorithm);

}  // namespace corank

#endif  // CORANK_PROTO_WIRE_ENUMS_H_
