// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/asking.h"

#include <algorithm>

namespace streamsan::judge {

void Asking::ask(std::uint64_t function_id, Function& function) {
  if (function.waiting || function.wanted.empty() || function.asks == kMostAsks) return;
  ++function.asks;
  function.waiting = true;
  ask_(function_id);
}

void Asking::want(std::uint64_t function_id, ordering::SiteId site) {
  if (!ask_) return;
  Function& function = functions_[function_id];
  if (function.asks == kMostAsks) return;
  auto& wanted = function.wanted;
  if (wanted.size() < kMostSites && std::find(wanted.begin(), wanted.end(), site) == wanted.end()) {
    wanted.push_back(site);
  }
  ask(function_id, function);
}

void Asking::measured(std::uint64_t function_id, ordering::SiteId site) {
  Function* function = functions_.find(function_id);
  if (!function) return;
  function->waiting = false;
  std::erase(function->wanted, site);
  ask(function_id, *function);
}

}  // namespace streamsan::judge
