// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory accesses of the program that is run: an access outside its memory stops it; accesses to memory shared with the
// GPU are reported to World.
#include <algorithm>
#include <cstring>
#include <string>

#include "analyzer/interpreter/machine.h"

namespace streamsan::analyzer::interpreter {

bool Machine::store(Word address, Word value, std::size_t size) {
  if (!writes(address, size)) return false;
  std::memcpy(reinterpret_cast<void*>(address), &value, size);
  return true;
}

bool Machine::reads(Word address, std::size_t size, bool meant) {
  if (!memory_.contains(address, size)) {
    stop_at(address,
            Memory::is_device(address) ? "the host reads memory of the device" : "a read outside of all memory");
    return false;
  }
  if (!meant && (memory_.is_pinned(address) || address - watched_ < watched_size_))
    world_.touch(*this, address, size, false);
  return true;
}

bool Machine::writes(Word address, std::size_t size, bool meant) {
  if (!memory_.contains(address, size)) {
    stop_at(address,
            Memory::is_device(address) ? "the host writes memory of the device" : "a write outside of all memory");
    return false;
  }
  if (!meant && (memory_.is_pinned(address) || address - watched_ < watched_size_))
    world_.touch(*this, address, size, true);
  return true;
}

bool Machine::copy(Word to, Word from, Word size, Word most) {
  if (size == 0) return true;
  return reads(from, size) && writes(to, size) && move(to, from, std::min(size, most));
}

bool Machine::move(Word to, Word from, Word size) {
  work(size);
  if (Memory::copy(to, from, size)) return true;
  stop("a copy of too many bytes at once");
  return false;
}

bool Machine::fill(Word to, int value, Word size) {
  if (size == 0) return true;
  if (!writes(to, size)) return false;
  // Filling with zeros mostly gives pages back to the system, which takes no time.
  work(value == 0 ? size / 64 : std::min<Word>(size, Memory::kMostAtOnce));
  Memory::fill(to, value, size);
  return true;
}

void Machine::watch(Word address, std::size_t size) {
  const Word end = std::max(address + size, watched_ + watched_size_);
  watched_ = watched_size_ == 0 ? address : std::min(watched_, address);
  watched_size_ = end - watched_;
}

bool Machine::reads_text(Word address, std::string& text) {
  for (text.clear(); memory_.contains(address, 1); ++address) {
    const char c = *reinterpret_cast<const char*>(address);
    if (c == 0) return true;
    text += c;
  }
  return false;
}

}  // namespace streamsan::analyzer::interpreter
