// Requests that the server must refuse, with the status and the field that it must name. The unit test of validate and
// the test of the whole server share this table.
#ifndef CORANK_TESTS_SERVER_BAD_REQUESTS_H_
#define CORANK_TESTS_SERVER_BAD_REQUESTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/plan/parse/validate.h"
#include "tests/server/good_requests.h"

namespace corank::testing {

struct BadRequest {
  std::string name;
  AnyRequest request;
  absl::StatusCode code;
  std::string field;
};

/// The limits that the table assumes.
Limits TableLimits();

/// Refused by validate, before the engine sees them.
std::vector<BadRequest> MalformedRequests();

/// Well-formed requests with data that the engine finds to be wrong.
std::vector<BadRequest> FaultyRequests();

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_BAD_REQUESTS_H_
