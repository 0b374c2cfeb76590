// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels the judge wants measured, and how often it has asked.
//
// If a conflict is only possible because a kernel's bytes are inferred or learned, measuring both kernels at the two
// places, in one iteration of the program, decides it. But the judge can only ask for the next launch of a function, at
// whatever place that is. So it remembers the sites, and asks again after a measurement at another site of the
// function, until each site was measured.
//
// Measuring slows the program down, and a kernel may never be measurable. So it asks one question at a time for each
// function, and at most kMostAsks in all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "ordering/flat_map.h"
#include "ordering/types.h"

namespace streamsan::judge {

class Asking {
 public:
  static constexpr unsigned kMostAsks = 64;      ///< for each function
  static constexpr std::size_t kMostSites = 64;  ///< of one function that wait for a measurement
  /// Asks for the next launch of the function with this id in the trace.
  using Ask = std::function<void(std::uint64_t function_id)>;

  /// Without it nothing is asked.
  void ask_through(Ask ask) { ask_ = std::move(ask); }

  void want(std::uint64_t function_id, ordering::SiteId site);
  /// A launch of the function was measured at the site.
  void measured(std::uint64_t function_id, ordering::SiteId site);

 private:
  struct Function {
    unsigned asks = 0;
    bool waiting = false;  ///< asked, and nothing measured since
    std::vector<ordering::SiteId> wanted;
  };

  void ask(std::uint64_t function_id, Function& function);

  Ask ask_;
  ordering::FlatMap<Function> functions_;
};

}  // namespace streamsan::judge
