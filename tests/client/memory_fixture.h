// A client of a puppet server with a MemoryService.
#ifndef CORANK_TESTS_CLIENT_MEMORY_FIXTURE_H_
#define CORANK_TESTS_CLIENT_MEMORY_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "corank/client.h"
#include "tests/client/puppet_memory.h"
#include "tests/client/puppet_service.h"
#include "tests/client/puppet_sort.h"

namespace corank::client {

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() {
    service_.info = InfoOfAllPlaces();
    service_.on_sort = [this](grpc::ServerContext* context, const v1::SortRequest& request,
                              v1::SortResponse* response) {
      {
        absl::MutexLock lock(&mutex_);  // serialises concurrent calls
        seen_ = request;
      }
      return StandInSort(context, request, response);
    };
  }
  Client Connect(ClientOptions options = {}) {
    options.address = server_.address();
    absl::StatusOr<Client> client = Client::Create(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  static std::vector<uint32_t> Keys(size_t count) {
    std::mt19937 random(1);
    std::vector<uint32_t> keys(count);
    for (uint32_t& key : keys) key = random();
    return keys;
  }
  static std::vector<uint32_t> Sorted(std::vector<uint32_t> keys) {
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  PuppetMemory memory_;
  PuppetService service_;
  PuppetServer server_{&service_, &memory_};
  absl::Mutex mutex_;
  v1::SortRequest seen_;  // read only while no call runs
};

}  // namespace corank::client

#endif  // CORANK_TESTS_CLIENT_MEMORY_FIXTURE_H_
