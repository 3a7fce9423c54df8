// Runs a fuzz target without a fuzzer: its seeds, the files of its corpus, and cheap mutations of both, always the
// same.
//
//   fuzz_NAME_replay --write-seeds=FOLDER    writes the seeds as files instead, for libFuzzer to start from
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <new>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/fuzz/fuzz_target.h"

namespace corank::fuzz {
namespace {

constexpr int kMutations = 4000;

void RunInput(const std::string& input) {
  // A copy of exact size, so that AddressSanitizer detects reads past the end.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::vector<std::string> Corpus() {
  std::vector<std::string> inputs = Seeds();
  for (const char* folder : {CORANK_FUZZ_CORPUS}) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      std::ifstream stream(file.path(), std::ios::binary);
      inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    }
  }
  return inputs;
}

TEST(Replay, EveryInputOfTheCorpus) {
  ASSERT_FALSE(Seeds().empty());
  for (const std::string& input : Corpus()) RunInput(input);
}

TEST(Replay, InputsThatAreCutOffAnywhere) {
  for (const std::string& input : Seeds()) {
    const size_t step = std::max<size_t>(1, input.size() / 64);
    for (size_t size = 0; size < input.size(); size += step) RunInput(input.substr(0, size));
  }
}

TEST(Replay, InputsWithChangedBytes) {
  const std::vector<std::string> inputs = Corpus();
  std::mt19937 random(20260101);
  for (int i = 0; i < kMutations; ++i) {
    std::string input = inputs[random() % inputs.size()];
    for (unsigned changes = random() % 4 + 1; changes > 0 && !input.empty(); --changes) {
      const size_t at = random() % input.size();
      switch (random() % 4) {
        case 0:
          input[at] = static_cast<char>(random());
          break;
        case 1:
          input[at] = static_cast<char>(input[at] ^ 1 << random() % 8);
          break;
        case 2:
          input.erase(at, random() % 8 + 1);
          break;
        default:
          input.insert(at, inputs[random() % inputs.size()].substr(0, random() % 16));
      }
    }
    RunInput(input);
  }
}

int WriteSeeds(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::vector<std::string> seeds = Seeds();
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream(absl::StrCat(folder, "/seed-", i), std::ios::binary) << seeds[i];
  }
  std::cout << seeds.size() << " seeds in " << folder << "\n";
  return 0;
}

}  // namespace
}  // namespace corank::fuzz

// Inputs are small, so none may reserve this much: a message must not get memory for a length that it only claims.
// scripts/fuzz.sh sets the same limit for libFuzzer.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  constexpr size_t kMost = size_t{64} << 20;
  if (bytes > kMost) {
    std::fprintf(stderr, "one allocation of %zu bytes\n", bytes);
    std::abort();
  }
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  absl::string_view argument = argc > 1 ? argv[1] : "";
  if (absl::ConsumePrefix(&argument, "--write-seeds=")) return corank::fuzz::WriteSeeds(std::string(argument));
  return RUN_ALL_TESTS();
}
