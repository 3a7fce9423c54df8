// corankd.
#include <string>
#include <vector>

#include "server/process.h"

int main(int argc, char** argv) { return corank::RunCorankd(std::vector<std::string>(argv + 1, argv + argc)); }
