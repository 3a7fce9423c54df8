// The name that somebody meant.
#ifndef CORANK_SERVER_CONFIG_SUGGEST_H_
#define CORANK_SERVER_CONFIG_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace corank {

/// Letters to add, drop, replace or swap with their neighbour until one name is the other.
int EditDistance(absl::string_view a, absl::string_view b);

/// The candidate nearest to `name`, the first of several; empty where none is near: a third of its letters differ.
std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates);

}  // namespace corank

#endif  // CORANK_SERVER_CONFIG_SUGGEST_H_
