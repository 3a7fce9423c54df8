// One operator, ready to send: its message without the bytes of arrays, the arrays, and where its results go.
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
#include "corank/groups.h"
#include "corank/internal/result_buffer.h"
#include "corank/join.h"
#include "corank/operators.h"
#include "corank/rank.h"
#include "corank/select.h"
#include "corank/sets.h"
#include "corank/v1/corank_service.pb.h"

namespace corank::client {

/// An input array.
struct JobInput {
  v1::Array* array;     // in the job's message; type and count are set
  ArrayView view;       // borrows
  std::string field;    // its name in errors
  bool is_control;      // counts or offsets: the server reads them before the other arrays
  bool travels = true;  // its bytes go with the call, because they lie neither in a region nor on the server
};

/// Finds a result in the answer; null if the answer lacks it. `column`: JobResult::column.
using Finder = const v1::Array* (*)(const v1::OperationResult& result, int column);

/// A result array.
struct JobResult {
  std::string name;              // "keys"
  v1::Destination* destination;  // in the job's message
  Finder find;
  int column = 0;
  Output output;
  bool travels = true;                 // its bytes come with the answer
  ElementType type = KeyType::kUint8;  // for indices, as the contract says
  bool is_index = false;               // either type of indices is taken
  int element_bytes;                   // of the type
  int64_t max_count;                   // the most elements; -1 if the request is invalid, which the server reports
  bool is_exact = true;                // a valid request has max_count elements, and not fewer
  bool is_bounded = true;  // max_count follows from the sizes of inputs, not from numbers that the request claims
  ResultBuffer* buffer = nullptr;               // outlives the call
  std::unique_ptr<ResultBuffer> memory_buffer;  // wraps `buffer` if the output is memory

  int64_t max_bytes() const { return max_count < 0 ? 0 : max_count * element_bytes; }
  /// Where the result goes.
  ResultBuffer* target() const { return memory_buffer != nullptr ? memory_buffer.get() : buffer; }
};

/// The sum of two sizes, saturated. Neither is negative.
int64_t Saturated(int64_t a, int64_t b);

struct Job {
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  v1::Operation operation;
  std::vector<JobInput> inputs;
  std::vector<JobResult> results;

  /// Bytes of the inputs that travel with the call, and the most bytes of the results that travel with the answer;
  /// saturated.
  int64_t input_bytes() const;
  int64_t result_bytes() const;
  /// The part of result_bytes that the inputs do not bound.
  int64_t claimed_bytes() const;
  /// Bytes of all inputs, wherever they lie.
  int64_t read_bytes() const;
  /// Sets the buffers of the results, in their order; null for a result that the server stores.
  void SetBuffers(const std::vector<ResultBuffer*>& buffers);
};

/// Whether the result's Output overlaps this input.
bool IsOver(const JobResult& result, const JobInput& input);
/// Whether the result's Output overlaps any input of any of the jobs.
bool IsOverAnyInput(const JobResult& result, absl::Span<Job* const> jobs);

// The parts of MakeJob.

/// Adds an input: `array` of the job's message, which is named `field` in errors.
void AddInput(Job* job, const ArrayView& view, v1::Array* array, std::string field, bool is_control = false);
/// Adds a result of at most `max_count` elements.
JobResult& AddResult(Job* job, const char* name, v1::Destination* destination, Finder find, Output output,
                     ElementType type, int64_t max_count, bool is_index = false);
int64_t RowsOf(const ColumnView& column);
/// Adds the arrays and options of a key column. Options with their default values stay unset.
void AddColumn(Job* job, const ColumnView& column, const std::string& field, v1::KeyColumn* to);
/// The type of indices up to this one.
ElementType IndexType(int64_t max_index);

// Results are in the order of the response's fields. For columns, the data, offsets and validity of each come first.
std::unique_ptr<Job> MakeJob(const SortRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const ColumnSortRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const MergeRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const ExpandRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const MoveRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const GatherRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const ScatterRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const LoadBalanceRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const SearchRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const ColumnSearchRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const GroupRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const CombineSetsRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const JoinRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const SelectRequest& request, const CallOptions& call);
std::unique_ptr<Job> MakeJob(const RankRequest& request, const CallOptions& call);

/// INVALID_ARGUMENT, naming `field`, if the view is of a result that went to an Output.
absl::Status CheckHere(absl::string_view field, const ArrayView& view);
/// INVALID_ARGUMENT if an input is the view of a placed result or not a whole number of elements, or if an Output in
/// the caller's memory is smaller than its result.
absl::Status CheckJob(const Job& job);

/// The message of the operator itself, such as the SortRequest.
google::protobuf::Message* OperatorMessage(Job* job);
/// "/corank.v1.CorankService/Sort".
const char* UnaryMethod(const Job& job);
/// The operator's response in `result`, as its unary method returns it. Made if it is missing.
google::protobuf::Message* OperatorResponse(const Job& job, v1::OperationResult* result);
/// Whether `result` belongs to the job's operator.
bool IsResultOf(const v1::OperationResult& result, const Job& job);
/// Null if the result belongs to no operator.
const v1::RequestStats* StatsOf(const v1::OperationResult& result);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_JOB_H_
