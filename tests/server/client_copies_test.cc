// The cost of the C++ client beside the server's: each array is copied once into memory that gRPC may keep, and once
// from gRPC's slices into the result. Protobuf would copy it twice more.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "corank/client.h"
#include "tests/server/doubles.h"
#include "tests/server/moved_bytes.h"
#include "tests/server/running_server.h"

namespace corank::testing {
namespace {

constexpr int kCalls = 20;
constexpr int64_t kArrayBytes = 1'200'000;

class ClientCopiesTest : public ::testing::TestWithParam<client::Place> {
 protected:
  ClientCopiesTest() {
    Server::Options options = TestOptions();
    options.streams.max_device_bytes = int64_t{64} << 20;  // one piece holds everything
    auto [puppet, engine] = MakePuppet();
    puppet_ = puppet;
    running_ = std::make_unique<RunningServer>(options, std::move(engine));
    client::ClientOptions client_options;
    client_options.address = running_->server().address();
    client_options.place = GetParam();
    client_options.connections = 1;
    absl::StatusOr<Client> client = Client::Create(client_options);
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = std::make_unique<Client>(*std::move(client));
  }

  // Measures calls that send and receive an array, and also send `offsets` numbers.
  void ExpectOneCopyAtEachEnd(int64_t offsets, const std::function<absl::Status(const Client&)>& call) {
    const Moved moved = MeasureMoved(*puppet_, kCalls, [&] {
      const absl::Status status = call(*client_);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(Eventually([this] { return running_->server().host_pool().bytes_in_use() == 0; }));
    });
    constexpr int64_t kHeads = 64 << 10, kHalfACopy = kArrayBytes / 2;
    EXPECT_EQ(moved.payload_bytes, kArrayBytes + 8 * offsets) << "into the result, and short arrays into pinned memory";
    EXPECT_LT(moved.copied_bytes, 2 * kArrayBytes + kHeads)
        << "into a message, and at most once on the way into pinned memory";
    EXPECT_LT(moved.allocated_bytes, 4 * kArrayBytes + kHalfACopy)
        << "a message, what gRPC reads at both ends, and the result";
  }

  PuppetEngine* puppet_ = nullptr;
  std::unique_ptr<RunningServer> running_;
  std::unique_ptr<Client> client_;
  const std::vector<int32_t> keys_ = std::vector<int32_t>(kArrayBytes / 4, 7);
};

INSTANTIATE_TEST_SUITE_P(Places, ClientCopiesTest, ::testing::Values(client::Place::kInline, client::Place::kStream),
                         [](const auto& place) { return place.param == client::Place::kInline ? "Inline" : "Stream"; });

TEST_P(ClientCopiesTest, KeysOfASort) {
  ExpectOneCopyAtEachEnd(0, [this](const Client& client) {
    const auto result = client.Sort(keys_);
    EXPECT_TRUE(result.ok() && result->keys == keys_);
    return result.status();
  });
}

TEST_P(ClientCopiesTest, SourceOfAGather) {
  const std::vector<int64_t> offsets = {0}, counts = {static_cast<int64_t>(keys_.size())};
  ExpectOneCopyAtEachEnd(2, [&](const Client& client) {
    const auto result = client.GatherIntervals(keys_, offsets, counts);
    EXPECT_TRUE(result.ok() && result->elements.size() == keys_.size());
    return result.status();
  });
}

}  // namespace
}  // namespace corank::testing
