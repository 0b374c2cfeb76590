// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the model is given of the memory of programs (predict.h): where it is, and which bytes each operation touches.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "ordering/model.h"
#include "testsuite/gpu/random/program.h"

namespace streamsan::lab::memory {

namespace model = ordering;
using model::Address;
using model::Footprint;

// Addresses of the model's memory; each cell has a word of each. Each is an allocation of its own: of one operation and
// one allocation a single hazard is reported.
inline constexpr model::Bytes kWord = 64;
inline constexpr model::Bytes kSlots = kWord * kCells;
inline constexpr Address kDevice = 0x100000;   // what operations touch
inline constexpr Address kBehind = 0x180000;   // what kernels touch behind their wait
inline constexpr Address kPinned = 0x200000;   // fills of host memory
inline constexpr Address kOnHost = 0x300000;   // what the host reads after each call
inline constexpr Address kOnes = 0x400000;     // sources and targets on the device that nobody else touches
inline constexpr Address kLanding = 0x500000;  // the same on the host, pinned
inline constexpr Address kIdle = 0x600000;     // memory that is freed
inline constexpr Address kIdleHost = 0x700000;
inline constexpr Address kPageable = 0x900000;    // no allocation
inline constexpr Address kOfSecond = 0x10000000;  // memory of the second device is so much higher
// Arrays of two dimensions; those of three lie behind them.
inline constexpr Address kArrays = model::kFirstArrayAddress + 0x100000;  // what operations touch
inline constexpr Address kOnesArrays = model::kFirstArrayAddress + 0x200000;
inline constexpr Address kIdleArray = model::kFirstArrayAddress + 0x300000;  // that is freed
inline constexpr Address kOfVolume = 0x80000;
inline constexpr model::Bytes kWhole = kSlots * kRows * kSlices;  // every row of every slice has a word of each cell

/// The word of a cell, or the rows of words.
Footprint word(Address base, std::size_t cell, Shape shape = Shape::One);

constexpr model::ContextId context(unsigned device) { return model::ContextId{device + 1}; }
/// All of it.
void allocate(model::Model& model);

// `device`: where the memory of the operation's device begins, which is 0 or kOfSecond.
/// What the copy writes, and what it reads. The side that the held operation writes, too, is the one on the device.
std::pair<Footprint, Footprint> bytes_of_copy(const Work& work, std::size_t cell, Address device);
Footprint bytes_of_fill(const Work& work, std::size_t cell, Address device);
std::vector<model::KernelBytes> bytes_of_kernel(std::size_t cell, Address device);
std::vector<model::KernelBytes> bytes_of_held();

}  // namespace streamsan::lab::memory
