// A request whose arrays lie elsewhere than in its message, whatever its operator is.
#ifndef CORANK_TESTS_FAULTS_PLACED_REQUEST_H_
#define CORANK_TESTS_FAULTS_PLACED_REQUEST_H_

#include <functional>
#include <string>

#include "corank/v1/array.pb.h"
#include "corank/v1/corank_service.pb.h"
#include "google/protobuf/message.h"
#include "tests/server/good_requests.h"

namespace corank::testing {

/// Hands every input array of a request, and the destination of every result that it asks for, to who puts them
/// elsewhere. Arrays are inline before.
void Place(google::protobuf::Message* request, const std::function<void(v1::Array*)>& input,
           const std::function<void(v1::Destination*)>& output);

/// Elements of an inline array, and bytes of each.
int64_t ElementBytes(const v1::Array& array);
int64_t InlineCount(const v1::Array& array);

/// The request as an operation of a plan.
v1::Operation ToOperation(const AnyRequest& request);

/// The request as a message.
google::protobuf::Message* Message(AnyRequest& request);

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_PLACED_REQUEST_H_
