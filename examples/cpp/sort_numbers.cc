// Sorts numbers on a corank server, prints them, and reads an error.
//
//   sort_numbers [HOST:PORT]
#include <iostream>
#include <vector>

#include "corank/client.h"

int main(int argc, char** argv) {
  corank::client::ClientOptions options = corank::client::OptionsFromEnvironment();
  if (argc > 1) options.address = argv[1];
  absl::StatusOr<corank::Client> client = corank::Client::Create(options);
  if (!client.ok()) {
    std::cerr << client.status() << '\n';
    return 1;
  }

  const std::vector<float> keys = {3, 1, 2};
  const auto sorted = client->Sort(keys);
  if (!sorted.ok()) {
    std::cerr << sorted.status() << '\n';
    return 1;
  }
  std::cout << "sorted:";
  for (const float key : sorted->keys) std::cout << ' ' << key;
  std::cout << '\n';

  // The server refuses this merge, because the second input is not sorted.
  const std::vector<std::vector<float>> inputs = {{1, 2, 3}, {9, 8}};
  const auto merged = client->Merge(inputs);
  if (merged.ok()) {
    std::cerr << "the server merged an unsorted input\n";
    return 1;
  }
  std::cout << "refused: " << corank::client::ViolatedField(merged.status()).value_or("no argument") << '\n'
            << "because: " << merged.status().message() << '\n';
  return 0;
}
