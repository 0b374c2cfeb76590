// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/code.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "judge/build_id.h"
#include "trace/format.h"

namespace streamsan::judge {
namespace {

using ordering::AccessMode;
using ptx::WordFacts;

void join(WordFacts& into, const WordFacts& facts) {
  into.read |= facts.read;
  into.written |= facts.written;
  into.atomic |= facts.atomic;
  into.stored |= facts.stored;
  into.on_device |= facts.on_device;
  into.escapes |= facts.escapes;
  into.read_early |= facts.read_early;
  into.written_early |= facts.written_early;
  into.atomic_early |= facts.atomic_early;
  into.late |= facts.late;
}

/// What is done through the pointer before the kernel waits, of what is done through it in all.
AccessMode early_mode(const WordFacts& facts, AccessMode mode) {
  if (facts.written_early || mode == AccessMode::Doubtful) return mode;
  if (facts.read_early) return facts.atomic_early ? AccessMode::Unknown : AccessMode::Read;
  return mode == AccessMode::Write ? AccessMode::Atomic : mode;
}

AccessMode mode_of(ptx::Mode mode) {
  switch (mode) {
    case ptx::Mode::Read:
      return AccessMode::Read;
    case ptx::Mode::Write:
      return AccessMode::Write;
    case ptx::Mode::Atomic:
      return AccessMode::Atomic;
  }
  return AccessMode::Write;
}

ordering::KernelBytes bytes_of(const ptx::Piece& piece, const ptx::Touched& touched) {
  return {.bytes = {.base = piece.address,
                    .width = piece.width,
                    .pitch = piece.pitch,
                    .rows = piece.rows,
                    .slices = piece.slices,
                    .slice_pitch = piece.slice_pitch},
          .mode = mode_of(touched.mode),
          .early = touched.early};
}

/// Adds what the launch touches for sure, only what is early if that is wanted. False, and nothing is added: some of it
/// would be where there is no memory.
bool add_exact(const ptx::Slice& slice, const ptx::Result& result, std::span<const std::byte> arguments,
               bool early_only, std::vector<ordering::KernelBytes>& out) {
  const std::size_t before = out.size();
  for (const ptx::Touched& touched : result.touched) {
    if (!touched.exact || (early_only && !touched.early)) continue;
    const std::optional<ptx::Piece> placed = slice.placed(touched, arguments);
    if (!placed) {
      out.resize(before);
      return false;
    }
    out.push_back(bytes_of(*placed, touched));
  }
  return true;
}

std::uint64_t parameter_bytes(const ptx::Kernel& kernel) {
  std::uint64_t end = 0;
  for (const ptx::Parameter& each : kernel.parameters) end = std::max(end, std::uint64_t{each.offset} + each.bytes);
  return end;
}

constexpr ordering::Bytes kLongestSignal = 16;  // what one store can write; more is data
constexpr ordering::Bytes kNear = 16;

/// A word of the parameters that leads to memory.
struct Target {
  ordering::Address pointer = 0;
  ordering::Range held;  ///< the allocation that it leads to; empty: to none that is known
  WordFacts facts;

  /// Perhaps by an offset, from memory that is not known, or from just in front of the allocation (an array that is
  /// counted from one).
  [[nodiscard]] bool may_lead_to(ordering::Range allocation) const {
    if (held.size() == 0 || held == allocation) return true;
    return pointer < allocation.begin && allocation.begin - pointer <= kNear;
  }
};

/// The words of the parameter that hold the pointer. Without the arguments that is known of single pointers only, and
/// of a structure it is any of its words; empty: the kernel has no such parameter.
std::vector<std::size_t> words_of(const ptx::KnownKernel& code, std::uint64_t pointer,
                                  std::span<const std::byte> bytes) {
  std::vector<std::size_t> out;
  const std::uint64_t index = trace::word_parameter(pointer);
  if (index >= code.kernel.parameters.size()) return out;
  const ptx::Parameter& parameter = code.kernel.parameters[index];
  const std::uint64_t end = std::uint64_t{parameter.offset} + parameter.bytes;
  for (std::uint64_t at = parameter.offset; at + ptx::kWordBytes <= end; at += ptx::kWordBytes) {
    if (at % ptx::kWordBytes != 0 || at / ptx::kWordBytes >= code.facts.words.size()) return {};
    const auto value = ptx::word_in(bytes, at / ptx::kWordBytes);
    if (value && trace::word_address(*value) != trace::word_address(pointer)) continue;
    out.push_back(at / ptx::kWordBytes);
  }
  return out;
}

}  // namespace

/// Stricter than standing_of(): what is unknown proves nothing.
bool Code::is_recorded(const std::string& path, const std::string& build_id) const {
  if (!build_id.empty()) return build_id_of(path) == build_id;
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return false;
  const auto changed = static_cast<std::uint64_t>(status.st_ctim.tv_sec) * 1'000'000'000 +
                       static_cast<std::uint64_t>(status.st_ctim.tv_nsec);
  return changed < started_;
}

void Code::add_module(const Module& module) {
  if (!enabled_) return;
  waiting_.emplace_back(module.path, module.build_id);
  ++modules_;
}

void Code::add_arguments(const trace::Item& item) {
  const auto& w = item.record->as<trace::Kind::Arguments>();
  if (!enabled_ || arguments_.size() >= kMostLaunches || argument_bytes_ + w.argument_bytes > kMostArgumentBytes)
    return;
  trace::Extent extent;
  std::memcpy(&extent, item.payload.data(), sizeof extent);
  Arguments& arguments = arguments_[{w.function, w.hash}];
  arguments = {.grid = {extent.grid[0], extent.grid[1], extent.grid[2]},
               .block = {extent.block[0], extent.block[1], extent.block[2]}};
  arguments.bytes.resize(w.argument_bytes);
  if (w.argument_bytes) {
    std::memcpy(arguments.bytes.data(), item.payload.data() + trace::kExtentWords, w.argument_bytes);
  }
  argument_bytes_ += w.argument_bytes;
}

const ptx::KnownKernel* Code::find(std::uint32_t index, const Kernel& kernel) {
  if (index == 0) return nullptr;
  if (index >= known_.size()) known_.resize(index + std::size_t{1});
  Known& known = known_[index];
  if (known.modules != modules_) {
    for (const auto& [path, build_id] : std::exchange(waiting_, {}))
      // A plug-in may be built and loaded again while the process runs.
      library_.add_file(path,
                        builds_.try_emplace(path, build_id).first->second == build_id && is_recorded(path, build_id));
    known.modules = modules_;
    known.code = library_.find(kernel.mangled);
  }
  return known.code && known.code->facts.known ? known.code : nullptr;
}

const ptx::Result* Code::evaluate(std::uint32_t index, const ptx::KnownKernel& code, Arguments& arguments) {
  Known& kernel = known_[index];
  const std::uint64_t allowed = std::min(kMostSteps, kFirstSteps + ++asked_ * kStepsPerLaunch);
  if (!arguments.result && code.slice) {
    Common common = {&code, arguments.grid, arguments.block, code.slice->common(arguments.bytes)};
    const auto found = results_.find(common);
    if (found != results_.end()) {
      arguments.result = &found->second;
    } else if (steps_ + kernel.steps < allowed && kernel.failures < kMostFailures) {
      ptx::Result result = ptx::evaluate(*code.slice, {common.grid, common.block, common.arguments});
      argument_bytes_ += common.arguments.size();
      arguments.result = &results_.emplace(std::move(common), std::move(result)).first->second;
      kernel.steps = arguments.result->steps;
      steps_ += kernel.steps;
      if (!arguments.result->evaluated) ++kernel.failures;
    }
  }
  return arguments.result && arguments.result->evaluated ? arguments.result : nullptr;
}

Code::Besides Code::besides(std::uint32_t index, const Kernel& kernel) {
  const ptx::KnownKernel* code = enabled_ ? find(index, kernel) : nullptr;
  if (!code) return {};
  return {.prints = code->facts.prints, .uses_constants = code->facts.uses_constants};
}

Code::Arguments* Code::arguments_of(const ptx::KnownKernel& code, const Kernel& kernel, std::uint64_t hash) {
  const auto found = arguments_.find({kernel.trace_id, hash});
  if (found == arguments_.end() || parameter_bytes(code.kernel) != found->second.bytes.size()) return nullptr;
  return &found->second;
}

bool Code::is_atomic_for_host(std::uint32_t index, const Kernel& kernel, std::uint64_t hash,
                              const ordering::Model& memory) {
  const ptx::KnownKernel* code = enabled_ ? find(index, kernel) : nullptr;
  if (!code || code->facts.strays_on_device) return false;
  const std::vector<WordFacts>& words = code->facts.words;
  if (std::ranges::none_of(words, &WordFacts::on_device)) return true;
  const Arguments* arguments = arguments_of(*code, kernel, hash);
  if (!arguments) return false;
  for (std::size_t word = 0; word < words.size(); ++word) {
    const auto value = words[word].on_device ? ptx::word_in(arguments->bytes, word) : std::nullopt;
    if (!value || *value < ptx::kLeastAddress) continue;
    const ordering::AllocationInfo* held = memory.find_allocation(*value);
    if (!held || !ordering::is_on_device(held->kind)) return false;
  }
  return true;
}

void Code::find_signals(std::uint32_t index, const Kernel& kernel, std::uint64_t hash, const ordering::Model& memory,
                        std::vector<ordering::KernelBytes>& bytes) {
  const ptx::KnownKernel* code = enabled_ ? find(index, kernel) : nullptr;
  if (!code || !code->facts.stores_atomically || code->facts.strays) return;
  const Arguments* arguments = arguments_of(*code, kernel, hash);
  if (!arguments) return;
  std::vector<Target> targets;
  for (std::size_t word = 0; word < code->facts.words.size(); ++word) {
    const WordFacts& facts = code->facts.words[word];
    const auto value = ptx::word_in(arguments->bytes, word);
    if ((!facts.stored && !facts.written && !facts.atomic && !facts.escapes) || !value || *value < ptx::kLeastAddress)
      continue;
    const ordering::AllocationInfo* held = memory.find_allocation(*value);
    targets.push_back({*value, held ? held->range : ordering::Range{}, facts});
  }
  for (ordering::KernelBytes& known : bytes) {
    const bool is_word = known.bytes.width <= kLongestSignal && known.bytes.rows == 1 && known.bytes.slices == 1;
    if (known.mode != AccessMode::Write || !is_word) continue;
    const ordering::AllocationInfo* written = memory.find_allocation(known.bytes.base);
    if (!written) continue;
    WordFacts facts;
    for (const Target& target : targets)
      if (target.may_lead_to(written->range)) join(facts, target.facts);
    known.signals = facts.stored && !facts.written && !facts.escapes && !facts.on_device;
  }
}

bool Code::uses_textures(std::uint32_t index, const Kernel& kernel) {
  const ptx::KnownKernel* code = enabled_ ? find(index, kernel) : nullptr;
  return code && (!code->facts.textures.uses.empty() || !code->facts.textures.all_known);
}

bool Code::add_textures(std::uint32_t index, const Kernel& kernel, std::uint64_t hash,
                        std::vector<TextureArgument>& out) {
  const ptx::KnownKernel* code = enabled_ ? find(index, kernel) : nullptr;
  if (!code) return false;
  const ptx::Textures& textures = code->facts.textures;
  if (textures.uses.empty()) return textures.all_known;
  const Arguments* arguments = arguments_of(*code, kernel, hash);
  if (!arguments) return false;
  bool all = textures.all_known;
  for (const ptx::TextureUse& use : textures.uses) {
    if (const auto handle = ptx::word_in(arguments->bytes, use.word))
      out.push_back({.handle = *handle, .surface = use.surface, .written = use.written, .chosen = use.chosen});
    else
      all = false;
  }
  return all;
}

bool Code::can_wait(std::uint32_t index, const Kernel& kernel) {
  const ptx::KnownKernel* code = enabled_ ? find(index, kernel) : nullptr;
  return !code || code->facts.can_wait;
}

bool Code::waits_for_others(std::uint32_t index, const Kernel& kernel) {
  const ptx::KnownKernel* code = enabled_ ? find(index, kernel) : nullptr;
  return code && code->facts.waits_for_others;
}

Code::InChain Code::in_chain(std::uint32_t index, const Kernel& kernel, std::uint64_t hash) {
  const ptx::KnownKernel* code = enabled_ ? find(index, kernel) : nullptr;
  if (!code) return {};
  const ptx::Grid& grid = code->facts.grid;
  InChain out{.known = true, .waits = grid.waits, .waits_first = grid.waits_first, .trigger = grid.trigger};
  if (grid.trigger == ordering::Trigger::Never || grid.always) return out;
  // Perhaps an argument switches it off.
  const Arguments* arguments = arguments_of(*code, kernel, hash);
  if (!arguments || !arguments->result || !arguments->result->triggers) out.trigger = ordering::Trigger::Unknown;
  return out;
}

void Code::add_early(std::uint32_t index, const Kernel& kernel, std::uint64_t hash,
                     std::vector<ordering::KernelBytes>& bytes) {
  const ptx::KnownKernel* code = enabled_ ? find(index, kernel) : nullptr;
  if (!code || !code->facts.grid.waits) return;
  Arguments* arguments = arguments_of(*code, kernel, hash);
  const ptx::Result* result = arguments ? evaluate(index, *code, *arguments) : nullptr;
  if (result) add_exact(*code->slice, *result, arguments->bytes, true, bytes);
}

Code::Conclusion Code::conclude(std::uint32_t index, const Kernel& kernel, std::uint64_t hash,
                                std::span<const std::uint64_t> words, std::vector<ordering::PointerArgument>& pointers,
                                std::vector<ordering::KernelBytes>& bytes, bool dependent) {
  if (!enabled_ || pointers.size() != words.size()) return {};
  const ptx::KnownKernel* code = find(index, kernel);
  if (!code) return {};
  const auto found = arguments_.find({kernel.trace_id, hash});
  std::span<const std::byte> argument_bytes;
  const ptx::Result* result = nullptr;
  if (found != arguments_.end()) {
    // A kernel of this name that takes something else: one that the program loaded by itself.
    if (parameter_bytes(code->kernel) != found->second.bytes.size()) return {};
    argument_bytes = found->second.bytes;
    result = evaluate(index, *code, found->second);
    if (result && !add_exact(*code->slice, *result, argument_bytes, false, bytes)) result = nullptr;
  }
  std::size_t kept = 0;
  std::vector<ordering::PointerArgument> early;
  std::vector<std::size_t> pointer_words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    ordering::PointerArgument pointer = pointers[i];
    const std::vector<std::size_t> places = words_of(*code, words[i], argument_bytes);
    WordFacts facts;
    bool settled = result != nullptr;
    for (const std::size_t place : places) {
      join(facts, code->facts.words[place]);
      settled = settled && result->settled[place];
    }
    if (places.empty()) facts.escapes = true;
    pointer_words.insert(pointer_words.end(), places.begin(), places.end());
    const bool which = !trace::word_in_structure(words[i]) || !argument_bytes.empty();
    const bool unused = !facts.read && !facts.written && !facts.atomic && !facts.escapes;
    if (unused || (settled && !places.empty())) continue;
    // Facts take away, and add no certainty: what may be another part of the buffer stays so.
    if (!facts.escapes && which && !facts.written && pointer.mode != AccessMode::Doubtful) {
      if (!facts.atomic)
        pointer.mode = AccessMode::Read;
      else if (!facts.read && pointer.mode == AccessMode::Write)
        pointer.mode = AccessMode::Atomic;
    }
    if (dependent && facts.early()) {
      early.push_back({.address = pointer.address, .mode = early_mode(facts, pointer.mode), .early = true});
      if (!facts.late) continue;
    }
    pointers[kept++] = pointer;
  }
  pointers.resize(kept);
  pointers.insert(pointers.end(), early.begin(), early.end());
  const bool confined = is_confined(code->facts, pointer_words, [&](std::size_t word) {
    const auto value = ptx::word_in(argument_bytes, word);
    return value && *value < ptx::kLeastAddress;
  });
  return {.complete = result && result->complete, .confined = confined};
}

}  // namespace streamsan::judge
