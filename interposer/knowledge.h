// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known from measured launches, and which launches are worth measuring.
//
// A launch is described by four hashes, all of which cover kernel, grid and block. Its KEY covers all argument bytes
// besides, its SHAPE the scalars and not the pointers, its BUFFERS the pointers and not the scalars (an optimizer's
// kernel is given another step number each time), its FAMILY no argument. A footprint is relative to the pointers, so
// what one launch showed can serve others. A result holds for a key once it was measured, for a shape or for buffers
// when further keys agreed with it, for a family when many further shapes did; and for none of them any more when two
// results differ.
//
// In the end most launches are SETTLED: their footprint is known and no measurement would teach more. Between two
// launches the program's own work pushes the tables out of the caches, and reading six places in them costs as much as
// the driver's own work. So settled launches are also kept in a small table that needs one look-up.
//
// The tables are of fixed size and lock-free. Two threads may write one state at once; one of the two writes is lost
// then, which costs a measurement.
#pragma once

#include <cstdint>

#include "interposer/functions.h"

namespace streamsan::recorder {

struct LaunchHashes {
  std::uint64_t key;
  std::uint64_t shape;
  std::uint64_t buffers;
  std::uint64_t family;
};

/// The launch was measured, and this is its footprint.
void learn(const LaunchHashes& launch, std::uint32_t footprint);
/// The footprint that launches with this key, or else this shape, these buffers or this family, are believed to have;
/// 0: none is known.
std::uint32_t learned_footprint(const LaunchHashes& launch);
/// May an earlier run's measurements of `keys` launches of this shape answer for this one? Not twice for one key.
bool may_be_answered(const LaunchHashes& launch, unsigned keys);
/// An earlier run has measured it so often, always with this footprint.
void learn_earlier(const LaunchHashes& launch, std::uint32_t footprint, unsigned times);
/// For how long a launch is settled.
enum class Settled : std::uint8_t {
  ForGood,  ///< no measurement would teach more
  ForNow,   ///< or it was measured once, and that is enough while the launch does not contend
};
/// The same, if it is settled, else 0: there may be a footprint, and there may be more to learn. Found among the
/// launches noted by note_settled() since the last learn().
std::uint32_t settled_footprint(const LaunchHashes& launch, Settled how = Settled::ForGood);
/// To be called for launches that have a footprint and are not worth measuring (so far, with ForNow).
void note_settled(const LaunchHashes& launch, Settled how = Settled::ForGood);
/// True for the first caller with this key.
bool first_of_key(const LaunchHashes& launch);

/// Would another measurement teach anything, within the limits of the options (footprint_launches)?
bool worth_measuring(const LaunchHashes& launch, const Function& function);
/// Was a launch of this family measured, or tried?
bool was_measured(const LaunchHashes& launch);
/// An attempt without result: it counts like a measurement, so that attempts end.
void count_attempt(const LaunchHashes& launch);
/// Launches with this key cannot be measured.
void give_up(const LaunchHashes& launch);
/// Not even if the judge asks: the key was given up, or the kernel was late too often.
bool is_hopeless(const LaunchHashes& launch, const Function& function);

/// A launch of the kernel did not end in time.
void count_late(const Function& function);
/// Did that happen? Such a kernel may wait for what comes after its launch.
bool is_known_to_wait(const Function& function);

}  // namespace streamsan::recorder
