// Times the C++ standard library on a file of raw little-endian keys, single-threaded, in memory:
//
//   std_sort_time keys|pairs|indices float32|uint16|uint32 FILE REPEATS
//
//   keys     std::sort of the keys
//   pairs    std::stable_sort of the keys, each with its 4-byte row number
//   indices  std::stable_sort of the 4-byte row numbers by the keys they stand for
//
// Prints the seconds of each repeat as a JSON array. Copying the input is not timed. NaNs come last.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

template <typename Key>
bool Before(Key a, Key b) {
  return a < b || (a == a && b != b);
}

template <typename Fn>
double Seconds(Fn&& fn) {
  const auto start = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <typename Key>
double SortOnce(const std::string& what, const std::vector<Key>& keys) {
  if (what == "keys") {
    std::vector<Key> copy = keys;
    return Seconds([&] { std::sort(copy.begin(), copy.end(), Before<Key>); });
  }
  std::vector<uint32_t> rows(keys.size());
  std::iota(rows.begin(), rows.end(), 0U);
  if (what == "indices") {
    return Seconds([&] {
      std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return Before(keys[a], keys[b]); });
    });
  }
  std::vector<std::pair<Key, uint32_t>> pairs(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) pairs[i] = {keys[i], rows[i]};
  return Seconds(
      [&] { std::stable_sort(pairs.begin(), pairs.end(), [](auto& a, auto& b) { return Before(a.first, b.first); }); });
}

template <typename Key>
int Run(const std::string& what, const std::string& path, int repeats) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    std::fprintf(stderr, "std_sort_time: cannot read %s\n", path.c_str());
    return 1;
  }
  std::vector<Key> keys(static_cast<size_t>(file.tellg()) / sizeof(Key));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(keys.data()), static_cast<std::streamsize>(keys.size() * sizeof(Key)));
  std::string out;
  for (int i = 0; i < repeats; ++i) {
    out += (i == 0 ? "[" : ", ") + std::to_string(SortOnce(what, keys));
  }
  std::printf("%s]\n", out.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  const int repeats = argc == 5 ? std::atoi(argv[4]) : 0;
  if (repeats > 0 && (arguments[1] == "keys" || arguments[1] == "pairs" || arguments[1] == "indices")) {
    if (arguments[2] == "float32") return Run<float>(arguments[1], arguments[3], repeats);
    if (arguments[2] == "uint16") return Run<uint16_t>(arguments[1], arguments[3], repeats);
    if (arguments[2] == "uint32") return Run<uint32_t>(arguments[1], arguments[3], repeats);
  }
  std::fprintf(stderr, "usage: std_sort_time keys|pairs|indices float32|uint16|uint32 FILE REPEATS\n");
  return 2;
}
