// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The writing side of the trace (see trace/format.h): slots are reserved by one atomic add and published by one store.
//
// Lock-free for callers, except that the thread that first needs a new chunk allocates and maps it while others that
// need the same chunk wait; the allocator of a chunk takes no lock that a waiter could hold. Nothing here allocates
// from the guest's heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interposer/process.h"
#include "trace/format.h"

namespace streamsan::recorder {

/// A reserved record. `record` is null when recording is off; every function below accepts that.
struct Slot {
  trace::Record* record = nullptr;
  std::uint64_t position = 0;

  explicit operator bool() const { return record != nullptr; }
  /// Payload words of the continuation slots.
  [[nodiscard]] std::uint64_t* continuation() const { return reinterpret_cast<std::uint64_t*>(record + 1); }
  /// Where the list begins that follows a record of this kind (SS_LIST of records.def).
  template <trace::Kind kKind>
  [[nodiscard]] typename trace::Words<kKind>::Listed* list() const {
    return reinterpret_cast<typename trace::Words<kKind>::Listed*>(record + 1);
  }
};

/// Creates the trace file at `path` (already expanded) and makes it visible under that name once its header is whole.
/// On failure returns an errno value and changes nothing.
int open_trace(const char* path);

/// A record will be written soon: the lines it will need are fetched meanwhile.
void expect_record();

/// Takes the next 1 + continuations slots. The header fields of the record are zero.
Slot reserve(unsigned continuations);

/// The continuations that hold so many bytes, or so many words.
constexpr unsigned continuations_of(std::size_t bytes) {
  return static_cast<unsigned>((bytes + trace::kSlotBytes - 1) / trace::kSlotBytes);
}
constexpr unsigned continuations_of_words(std::size_t words) { return continuations_of(words * sizeof(std::uint64_t)); }
/// The continuations that hold a list of so many elements behind a record of this kind.
template <trace::Kind kKind>
constexpr unsigned continuations_of_list(std::size_t count) {
  return continuations_of(count * sizeof(typename trace::Words<kKind>::Listed));
}

/// The header of a record of the calling thread.
struct RecordHead {
  trace::Kind kind;
  std::uint16_t api = 0;
  std::uint16_t flags = 0;
  std::uint32_t stack = 0;
  unsigned continuations = 0;
};

/// As reserve(), with the header filled. The record is to be published.
inline Slot start_record(const RecordHead& head) {
  Slot slot = reserve(head.continuations);
  if (!slot) return slot;
  slot.record->kind = head.kind;
  slot.record->api = head.api;
  slot.record->flags = head.flags;
  slot.record->thread = thread_number();
  slot.record->stack = head.stack;
  return slot;
}

/// Makes the record visible to the judge.
void publish(Slot slot, trace::State state = trace::State::Published);

/// As write_text(), of words without names: the one at `length_word` is set to the length of the text.
void write_text_record(trace::Kind kind, const std::uint64_t* words, unsigned length_word, const char* text,
                       std::size_t length, const void* tail = nullptr, std::size_t tail_length = 0,
                       std::uint32_t stack = 0);

/// A record followed by text (cut at what a record can hold): definitions and messages. The text goes to the
/// continuation, and the word `length` of the record is set to its length; `tail` follows the text.
template <trace::Kind kKind>
void write_text(trace::Words<kKind> words, std::uint64_t trace::Words<kKind>::* length, const char* text,
                std::size_t bytes, const void* tail = nullptr, std::size_t tail_bytes = 0, std::uint32_t stack = 0) {
  std::uint64_t raw[trace::kRecordWords] = {};
  static_assert(sizeof words <= sizeof raw);
  std::memcpy(raw, &words, sizeof words);
  const auto at = reinterpret_cast<const char*>(&(words.*length)) - reinterpret_cast<const char*>(&words);
  write_text_record(kKind, raw, static_cast<unsigned>(at) / 8, text, bytes, tail, tail_bytes, stack);
}

/// A line for the report.
inline void write_message(const char* text, std::size_t bytes) {
  write_text<trace::Kind::Message>({}, &trace::Words<trace::Kind::Message>::text_bytes, text, bytes);
}

/// The header, or nullptr when no trace is open.
trace::FileHeader* header();

}  // namespace streamsan::recorder
