// Reads the requests of tests/requests.json, which tests of every layer share.
//
// A good request is in protobuf's JSON, and so is its answer, without stats, algorithm and counts. A bad one is a good
// one with a change, a JSON merge patch (RFC 7396): null removes a field, objects change field by field, `name[i]`
// changes element i of a list. Both may hold
//   {"int32": [1, 2]}                an array of numbers, for its type and bytes; numbers above 2^53 are strings
//   {"times": 9, "of": value}        in a list: the value nine times
//   {"text": "ab"}, {"bytes": 9}     for the bytes of a field: these, or nine bytes
#ifndef CORANK_TESTS_SERVER_REQUEST_TABLE_H_
#define CORANK_TESTS_SERVER_REQUEST_TABLE_H_

#include <string>

#include "google/protobuf/message.h"
#include "google/protobuf/struct.pb.h"

namespace corank::testing {

/// All of the table. Aborts if it cannot be read.
const google::protobuf::Struct& RequestTable();

/// Fills a request of the table's JSON. Aborts where that is not one.
void ReadRequest(const google::protobuf::Value& json, google::protobuf::Message* request);

/// Changes JSON by a merge patch.
void Patch(const google::protobuf::Value& change, google::protobuf::Value* json);

/// The good request of this name, in JSON.
const google::protobuf::Value& GoodJson(const std::string& name);

/// Fills the response to a good request as the table has it.
void ReadAnswer(const google::protobuf::Message& request, google::protobuf::Message* response);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_REQUEST_TABLE_H_
