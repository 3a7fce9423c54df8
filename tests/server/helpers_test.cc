// Helpers, compared with the bytes of the slices.
#include "server/rpc/helpers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/impl/grpc_library.h"
#include "grpcpp/support/slice.h"

namespace corank {
namespace {

const grpc::internal::GrpcLibraryInitializer kGrpc;  // slices need it, and nothing else here provides it

constexpr int64_t kPiece = Helpers::kPieceBytes;
constexpr int64_t kLeast = Helpers::kLeastBytes;

/// Bytes that differ from those at the distance of a piece, a slice or a page.
std::string Bytes(int64_t count) {
  std::string bytes(static_cast<size_t>(count), '\0');
  uint32_t state = 12345;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

std::vector<grpc::Slice> Sliced(const std::string& bytes, size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t begin = 0; begin < bytes.size(); begin += slice_bytes) {
    slices.emplace_back(bytes.data() + begin, std::min(slice_bytes, bytes.size() - begin));
  }
  return slices;
}

/// Copies message[offset, offset + bytes) between two guards and checks all bytes.
void ExpectCopied(Helpers& helpers, const std::string& message, const std::vector<grpc::Slice>& slices, int64_t offset,
                  int64_t bytes) {
  constexpr size_t kGuard = 64;
  std::string to(static_cast<size_t>(bytes) + 2 * kGuard, '#');
  helpers.CopyRange(slices, offset, bytes, to.data() + kGuard);
  const std::string guard(kGuard, '#');
  const std::string expected = guard + message.substr(static_cast<size_t>(offset), static_cast<size_t>(bytes)) + guard;
  EXPECT_TRUE(to == expected) << bytes << " bytes from " << offset;
}

TEST(Helpers, CopyWhatTheSlicesHold) {
  const std::string message = Bytes(4 * kLeast + 16384);
  for (int count : {0, 1, 3}) {
    Helpers helpers(count);
    for (size_t slice_bytes : {size_t{16384}, size_t{70001}, message.size()}) {
      const std::vector<grpc::Slice> slices = Sliced(message, slice_bytes);
      for (int64_t offset : {int64_t{0}, int64_t{7}, int64_t{16384}}) {
        for (int64_t bytes : {int64_t{0}, int64_t{1}, kPiece, kLeast - 1, kLeast, kLeast + 1, 3 * kPiece, 4 * kLeast}) {
          ExpectCopied(helpers, message, slices, offset, bytes);
        }
      }
    }
  }
}

TEST(Helpers, HelpManyAtATime) {
  const std::string message = Bytes(3 * kLeast + 5);
  const std::vector<grpc::Slice> slices = Sliced(message, 16384);
  Helpers helpers(2);
  std::vector<std::thread> callers;
  for (int64_t caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&, caller] {
      for (int64_t turn = 0; turn < 20; ++turn) {
        ExpectCopied(helpers, message, slices, caller, 2 * kLeast + 1000 * turn + caller);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(Helpers, DoAllThatIsAskedOfThem) {
  for (int count : {0, 1, 3}) {
    std::atomic<int> done{0};
    {
      Helpers helpers(count);
      for (int i = 0; i < 1000; ++i) helpers.Run([&done] { ++done; });
    }
    EXPECT_EQ(done, 1000);
  }
}

TEST(Helpers, LeaveSmallMachinesAlone) {
  EXPECT_EQ(Helpers::CountFor(1), 0);
  EXPECT_EQ(Helpers::CountFor(2), 0);
  EXPECT_EQ(Helpers::CountFor(4), 2);
  EXPECT_EQ(Helpers::CountFor(16), 8);
  EXPECT_EQ(Helpers::CountFor(192), 8);
}

}  // namespace
}  // namespace corank
