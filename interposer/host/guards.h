// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guards: protected pages of lent memory. The host's first touch of a guarded page faults; the handler (faults.h)
// records the touch and lets the host go on.
//
// Protecting pages does not disturb the GPU, which has its own translation (measured on an H200: pinned, registered and
// managed memory). It costs the host a system call for each run of pages, so few pages of a loan are guarded: the first
// and the last, and of long ones two in between that change from loan to loan. And the time that guards and touches
// take is limited to a share of the process's time (option host_guard_cost) after the first few milliseconds: a program
// that synchronises and reads in a tight loop is then sampled. With the option syncs, loans of up to kMostWhole are
// guarded as a whole, because only then does the absence of a touch prove that nobody used the buffer.
//
// All functions here are called under g_host_lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/host/host_memory.h"
#include "trace/pages.h"

namespace streamsan::recorder {

inline constexpr unsigned kMostGuarded = 4;
/// A loan that is no longer is guarded as a whole (option syncs): by one system call, but the kernel goes by its pages.
inline constexpr std::uint64_t kMostWhole = std::uint64_t{4} << 20;

/// The protected pages of one loan, in runs.
struct GuardedPages {
  struct Run {
    std::uint64_t begin;
    std::uint64_t end;
  };
  Run run[kMostGuarded] = {};
  unsigned count = 0;
  bool all = false;  ///< the loan has no bytes beside them

  /// Is one of them in [begin, end)?
  [[nodiscard]] bool has_in(std::uint64_t begin, std::uint64_t end) const {
    for (unsigned i = 0; i < count; ++i) {
      if (run[i].begin < end && begin < run[i].end) return true;
    }
    return false;
  }
};

enum class Protection : std::uint8_t { None, ReadOnly, Free };

/// Which pages of [begin, end), a part of the region, are to be guarded. `page`: their size.
GuardedPages choose_pages(const HostRegion& region, std::uint64_t begin, std::uint64_t end,
                          std::uint64_t page = page_bytes());
/// Protects whole pages. False: the kernel refused.
bool set_protection(std::uint64_t begin, std::uint64_t end, Protection protection);

/// Measures what guards cost, from its construction to its destruction.
class GuardTime {
 public:
  GuardTime();
  ~GuardTime();
  GuardTime(const GuardTime&) = delete;
  GuardTime& operator=(const GuardTime&) = delete;
  /// Is there time left for one more guard? If not, nothing is measured: otherwise a loop that lends often would use up
  /// what it is given by being refused, and never have a guard again.
  [[nodiscard]] bool affordable();

 private:
  std::uint64_t start_;
  bool counts_ = true;
};

/// The same, without measuring anything.
bool guards_are_affordable();

/// The share of the process's time begins to count now.
void start_guard_time();

}  // namespace streamsan::recorder
