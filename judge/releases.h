// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that went back to their pool while a stream that the pool does not know of may still use them, until it is
// clear whether that could do harm.
//
// A block belongs to one stream, its owner: the pool hands it out again for work that follows in the owner. So a use in
// another stream is harmless if the owner waits for it before the owner does anything else. Programs that work on a
// side stream in turns begin each turn with such a wait (PyTorch: `side.wait_stream(main)`; torch.compile's warm-up
// does so), and what a turn made may go back before. The hazard of such a release is withdrawn when the owner waits.
//
// It stands if the owner is given work, or hands the block out, before it waits; and if it does neither until the end.
// A wait of the host alone withdraws nothing: by then the pool could have handed the block out to any call of the
// program. (If the owner waits for any event afterwards it is behind what the host knew, and the release is withdrawn.)
#pragma once

#include <cstdint>
#include <vector>

#include "ordering/model.h"

namespace streamsan::judge {

class Releases {
 public:
  /// A block of `owner` went back. `use`: not before the use that is in doubt. `kept`: the hazard, as Hazards numbers
  /// them.
  void add(ordering::StreamId owner, ordering::Moment use, std::uint32_t kept);
  [[nodiscard]] bool any() const { return !open_.empty(); }
  /// The owner was given work, or one of its blocks was handed out: what is open of it stands.
  void acted(ordering::StreamId owner);
  /// The owner has waited for an event. Calls withdraw(kept) for each release that is thereby harmless.
  template <typename Withdraw>
  void waited(ordering::StreamId owner, const ordering::Model& model, Withdraw withdraw) {
    std::erase_if(open_, [&](const Open& each) {
      const bool harmless = each.owner == owner && model.is_after(owner, each.use);
      if (harmless) withdraw(each.kept);
      return harmless;
    });
  }

 private:
  struct Open {
    ordering::StreamId owner{};
    ordering::Moment use;
    std::uint32_t kept = 0;
  };
  /// The oldest beyond this number stand. More are open only of programs that free a lot and wait for nothing.
  static constexpr std::size_t kMost = 4096;

  std::vector<Open> open_;
};

}  // namespace streamsan::judge
