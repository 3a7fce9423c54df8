// Moves the arrays of a request, of any operator, out of its message.
#ifndef CORANK_TESTS_FAULTS_PLACED_REQUEST_H_
#define CORANK_TESTS_FAULTS_PLACED_REQUEST_H_

#include <functional>
#include <string>

#include "corank/v1/array.pb.h"
#include "corank/v1/corank_service.pb.h"
#include "google/protobuf/message.h"
#include "tests/server/good_requests.h"

namespace corank::testing {

/// Calls `input` with every input array of a request, and `output` with the destination of every requested result.
/// Arrays are inline before.
void Place(google::protobuf::Message* request, const std::function<void(v1::Array*)>& input,
           const std::function<void(v1::Destination*)>& output);

/// Number of elements of an inline array, and bytes of each.
int64_t ElementBytes(const v1::Array& array);
int64_t InlineCount(const v1::Array& array);

/// The request as an operation of a plan.
v1::Operation ToOperation(const AnyRequest& request);

/// The request as a message.
google::protobuf::Message* Message(AnyRequest& request);

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_PLACED_REQUEST_H_
