// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes traces from code, for tests: what the recorder would have written for a given sequence of driver calls.
//
//   TraceBuilder trace;
//   trace.stream_create(kA, NonBlocking::Yes);
//   trace.alloc(0x7000'0000, 4096);
//   trace.at({0x401005}).copy_async("cuMemcpyHtoDAsync_v2", kA, 0x7000'0000, 0x1000, 4096);
//   trace.save("/tmp/x.trace");
//
// Sticky settings (thread, context, stack) hold for the records that follow. add() writes any record at all, so that
// tests of the reader can also write what no recorder would.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ordering/types.h"
#include "trace/format.h"

namespace streamsan::trace {

enum class NonBlocking : std::uint8_t { No, Yes };
enum class Known : std::uint8_t { Measured, Learned };

/// `width` bytes at `offset` from a pointer of the launch.
constexpr Piece piece(std::uint16_t pointer, Piece::Mode mode, std::int64_t offset, std::uint64_t width) {
  return {.pointer = pointer,
          .mode = mode,
          .flags = 0,
          .reserved = 0,
          .offset = offset,
          .width = width,
          .rows = 1,
          .slices = 1,
          .pitch = 0,
          .slice_pitch = 0};
}

class TraceBuilder {
 public:
  using Words = std::array<std::uint64_t, kRecordWords>;
  static constexpr std::uint64_t kContext = 0xC0;

  TraceBuilder();

  // ---- sticky settings ----
  TraceBuilder& on_thread(std::uint16_t thread) { return thread_ = thread, *this; }
  TraceBuilder& in_context(std::uint64_t context) { return context_ = context, *this; }
  /// Return addresses, innermost first; writes the Stack record when these are met for the first time.
  TraceBuilder& at(std::initializer_list<std::uint64_t> frames);
  /// What follows has no stack.
  TraceBuilder& nowhere() {
    stack_ = 0;
    return *this;
  }

  /// The same, under frames of Python, innermost first.
  TraceBuilder& at(std::initializer_list<std::uint64_t> frames, std::initializer_list<std::uint64_t> python);
  /// The same in a backward pass of PyTorch's, whose forward operation was called under the frames `forward`.
  TraceBuilder& at(std::initializer_list<std::uint64_t> frames, std::initializer_list<std::uint64_t> python,
                   std::initializer_list<std::uint64_t> forward);

  // ---- definitions ----
  void python_frame(std::uint64_t id, std::string_view function, std::string_view file, std::uint64_t line);
  void module(std::string_view path, std::uint64_t bias, std::uint64_t low, std::uint64_t high,
              std::string_view build_id = {});
  void function(std::uint64_t id, std::string_view mangled);
  /// One record, or as many as the pieces need; `open`: the last one says that more follow.
  void footprint(std::uint64_t id, std::span<const Piece> pieces, std::uint64_t flags = 0, bool open = false);
  void footprint(std::uint64_t id, std::initializer_list<Piece> pieces, std::uint64_t flags = 0) {
    footprint(id, std::span(pieces.begin(), pieces.size()), flags);
  }
  /// A launch with the key was measured; `earlier`: how often earlier runs have, if it was not now.
  void measured_launch(std::uint64_t key, std::uint64_t function, std::uint64_t launch, std::uint64_t footprint,
                       std::uint64_t earlier = 0) {
    add(Kind::MeasuredLaunch, {}, {key, function, launch, footprint, earlier});
  }
  void arguments(std::uint64_t hash, std::uint64_t function, std::array<std::uint32_t, 3> grid,
                 std::array<std::uint32_t, 3> block, std::span<const std::byte> bytes);
  void unmodelled(std::string_view symbol, std::uint64_t calls);
  void message(std::string_view text);

  // ---- calls; each returns the position of its record ----
  std::uint64_t stream_create(std::uint64_t handle, NonBlocking non_blocking);
  std::uint64_t stream_destroy(std::uint64_t handle);
  std::uint64_t name_stream(std::uint64_t handle, std::string_view name);
  std::uint64_t event_create(std::uint64_t handle, std::uint64_t flags = 0);
  std::uint64_t event_destroy(std::uint64_t handle);
  std::uint64_t event_record(std::uint64_t stream, std::uint64_t event, std::uint16_t flags = 0);
  std::uint64_t event_wait(std::uint64_t stream, std::uint64_t event);
  std::uint64_t alloc(std::uint64_t address, std::uint64_t bytes,
                      ordering::MemoryKind kind = ordering::MemoryKind::Device, std::uint64_t stream = 0);
  std::uint64_t free_async(std::uint64_t address, std::uint64_t stream);
  /// A blocking free with its CallEnd.
  std::uint64_t free(std::uint64_t address, FreeKind kind = FreeKind::Device);
  std::uint64_t launch(std::uint64_t stream, std::uint64_t function, std::initializer_list<std::uint64_t> pointer_words,
                       std::uint64_t device_threads = 1024, std::uint64_t arguments_hash = 0, std::uint16_t flags = 0);
  /// A launch with a footprint: measured in this launch, or learned from an earlier one.
  std::uint64_t launch_known(std::uint64_t stream, std::uint64_t function, std::uint64_t footprint, Known known,
                             std::initializer_list<std::uint64_t> pointer_words, std::uint64_t device_threads = 1024,
                             std::uint64_t arguments_hash = 0, std::uint16_t flags = 0);
  /// One whose library promises a footprint; `footprint`: the one that was learned, or, with kMeasured, measured; 0:
  /// none.
  std::uint64_t launch_promised(std::uint64_t stream, std::uint64_t function, std::uint64_t promise,
                                std::uint64_t footprint, std::initializer_list<std::uint64_t> pointer_words,
                                std::uint16_t flags = 0);
  std::uint64_t copy_async(std::string_view symbol, std::uint64_t stream, std::uint64_t dst, std::uint64_t src,
                           std::uint64_t bytes);
  /// A blocking copy with its CallEnd.
  std::uint64_t copy(std::string_view symbol, std::uint64_t stream, std::uint64_t dst, std::uint64_t src,
                     std::uint64_t bytes);
  std::uint64_t fill_async(std::uint64_t stream, std::uint64_t dst, std::uint64_t bytes);
  /// Blocking synchronisations with their CallEnd; `ok` false: the call failed.
  std::uint64_t sync_stream(std::uint64_t stream, bool ok = true);
  std::uint64_t sync_event(std::uint64_t event, bool ok = true);
  std::uint64_t sync_context(bool ok = true);
  /// What the host does by itself; `function` with AccessWay::Call.
  std::uint64_t host_access(std::uint64_t address, std::uint64_t bytes, bool writes,
                            AccessWay way = AccessWay::Instruction, std::string_view function = {});
  std::uint64_t host_free(std::uint64_t address, std::uint64_t bytes, HostFreeWay way = HostFreeWay::Heap,
                          std::string_view function = "free");
  // ---- annotations; no stream: kOnHost ----
  std::uint64_t block_alloc(std::uint64_t address, std::uint64_t bytes, std::optional<std::uint64_t> stream);
  std::uint64_t block_free(std::uint64_t address, std::optional<std::uint64_t> stream, std::uint16_t flags = 0);
  std::uint64_t block_use(std::uint64_t address, std::uint64_t stream);
  std::uint64_t signal(std::optional<std::uint64_t> stream, std::uint64_t object);
  std::uint64_t await(std::optional<std::uint64_t> stream, std::uint64_t object);
  /// A record about the sticky thread, which was created at the sticky stack.
  std::uint64_t host_thread(std::string_view name, std::string_view function, bool first = false);
  std::uint64_t name_memory(std::uint64_t address, std::string_view name);
  std::uint64_t call_failed(std::string_view symbol, std::uint64_t stream, std::uint64_t object, std::uint64_t result);
  std::uint64_t capture_begin(std::uint64_t stream);
  std::uint64_t capture_end(std::uint64_t stream, std::uint64_t graph);
  std::uint64_t graph_launch(std::uint64_t stream, std::uint64_t exec);

  // ---- anything ----
  std::uint64_t add(Kind kind, std::string_view symbol, Words words, std::span<const std::uint64_t> payload = {},
                    std::uint16_t flags = 0, State state = State::Published);
  std::uint64_t add_text(Kind kind, Words words, std::string_view text, std::string_view symbol = {});
  std::uint64_t call_end(std::uint64_t position, bool ok);

  /// A recorder with another table of driver functions: these, in this order. Before the first record.
  void set_functions(std::vector<std::string> names) { functions_ = std::move(names); }
  void set_pid(std::uint32_t pid) { pid_ = pid; }
  void set_end(End end) { end_ = end; }
  [[nodiscard]] std::uint64_t slots() const { return slots_.size() / kContinuationWords; }
  /// The bytes of the file, as long as the recorder would have made it.
  [[nodiscard]] std::string bytes() const;
  /// False, with errno set, when the file cannot be written.
  [[nodiscard]] bool save(const std::string& path) const;

 private:
  [[nodiscard]] std::uint16_t api_index(std::string_view symbol) const;

  std::vector<std::string> functions_;  ///< empty: those of the table
  std::vector<std::uint64_t> slots_;    ///< eight words for each slot
  std::uint64_t context_ = kContext;
  std::uint32_t stack_ = 0;
  std::map<std::vector<std::uint64_t>, std::uint32_t> stacks_;
  std::uint32_t pid_ = 4711;
  std::uint16_t thread_ = 1;
  End end_ = End::Exited;
};

}  // namespace streamsan::trace
