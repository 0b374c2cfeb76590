// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/facts.h"

#include <algorithm>
#include <string_view>

#include "judge/ptx/waiting.h"

namespace streamsan::ptx {
namespace {

constexpr int kMostPasses = 64;
constexpr std::size_t kMostCells = std::size_t{1} << 22;  // registers x 64 words

using Kind = Operand::Kind;

/// The block's or thread's own memory, its stack, or a table of the mathematical functions, which nobody writes.
bool is_own(const Kernel& kernel, std::string_view symbol) {
  return kernel.is_own(std::string(symbol)) || symbol.starts_with("__local_depot") || symbol.starts_with("__cudart_");
}

class Analysis {
 public:
  Analysis(const Kernel& kernel, Facts& facts) : kernel_(kernel), facts_(facts) {}

  bool run() {
    std::size_t bytes = 0;
    for (const Parameter& parameter : kernel_.parameters)
      bytes = std::max<std::size_t>(bytes, std::size_t{parameter.offset} + parameter.bytes);
    const std::size_t words = (bytes + kWordBytes - 1) / kWordBytes;
    if ((words + 63) / 64 * static_cast<std::size_t>(kernel_.registers) > kMostCells) return false;
    facts_.words.resize(words);
    facts_.origins.assign(static_cast<std::size_t>(kernel_.registers), Origin(words));
    bool changed = true;
    for (int pass = 0; changed; ++pass) {
      if (pass == kMostPasses) return false;
      changed = false;
      for (const Instruction& instruction : kernel_.instructions) changed |= flow(instruction);
    }
    find_anchored();
    facts_.grid = grid_of(kernel_);
    facts_.textures = textures_of(kernel_);
    facts_.strays |= !facts_.textures.all_known;
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      early_ = facts_.grid.early[i];
      conclude(kernel_.instructions[i]);
    }
    return true;
  }

 private:
  Origin empty() const { return Origin(facts_.words.size()); }

  /// Which registers hold, whatever was assigned to them last, what was made from 64 bits of a parameter: the address
  /// of an array and an index that was loaded, but not a pointer that was loaded.
  void find_anchored() {
    anchored_.assign(static_cast<std::size_t>(kernel_.registers), true);
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& instruction : kernel_.instructions) {
        const bool keeps = hands_on_anchor(instruction);
        for_each_result(instruction, [&](int reg) {
          changed |= anchored_[static_cast<std::size_t>(reg)] && !keeps;
          anchored_[static_cast<std::size_t>(reg)] = anchored_[static_cast<std::size_t>(reg)] && keeps;
        });
      }
    }
  }
  bool is_anchored(const Operand& operand) const {
    if (!operand.symbol.empty() && operand.reg < 0) return is_own(kernel_, operand.symbol);
    bool all = true;
    bool any = false;
    for_each_register(operand, [&](int reg) {
      any = true;
      all = all && anchored_[static_cast<std::size_t>(reg)];
    });
    return any && all;
  }
  bool hands_on_anchor(const Instruction& instruction) const {
    const std::vector<Operand>& operands = instruction.operands;
    const auto anchored = [&](std::size_t at) { return at < operands.size() && is_anchored(operands[at]); };
    switch (instruction.op) {
      case Op::Load:
        return instruction.space == Space::Param && access_bytes(instruction) == kWordBytes;
      case Op::Move:
      case Op::Convert:
      case Op::ToSpace:
      case Op::Sub:
        return anchored(1);
      case Op::Select:
        return anchored(1) && anchored(2);
      case Op::Add:
      case Op::Or:
        return anchored(1) || anchored(2);
      case Op::Mad:
        return anchored(3);
      case Op::And:
        return anchored(1) || anchored(2);
      default:
        return false;
    }
  }

  /// Hands the sources' origins on to the results. True: something is new.
  bool flow(const Instruction& instruction) {
    Origin origin = empty();
    switch (instruction.op) {
      case Op::Load:
        origin.loaded = true;
        if (instruction.space == Space::Param && instruction.operands.size() > 1)
          origin = parameter_bytes(instruction, instruction.operands[1]);
        break;
      case Op::TextureLoad:
      case Op::SurfaceLoad:
        origin.loaded = true;
        break;
      case Op::Atomic:
      case Op::Call:
      case Op::Other:
        origin.loaded = true;
        if (instruction.op != Op::Atomic)
          for (const Operand& operand : instruction.operands) origin.merge(facts_.origin(kernel_, operand));
        break;
      default:
        for (std::size_t i = 1; i < instruction.operands.size(); ++i)
          origin.merge(facts_.origin(kernel_, instruction.operands[i]));
    }
    bool changed = false;
    for_each_result(instruction,
                    [&](int reg) { changed |= facts_.origins[static_cast<std::size_t>(reg)].merge(origin); });
    return changed;
  }

  /// What ld.param finds.
  Origin parameter_bytes(const Instruction& instruction, const Operand& memory) const {
    const Parameter* parameter = memory.reg < 0 ? kernel_.parameter(memory.symbol) : nullptr;
    Origin origin = empty();
    const std::int64_t size = static_cast<std::int64_t>(access_bytes(instruction));
    if (!parameter || memory.immediate < 0 || memory.immediate + size > std::int64_t{parameter->bytes} || size == 0) {
      // By an address in a register, or the result of a call.
      origin.loaded = true;
      origin.merge(facts_.origin(kernel_, memory));
      return origin;
    }
    const std::uint64_t first = parameter->offset + static_cast<std::uint64_t>(memory.immediate);
    for (std::uint64_t word = first / kWordBytes; word * kWordBytes < first + static_cast<std::uint64_t>(size); ++word)
      origin.insert(word);
    return origin;
  }

  template <typename Apply>
  void each_word(const Origin& origin, const Apply& apply) {
    for (std::size_t word = 0; word < facts_.words.size(); ++word)
      if (origin.contains(word)) apply(facts_.words[word]);
  }
  /// Global memory is touched at this address.
  template <typename Apply>
  void reach(const Operand& address, const Apply& apply) {
    Origin origin = facts_.origin(kernel_, address);
    each_word(origin, apply);
    facts_.strays |= origin.symbol || (origin.loaded && !is_anchored(address));
    if (origin.symbol || (!origin.loaded && !origin.any_word())) return;
    if (std::ranges::find(facts_.addresses, origin) == facts_.addresses.end())
      facts_.addresses.push_back(std::move(origin));
  }
  void used(bool& ever, bool& early, bool& late) const {
    ever = true;
    (early_ ? early : late) = true;
  }
  void read(const Operand& address) {
    reach(address, [this](WordFacts& word) { used(word.read, word.read_early, word.late); });
  }
  void write(const Operand& address) {
    reach(address, [this](WordFacts& word) { used(word.written, word.written_early, word.late); });
  }
  void update(const Instruction& instruction, const Operand& address) {
    facts_.stores_atomically |= instruction.op == Op::Store;
    const Origin origin = facts_.origin(kernel_, address);
    facts_.strays_on_device |= !instruction.for_host && (origin.loaded || origin.symbol);
    reach(address, [&](WordFacts& word) {
      used(word.atomic, word.atomic_early, word.late);
      word.stored |= instruction.op == Op::Store;
      word.on_device |= !instruction.for_host;
    });
  }
  void escape(const Operand& operand) {
    each_word(facts_.origin(kernel_, operand), [](WordFacts& word) { word.escapes = word.late = true; });
  }

  void conclude(const Instruction& instruction) {
    const std::vector<Operand>& operands = instruction.operands;
    const bool reaches = may_be_global(instruction.space);
    switch (instruction.op) {
      case Op::Load:
        if (operands.size() < 2) return unknown(instruction);
        if (reaches) instruction.strong ? update(instruction, operands[1]) : read(operands[1]);
        if (instruction.space == Space::Const) facts_.uses_constants |= facts_.origin(kernel_, operands[1]).symbol;
        return;
      case Op::Store:
        if (operands.size() < 2) return unknown(instruction);
        if (reaches) instruction.strong ? update(instruction, operands[0]) : write(operands[0]);
        for (std::size_t i = 1; i < operands.size(); ++i) escape(operands[i]);
        return;
      case Op::Atomic:
      case Op::Reduce: {
        const std::size_t at = instruction.op == Op::Atomic ? 1 : 0;
        if (operands.size() <= at) return unknown(instruction);
        if (reaches) update(instruction, operands[at]);
        for (std::size_t i = at + 1; i < operands.size(); ++i) escape(operands[i]);
        return;
      }
      case Op::AsyncCopy:
        if (operands.size() < 2) return unknown(instruction);
        return read(operands[1]);
      case Op::BulkCopy:
        if (operands.size() < 2) return unknown(instruction);
        if (instruction.target_space == Space::Global) {
          if (instruction.reduces)
            update(instruction, operands[0]);
          else
            write(operands[0]);
        }
        if (instruction.space == Space::Global) read(operands[1]);
        return;
      case Op::Call:
        if (const DeviceFunction* called = harmless_function(instruction)) {
          facts_.prints |= called->prints;
          return;
        }
        return unknown(instruction);
      case Op::Other:
        return unknown(instruction);
      case Op::SurfaceStore:
      case Op::SurfaceReduce:
        for (std::size_t i = 1; i < operands.size(); ++i) escape(operands[i]);
        return;
      default:
        return;
    }
  }

  void unknown(const Instruction& instruction) {
    facts_.strays = true;
    for (const Operand& operand : instruction.operands) {
      each_word(facts_.origin(kernel_, operand),
                [](WordFacts& word) { word.read = word.written = word.atomic = word.escapes = word.late = true; });
    }
  }

  const Kernel& kernel_;
  Facts& facts_;
  std::vector<bool> anchored_;
  bool early_ = false;  ///< of the instruction that is being concluded from
};

}  // namespace

bool Origin::any_word() const {
  return std::ranges::any_of(bits_, [](std::uint64_t bits) { return bits != 0; });
}

bool Origin::merge(const Origin& other) {
  bool grew = (other.loaded && !loaded) || (other.symbol && !symbol) || (other.own && !own);
  own |= other.own;
  loaded |= other.loaded;
  symbol |= other.symbol;
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    grew |= (other.bits_[i] & ~bits_[i]) != 0;
    bits_[i] |= other.bits_[i];
  }
  return grew;
}

Origin Facts::origin(const Kernel& kernel, const Operand& operand) const {
  Origin out(words.size());
  for_each_register(operand, [&](int reg) { out.merge(origins[static_cast<std::size_t>(reg)]); });
  const auto symbols = [&](const auto& self, const Operand& each) -> void {
    for (const Operand& element : each.elements) self(self, element);
    if (each.symbol.empty()) return;
    const Parameter* parameter = kernel.parameter(each.symbol);
    if (!parameter)
      (is_own(kernel, each.symbol) ? out.own : out.symbol) = true;
    else
      for (std::size_t word = parameter->offset / kWordBytes;
           word < words.size() && word * kWordBytes < parameter->offset + parameter->bytes; ++word)
        out.insert(word);
  };
  symbols(symbols, operand);
  return out;
}

Facts facts_of(const Kernel& kernel) {
  Facts facts;
  facts.known = kernel.understood && Analysis(kernel, facts).run();
  if (!facts.known) return facts;
  const Waiting waiting = waiting_of(kernel, facts);
  facts.can_wait = waiting.can_wait;
  facts.waits_for_others = waiting.for_others;
  return facts;
}

bool is_confined(const Facts& facts, const std::vector<std::size_t>& pointer_words,
                 const std::function<bool(std::size_t word)>& harmless) {
  if (!facts.known || facts.uses_constants || facts.strays) return false;
  return std::ranges::all_of(facts.addresses, [&](const Origin& origin) {
    if (std::ranges::any_of(pointer_words, [&](std::size_t word) { return origin.contains(word); })) return true;
    if (origin.own && !origin.any_word()) return true;
    if (origin.loaded) return false;
    for (std::size_t word = 0; word < facts.words.size(); ++word)
      if (origin.contains(word) && !harmless(word)) return false;
    return true;
  });
}

const DeviceFunction* harmless_function(const Instruction& instruction) {
  static constexpr DeviceFunction kKnown[] = {
      {"vprintf", true},
      {"__assertfail", true},
      {"cudaGraphSetConditional", false},  // what its node does then is up to the graph (R-GRF-27)
  };
  for (const Operand& operand : instruction.operands) {
    if (operand.kind != Kind::Symbol) continue;
    for (const DeviceFunction& each : kKnown) {
      if (operand.symbol == each.name) return &each;
    }
  }
  return nullptr;
}

}  // namespace streamsan::ptx
