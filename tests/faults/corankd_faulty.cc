// corankd with one change: an engine that requests can break (breaking_engine.h).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/process.h"
#include "tests/faults/breaking_engine.h"

int main(int argc, char** argv) {
  return corank::RunCorankd(
      std::vector<std::string>(argv + 1, argv + argc),
      [](std::unique_ptr<corank::Engine> engine) { return corank::testing::Breaking(std::move(engine)); });
}
