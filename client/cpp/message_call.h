// A call whose arrays travel in one message each way.
#ifndef CORANK_CLIENT_CPP_MESSAGE_CALL_H_
#define CORANK_CLIENT_CPP_MESSAGE_CALL_H_

#include "absl/status/statusor.h"
#include "client/cpp/connection.h"
#include "client/cpp/job.h"

namespace corank::client {

/// Sends the job, with retries, and receives its results. Payloads bypass protobuf: the client copies them once into
/// the buffers that gRPC sends, and once out of the buffers that gRPC received. Fills *result, without the arrays'
/// bytes.
absl::StatusOr<CallCost> CallWithMessage(Connection* connection, Job* job, absl::Time deadline, const CallOptions& call,
                                         Repeat repeat, v1::OperationResult* result);
/// The same without counting bytes in the call's progress.
absl::StatusOr<CallCost> SendMessage(Connection* connection, Job* job, absl::Time deadline, const CallOptions& call,
                                     Repeat repeat, v1::OperationResult* result);

/// The type of an array in an answer. INTERNAL if the array is missing, its type is unknown, or it went elsewhere and
/// has no count.
absl::StatusOr<ElementType> CheckAnswer(const JobResult& result, const v1::Array* array);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_MESSAGE_CALL_H_
