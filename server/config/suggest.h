// Guesses the intended name behind a misspelled one.
#ifndef CORANK_SERVER_CONFIG_SUGGEST_H_
#define CORANK_SERVER_CONFIG_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace corank {

/// Number of letters to add, drop, replace or swap with a neighbour to turn one name into the other.
int EditDistance(absl::string_view a, absl::string_view b);

/// The candidate closest to `name`, the first of several; empty if more than a third of the letters differ.
std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates);

}  // namespace corank

#endif  // CORANK_SERVER_CONFIG_SUGGEST_H_
