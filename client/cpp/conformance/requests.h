// Makes requests of the client of JSON, and calls them.
#ifndef CORANK_CLIENT_CPP_CONFORMANCE_REQUESTS_H_
#define CORANK_CLIENT_CPP_CONFORMANCE_REQUESTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/conformance/json_arrays.h"
#include "corank/client.h"

namespace corank::conformance {

/// A feature that the client lacks, which a vector needs. Empty: none.
using Lacking = std::string;

/// An operator with the names of its results, in the order of client::OperatorResult::arrays. The results of column i
/// of a sort of columns are named "columns": its data, the offsets of strings, and its validity.
struct Operator {
  struct Column {
    bool is_string, may_be_null;
  };
  client::AnyRequest request;
  std::vector<std::string> results;
  std::vector<Column> columns;
  Lacking lacking;
  absl::Status refused;  // by the client, before there is a request
};

/// The operator of a `call`, or of an operation of a `chain`. Its views borrow from `storage`.
Operator OperatorOf(const Json& call, Storage& storage);

/// Says where a result goes: under a name on the server, or to a later operation of the chain.
void Place(Operator& made, const std::string& result, client::Output output);

/// What a call returned.
struct Answer {
  std::vector<client::Array> arrays;  // in the order of Operator::results
  client::RequestStats stats;
  std::string algorithm;  // empty if the operator has no choice
};

/// Calls an operator by its own method of the client.
absl::StatusOr<Answer> Call(const Client& client, const Operator& made, const client::CallOptions& options);

/// The results of an operator by name.
Json ResultsJson(const Operator& made, const std::vector<client::Array>& arrays, const Json& keep, bool digest);

}  // namespace corank::conformance

#endif  // CORANK_CLIENT_CPP_CONFORMANCE_REQUESTS_H_
