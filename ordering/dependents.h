// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that begin before the one in front of them in their stream has ended (R-LCH-02: programmatic dependent
// launch).
//
// Two sets say all there is to know of such a kernel B: the kernels of its stream that may still be running
//   began(B)   when its first instruction runs
//   ended(B)   behind its wait (griddepcontrol.wait), and so when it ends
// With A the kernel right in front of B:
//   began(B) = {A} + (A triggers before it waits ? began(A) : ended(A))
//   ended(B) = B waits ? ended(A) : began(B)
// B begins when all blocks of A have triggered or ended, so at least what was over by then is over. Its wait is for the
// whole of A, and for no more: of the kernels before A it covers those that A itself has waited for. In a chain A, B, C
// where B never waits, the wait of C says nothing about A (R-LCH-02d). Both sets are empty for a kernel that was
// launched without the attribute, that is not right behind a kernel (R-LCH-02f), or that something else is put in front
// of, too. Records of events without timing between the two change nothing (R-LCH-02g): A is still the kernel in front
// of B. Any other operation comes after everything in front, whatever that waited for (R-LCH-02e): events, copies
// and host synchronisation need no change.
//
// R-LCH-02d is stricter than the hardware that was measured, which held the wait of C until A had ended. It stays an
// error: the wait is documented for the kernel in front only, and kernels were repaired for exactly this.
//
// A trigger publishes nothing (R-LCH-02b). So A is in began(B) even where it triggers behind all that it touches,
// unless it makes that visible by a fence first. How bad it is to touch what a running kernel touches:
//   Sure     it triggers before it is done
//   Latent   it never triggers: today's driver starts B behind it, though nothing promises that its writes are visible
//            by then (R-LCH-02a); or it triggers when it is done and without a fence (R-LCH-02b)
//   Perhaps  its code is not known
//
// The clock of the stream stays what it is; an access of B is compared with a copy of it that is cut back to before the
// oldest running kernel. Of the operations behind the cut only those in the set count (Actor::overlap).
//
// What is lost: kernels past kMost in a set, the oldest; a race may be missed, none is invented.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ordering/rules.h"
#include "ordering/trigger.h"
#include "ordering/types.h"
#include "ordering/vector_clock.h"

namespace streamsan::ordering {

/// What a kernel makes of the kernel right in front of it in its stream.
struct Dependence {
  bool overlaps = false;  ///< it is launched with programmatic serialisation, and what follows is known of it
  bool waits = true;      ///< some thread of it waits for the one in front, or may
  Trigger front = Trigger::Unknown;  ///< of the one in front
  bool front_waits_first = true;     ///< that one waits before it triggers, or may
};

/// A kernel that may be running.
struct Running {
  enum class How : std::uint8_t { Sure, Latent, Perhaps };
  Epoch epoch = 0;
  How how = How::Sure;
  std::optional<Rule> rule{};  ///< Latent: the one that is leaned on
};

inline const Running* find(std::span<const Running> running, Epoch epoch) {
  const auto found =
      std::find_if(running.begin(), running.end(), [epoch](const Running& r) { return r.epoch == epoch; });
  return found == running.end() ? nullptr : &*found;
}

/// The last kernel of a stream, and what may run beside it.
class Chain {
 public:
  static constexpr std::size_t kMost = 32;

  struct Kernel {
    Epoch epoch = 0;  ///< 0: none
    OpId op{};
    SiteId site{};
  };

  /// The last one; of a stream whose last operation it need not be.
  [[nodiscard]] const Kernel& last() const { return last_; }
  /// A kernel begins when everything in front has ended.
  void plain(const Kernel& kernel) {
    last_ = kernel;
    end_ = kernel.epoch;
    known_ = assumed_ = 0;
    began_.clear();
    ended_.clear();
  }
  /// A kernel right behind the last one, which it may overlap. `known`: the epoch up to which its thread knows the
  /// stream's work to be complete.
  /// `assumed`: likewise, also by assumed edges.
  void dependent(const Kernel& kernel, const Dependence& dependence, Epoch known, Epoch assumed);

  /// Whether what comes behind the stream's operation `last` is right behind the last kernel.
  [[nodiscard]] bool is_in_front(Epoch last) const { return last_.epoch != 0 && end_ == last; }
  /// An event without timing was recorded right behind the kernel: so is what follows (R-LCH-02g). It also comes behind
  /// what the thread that records knows of the stream: `known` and `assumed` as for dependent().
  void recorded(Epoch record, Epoch known, Epoch assumed) {
    end_ = record;
    known_ = std::max(known_, known);
    assumed_ = std::max(assumed_, assumed);
  }

  /// The kernels of the last launch, oldest first.
  [[nodiscard]] std::span<const Running> began() const { return began_; }
  [[nodiscard]] std::span<const Running> ended() const { return ended_; }
  /// Up to here all was complete, by assumed edges, when the last one began.
  [[nodiscard]] Epoch assumed() const { return assumed_; }

 private:
  Kernel last_;
  Epoch end_ = 0;  ///< the kernel, or the last of the records without timing right behind it
  std::vector<Running> began_;
  std::vector<Running> ended_;
  Epoch known_ = 0;  ///< up to which all was complete for a thread that recorded
  Epoch assumed_ = 0;
};

}  // namespace streamsan::ordering
