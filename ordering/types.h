// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nouns of the ordering model: strong ids, address ranges, and the few enums every layer shares.
//
// Nothing here knows a CUDA header, an operating system or LLVM: the run-time judge, the static analyzer and the tests
// all use these types. A raw handle (a CUstream, a CUevent, a pointer) never enters the model: handles are recycled by
// the driver, ids are not.
#pragma once

#include <cstdint>

namespace streamsan::ordering {

using Address = std::uint64_t;  ///< A virtual address. Under UVA host and device addresses share one space.
using Bytes = std::uint64_t;    ///< A size in bytes.

/// The addresses of CUDA arrays, which have none of their own (interposer/arrays.h), begin here: beyond the addresses
/// of all 64-bit platforms, and below kMostAddress of rows.h.
inline constexpr Address kFirstArrayAddress = Address{1} << 61;
constexpr bool is_array_address(Address address) {
  return address >= kFirstArrayAddress && address < kFirstArrayAddress * 2;
}

enum class ContextId : std::uint32_t {};
enum class StreamId : std::uint32_t {};      ///< One life of a stream: never reused, unlike a CUstream.
enum class EventId : std::uint32_t {};       ///< One life of an event.
enum class ThreadId : std::uint32_t {};      ///< A host thread.
enum class AllocationId : std::uint64_t {};  ///< One generation of an allocation: a recycled address gets a new id.
enum class OpId : std::uint64_t {};          ///< Number of an operation, in submission order, from 1. Shown in reports.
enum class SiteId : std::uint32_t {
};  ///< What and where: API, kernel, call stack. Interned by the caller, opaque here.
enum class FunctionId : std::uint32_t {};  ///< A kernel.

inline constexpr OpId kNoOp{0};
inline constexpr SiteId kNoSite{0};

/// Half-open [begin, end).
struct Range {
  Address begin = 0;
  Address end = 0;

  [[nodiscard]] constexpr Bytes size() const { return end - begin; }
  [[nodiscard]] constexpr bool empty() const { return end <= begin; }
  [[nodiscard]] constexpr bool contains(Address a) const { return begin <= a && a < end; }
  [[nodiscard]] constexpr bool contains(Range r) const { return begin <= r.begin && r.end <= end; }
  [[nodiscard]] constexpr bool overlaps(Range r) const { return begin < r.end && r.begin < end; }
  friend constexpr bool operator==(Range, Range) = default;
};

constexpr Range intersection(Range a, Range b) {
  return {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
}

/// Bytes touched by one side of a copy, by a fill, or by a kernel: `slices` times `rows` runs of `width` bytes, the
/// rows `pitch` apart and the slices `slice_pitch`. Linear: rows = slices = 1.
struct Footprint {
  Address base = 0;  ///< 0: a side that is not known (an array of another API): no access
  Bytes width = 0;
  Bytes pitch = 0;
  std::uint64_t rows = 1;
  std::uint64_t slices = 1;
  Bytes slice_pitch = 0;
  friend constexpr bool operator==(const Footprint&, const Footprint&) = default;
};

/// R-STR-01..13. A per-thread default stream is a blocking stream (R-STR-13); it has a kind of its own because its
/// identity is (host thread, context) and because reports must name it.
enum class StreamKind : std::uint8_t { Legacy, PerThread, Blocking, NonBlocking };

/// Off: made with CU_EVENT_DISABLE_TIMING. A record of another takes the time, between what is in front and behind.
enum class EventTiming : std::uint8_t { Off, On };

/// Where bytes live; selects the row of the copy matrix (R-CPY-*) and what a free waits for (R-ALC-*).
/// Pageable host memory has no allocation: an address the model does not know is Pageable.
enum class MemoryKind : std::uint8_t {
  Device,       ///< cuMemAlloc*, cuMemAllocPitch, a mapped VMM range, an imported IPC range, a module variable
  DeviceAsync,  ///< cuMemAllocAsync / cuMemAllocFromPoolAsync: stream-ordered (R-SOA-*)
  Managed,      ///< cuMemAllocManaged
  Pinned,       ///< cuMemAllocHost, cuMemHostAlloc
  Registered,   ///< cuMemHostRegister
  Pageable,     ///< any other host memory
  Array,        ///< cuArrayCreate, cuMipmappedArrayCreate: behaves as Device, and has no real address
};

/// Does it lie on one device, and nowhere else?
constexpr bool is_on_device(MemoryKind kind) {
  return kind == MemoryKind::Device || kind == MemoryKind::DeviceAsync || kind == MemoryKind::Array;
}

}  // namespace streamsan::ordering
