// Bytes from the wire, for each operator: parse, validate, execute, respond.
//
// Input: operator, size of slices, bytes of the request.
#include <variant>

#include "tests/fuzz/answers.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/world.h"
#include "tests/server/bad_requests.h"

namespace corank::fuzz {

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  const auto add = [&seeds](const testing::AnyRequest& any) {
    const std::string bytes = std::visit([](const auto& request) { return request.SerializeAsString(); }, any);
    if (bytes.size() < 4096) seeds.push_back({static_cast<char>(any.index()), '\x07'}), seeds.back() += bytes;
  };
  for (const testing::AnyRequest& request : testing::GoodRequests()) add(request);
  for (const testing::BadRequest& bad : testing::MalformedRequests()) add(bad.request);
  for (const testing::BadRequest& bad : testing::FaultyRequests()) add(bad.request);
  // Places outside the message.
  v1::SortRequest sort = testing::GoodSort();
  sort.mutable_keys()->mutable_stored()->set_name("a");
  sort.mutable_keys_destination()->mutable_stored()->set_name("b");
  add(sort);
  sort.mutable_keys()->set_count(7);
  sort.mutable_keys()->mutable_shared_memory()->set_region("r");
  sort.mutable_keys_destination()->mutable_shared_memory()->set_region("r");
  sort.mutable_keys_destination()->mutable_shared_memory()->set_offset_bytes(64);
  add(sort);
  v1::SearchRequest search = testing::GoodSearch();
  search.mutable_haystack()->mutable_stored()->set_name("s");
  add(search);
  return seeds;
}

}  // namespace corank::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  corank::fuzz::Input input(data, size);
  const int op = input.Choice(corank::fuzz::kOperators);
  const uint8_t cuts = input.Byte();
  corank::fuzz::RunRequestBytes(op, input.Rest(), cuts);
  return 0;
}
