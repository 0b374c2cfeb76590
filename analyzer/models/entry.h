// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One entry of a user's model file as it was read, before it is known to make sense. See entry.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/models/yaml.h"

namespace streamsan::analyzer {

/// Where a stream comes from, as an entry says it.
struct StreamWord {
  StreamFrom from = StreamFrom::None;
  int argument = -1;
};

enum class Verb : std::uint8_t {
  Works,        ///< reads, writes, updates: enqueues
  HostTouches,  ///< host_reads, host_writes
  Records,
  Waits,
  Synchronises,
  Allocates,
  Frees,
  CreatesStream,
  CreatesEvent,
  DestroysStream,
  DestroysEvent,
  Returns,
  SetsStream,
  Keeps,
  MakesCurrent,
  Nothing,
};

enum class Sync : std::uint8_t { Stream, Event, Device };

struct Entry {
  std::string function;
  int arguments = kAnyArguments;
  std::vector<std::pair<Verb, std::string>> verbs;  ///< with the key that said so
  int operand = -1;                                 ///< the position that the verb's key gives
  std::vector<Role> roles;
  std::optional<StreamWord> stream;
  std::optional<int> handle;
  std::optional<int> event;
  std::optional<int> bytes;
  Sync sync = Sync::Device;
  bool synchronous = false;
  bool returns_stream = false;  ///< the stream of `handle`
  std::optional<ordering::MemoryKind> memory;
  std::optional<ordering::StreamKind> kind;
  std::optional<bool> timing;

  /// Says the verb once more, or for the first time.
  void says(Verb verb, const std::string& key);
};

/// The model that the entry describes. Returns why there is none; empty: there is.
std::string make_model(const Entry& entry, UserModel& out);

}  // namespace streamsan::analyzer
