// A call whose arrays travel in one message each way.
#ifndef CORANK_CLIENT_CPP_MESSAGE_CALL_H_
#define CORANK_CLIENT_CPP_MESSAGE_CALL_H_

#include "absl/status/statusor.h"
#include "client/cpp/connection.h"
#include "client/cpp/job.h"

namespace corank::client {

/// Sends the job, as often as it takes, and takes its results. The payload never passes through protobuf: it is copied
/// once into what gRPC sends, and once out of what gRPC received. Fills *result, less the results' bytes.
absl::StatusOr<CallCost> CallWithMessage(Connection* connection, Job* job, absl::Time deadline, const CallOptions& call,
                                         Repeat repeat, v1::OperationResult* result);
/// The same, but the call's progress counts no bytes.
absl::StatusOr<CallCost> SendMessage(Connection* connection, Job* job, absl::Time deadline, const CallOptions& call,
                                     Repeat repeat, v1::OperationResult* result);

/// The type of an array of an answer. INTERNAL if the answer lacks it, or its type is not known, or its count is
/// missing although its bytes are not in the message.
absl::StatusOr<ElementType> CheckAnswer(const JobResult& result, const v1::Array* array);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_MESSAGE_CALL_H_
