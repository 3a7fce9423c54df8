// The arrays and destinations of any message of corank.v1, for test doubles that treat all operators alike.
#ifndef CORANK_TESTS_CLIENT_PUPPET_ARRAYS_H_
#define CORANK_TESTS_CLIENT_PUPPET_ARRAYS_H_

#include <functional>
#include <utility>
#include <vector>

#include "corank/v1/corank_service.pb.h"

namespace corank::client {

/// Bytes of one element.
int64_t ElementBytes(const v1::Array& array);

/// All arrays of a request or response that are set, at any depth.
std::vector<v1::Array*> ArraysOf(google::protobuf::Message* message);

/// The arrays of a response, each with its destination in the request.
std::vector<std::pair<v1::Array*, const v1::Destination*>> ResultsOf(const google::protobuf::Message& request,
                                                                     google::protobuf::Message* response);

/// The operator's own message in an Operation or an OperationResult, created if necessary. `number`: its field number.
google::protobuf::Message* InnerMessage(google::protobuf::Message* operation, int number);

}  // namespace corank::client

#endif  // CORANK_TESTS_CLIENT_PUPPET_ARRAYS_H_
