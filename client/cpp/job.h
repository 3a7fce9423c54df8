// One operator made ready to be sent: its message without the bytes of arrays, where these come from, and where its
// results go.
#ifndef CORANK_CLIENT_CPP_JOB_H_
#define CORANK_CLIENT_CPP_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "corank/columns.h"
#include "corank/internal/result_buffer.h"
#include "corank/operators.h"
#include "corank/v1/corank_service.pb.h"

namespace corank::client {

/// An array of the request.
struct JobInput {
  v1::Array* array;     // in the job's message; type and count are set
  ArrayView view;       // borrows
  std::string field;    // as errors name it
  bool is_control;      // counts and offsets: the server wants them before the others
  bool travels = true;  // its bytes go with the call: they lie neither in a region nor on the server
};

/// An array of the answer.
struct JobResult {
  std::string name;                                                         // "keys"
  v1::Destination* destination;                                             // in the job's message
  const v1::Array* (*find)(const v1::OperationResult& result, int column);  // null if the answer lacks it
  int column = 0;
  Output output;
  bool travels = true;     // its bytes come with the answer
  int element_bytes;       // of indices: what the contract says
  int64_t max_count;       // elements at most; -1 if the request itself is wrong, for the server to say
  bool is_bounded = true;  // max_count follows from the number of elements sent, not from numbers in the request
  ResultBuffer* buffer = nullptr;               // outlives the call
  std::unique_ptr<ResultBuffer> memory_buffer;  // in front of `buffer` where the output is memory

  int64_t max_bytes() const { return max_count < 0 ? 0 : max_count * element_bytes; }
  /// Takes the result: into memory, or as a note of where it is.
  ResultBuffer* target() const { return memory_buffer != nullptr ? memory_buffer.get() : buffer; }
};

/// Of sizes, none negative: their sum, or the greatest number.
int64_t Saturated(int64_t a, int64_t b);

struct Job {
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  v1::Operation operation;
  std::vector<JobInput> inputs;
  std::vector<JobResult> results;

  /// Bytes of the inputs that travel with the call, and bytes that the results may have that travel with the answer;
  /// the greatest number where that is not known.
  int64_t input_bytes() const;
  int64_t result_bytes() const;
  /// Of the latter, those of results that are not bounded by the inputs.
  int64_t claimed_bytes() const;
  /// Bytes of all inputs, wherever they lie.
  int64_t read_bytes() const;
  /// Names the buffers of the results, in their order; null for one that is kept on the server.
  void SetBuffers(const std::vector<ResultBuffer*>& buffers);
};

/// Whether the caller's memory that the result goes to shares bytes with this input.
bool IsOver(const JobResult& result, const JobInput& input);
/// The same with any input of any of the jobs.
bool IsOverAnyInput(const JobResult& result, absl::Span<Job* const> jobs);

// The results are in the order of the response's fields; of columns, data and offsets of each in turn come first.
std::unique_ptr<Job> MakeJob(const SortRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const ColumnSortRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const MergeRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const ExpandRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const MoveRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const GatherRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const ScatterRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const LoadBalanceRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const SearchRequest& request, const CallOptions& call);

/// INVALID_ARGUMENT if the view is one of a result that is elsewhere; `field` is its name.
absl::Status CheckHere(absl::string_view field, const ArrayView& view);
/// INVALID_ARGUMENT if an array of the request is not here or not a whole number of elements, or if an Output of the
/// caller's memory holds less than the result has.
absl::Status CheckJob(const Job& job);

/// The message of the operator itself, such as the SortRequest.
google::protobuf::Message* OperatorMessage(Job* job);
/// "/corank.v1.CorankService/Sort".
const char* UnaryMethod(const Job& job);
/// The operator's response in `result`, made if it is not there: as the unary method returns it.
google::protobuf::Message* OperatorResponse(const Job& job, v1::OperationResult* result);
/// Whether `result` is of the job's operator.
bool IsResultOf(const v1::OperationResult& result, const Job& job);
/// Null if the result is of no operator.
const v1::RequestStats* StatsOf(const v1::OperationResult& result);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_JOB_H_
