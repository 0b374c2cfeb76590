// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/options.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "interposer/option_entries.h"

namespace streamsan::recorder {
namespace {

constexpr std::size_t kMostText = sizeof Options::trace_path;

bool key_is(const char* text, std::size_t length, const char* key) {
  return std::strlen(key) == length && std::memcmp(text, key, length) == 0;
}

void set_number(unsigned& target, const char* text, std::size_t length, unsigned maximum) {
  unsigned value = 0;
  if (length == 0) return;
  for (std::size_t i = 0; i < length; ++i) {
    if (text[i] < '0' || text[i] > '9') return;
    if (value < maximum) value = value > (~0u - 9) / 10 ? maximum : value * 10 + static_cast<unsigned>(text[i] - '0');
  }
  target = value < maximum ? value : maximum;
}

void set_text(char (&target)[kMostText], const char* text, std::size_t length) {
  if (length == 0 || length >= sizeof target) return;
  std::memcpy(target, text, length);
  target[length] = '\0';
}

/// `words` in the order of the enumerators, from 0.
template <typename Word, std::size_t N>
void set_word(Word& target, const char* text, std::size_t length, const char* const (&words)[N]) {
  for (std::size_t i = 0; i < N; ++i) {
    if (key_is(text, length, words[i])) target = static_cast<Word>(i);
  }
}

}  // namespace

void read_options(Options& options) {
  options = {};
  std::strcpy(options.trace_path, "streamsan.%p.trace");
  options.stacks = 1;
  options.stack_depth = 24;
  options.torch_blocks = 1;
  options.follow_children = 1;
  options.host_threads = HostThreads::Seen;
  options.host_guard = 1;
  options.host_guard_cost = 1;
  options.host_frees = 1;
  options.perturb_seed = 1;
  options.footprint_launches = 64;
  options.footprint_seconds = 20;
  options.footprint_allowance = 500;
  options.footprint_share = 5;
  options.footprint_patience = 1000;
  options.footprint_memory = 1024;
  const char* set = std::getenv("STREAMSAN_OPTIONS");
  std::string_view text = set ? set : "";
  for (OptionEntry entry; take_option(text, entry);) {
    if (!entry.has_value) continue;
    char value[kMostText];
    std::size_t length = 0;
    // One that is too long is none: see set_text().
    unquote_option(entry.value, [&](char c) {
      if (length < sizeof value) value[length++] = c;
    });
    const char* key = entry.key.data();
    const std::size_t key_length = entry.key.size();
    auto is = [key, key_length](const char* name) { return key_is(key, key_length, name); };
    auto number = [value, length](unsigned& target, unsigned most) { set_number(target, value, length, most); };
    if (is("trace_path")) set_text(options.trace_path, value, length);
    if (is("stacks")) number(options.stacks, 1);
    if (is("stack_depth")) number(options.stack_depth, kMaxStackDepth);
    if (is("python_stacks")) set_word(options.python_stacks, value, length, {"auto", "0", "1"});
    if (is("torch_blocks")) number(options.torch_blocks, 1);
    if (is("follow_children")) number(options.follow_children, 1);
    if (is("verbosity")) number(options.verbosity, 9);
    if (is("host_guard")) number(options.host_guard, 1);
    if (is("host_guard_cost")) number(options.host_guard_cost, kMostHostGuardCost);
    if (is("host_hash")) number(options.host_hash, 1);
    if (is("host_frees")) number(options.host_frees, 1);
    if (is("perturb")) number(options.perturb, kMostPerturb);
    if (is("perturb_seed")) number(options.perturb_seed, kMostPerturbSeed);
    if (is("poison")) number(options.poison, 1);
    if (is("syncs")) number(options.syncs, 1);
    if (is("host_threads")) set_word(options.host_threads, value, length, {"joined", "separate", "seen", "strict"});
    if (is("timings")) number(options.timings, 1);
    if (is("footprints")) set_word(options.footprints, value, length, {"auto", "measured", "inferred"});
    if (is("footprint_policy")) set_word(options.footprint_policy, value, length, {"needed", "first", "asked"});
    if (is("footprint_launches")) number(options.footprint_launches, kMostFootprintLaunches);
    if (is("footprint_seconds")) number(options.footprint_seconds, kMostFootprintSeconds);
    if (is("footprint_allowance")) number(options.footprint_allowance, kMostFootprintAllowance);
    if (is("footprint_share")) number(options.footprint_share, kMostFootprintShare);
    if (is("footprint_patience")) number(options.footprint_patience, kMostFootprintPatience);
    if (is("footprint_memory")) number(options.footprint_memory, kMostFootprintMemory);
    if (is("agent_path")) set_text(options.agent_path, value, length);
    if (is("sanitizer_library")) set_text(options.sanitizer_library, value, length);
    if (is("agent_script")) set_text(options.agent_script, value, length);
    if (is("earlier_footprints")) set_text(options.earlier_footprints, value, length);
    if (is("cupti_library")) set_text(options.cupti_library, value, length);
  }
  if (options.stack_depth == 0) options.stacks = 0;
  // Whether a wait is needed depends on the bytes of what it orders.
  if (options.syncs && options.footprint_policy == FootprintPolicy::Needed)
    options.footprint_policy = FootprintPolicy::First;
}

}  // namespace streamsan::recorder
