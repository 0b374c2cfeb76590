// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distances and lengths in bytes, as polynomials over the values of variables. overlap.h explains it.
#include "analyzer/analysis/overlap.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "analyzer/ir/polynomial.h"

namespace streamsan::analyzer {
namespace {

using ir::Polynomial;

/// `key` times `unit`; absent: it is not known, or not one value.
std::optional<Polynomial> in_bytes(const Values& values, KeyId id, std::uint32_t unit) {
  const Key& key = values[id];
  if (key.constant) return Polynomial(*key.constant).times(Polynomial(unit));
  if (!key.precise) return std::nullopt;
  const auto name = [&](std::string_view word) -> std::string {
    std::size_t number = 0;
    const char* end = word.data() + word.size();
    if (!word.starts_with('$') || std::from_chars(word.data() + 1, end, number).ptr != end) return {};
    if (number >= key.values.size()) return {};
    return "#" + std::to_string(static_cast<std::uint32_t>(key.values[number]));
  };
  const std::optional<Polynomial> steps = Polynomial::parse(key.text, name);
  return steps ? steps->times(Polynomial(unit)) : std::nullopt;
}

std::optional<Polynomial> offset(const Values& values, const Pending& access) {
  if (access.offset == kWhole) return Polynomial(0);
  const std::uint32_t unit = values[access.offset].unit;
  return unit == 0 ? std::nullopt : in_bytes(values, access.offset, unit);
}

/// The length of the access; absent: the call does not give it, or not in a form that can be compared.
std::optional<Polynomial> length(const Values& values, const Pending& access) {
  return access.bytes == kWhole ? std::nullopt : in_bytes(values, access.bytes, 1);
}

/// The polynomial subtracts no variable, so it is at least its constant if no variable is negative.
bool grows(const Polynomial& polynomial) {
  return std::ranges::all_of(polynomial.terms(), [](const auto& term) { return term.second > 0; });
}

/// The overlap of an access that is `bytes` long with one that begins `distance` after it.
Sure reaches(const std::optional<Polynomial>& bytes, const Polynomial& distance) {
  const std::optional<Polynomial> rest = bytes ? bytes->plus(distance, -1) : std::nullopt;
  const std::optional<std::int64_t> left = rest ? rest->constant() : std::nullopt;
  if (!left) return Sure::Maybe;
  if (*left <= 0) return Sure::No;
  // Behind its begin and before its end.
  return grows(distance) ? Sure::Yes : Sure::Maybe;
}

const ir::Part& part_of(const Values& values, const Pending& access) {
  static constexpr ir::Part kAll{};
  const ir::Op& op = values.op(access.op);
  return access.access < op.accesses.size() ? op.accesses[access.access].part : kAll;
}

/// As far as is known, the access begins at the pointer that the kernel was given. So does the access of a kernel whose
/// body is not understood, if the kernel gets no number that might choose a part.
bool from_front(const ir::Part& part) {
  using Kind = ir::Part::Kind;
  return part.kind == Kind::Whole || (part.kind == Kind::Unknown && !part.bytes);
}

bool leaves_front(const Values& values, const Pending& access) {
  const ir::Part& part = part_of(values, access);
  return !from_front(part) && !(part.kind == ir::Part::Kind::Single && part.bytes == 0);
}

/// An access that leaves out no more than this in front counts as one to the whole buffer. One that begins later may be
/// to another half.
bool little(const ir::Part& part) {
  constexpr std::int64_t kWidestMargin = 128;
  return !part.bytes || *part.bytes <= kWidestMargin;
}

/// The access itself shows that it is to the front, or gives its length.
bool measured(const Values& values, const Pending& access) {
  const ir::Part& part = part_of(values, access);
  using Kind = ir::Part::Kind;
  return values.op(access.op).work != ir::Work::Kernel || part.kind == Kind::Whole ||
         (part.kind == Kind::Single && part.bytes == 0);
}

/// The access is a kernel's to a variable of the device, which its code names.
bool names_variable(const Values& values, const Pending& access) {
  const ir::Op& op = values.op(access.op);
  return op.work == ir::Work::Kernel && access.access < op.accesses.size() &&
         op.accesses[access.access].memory.kind == ir::Operand::Kind::Address;
}

/// The number of variables in the longest of its terms.
std::size_t degree(const Polynomial& polynomial) {
  std::size_t most = 0;
  for (const auto& [variables, factor] : polynomial.terms()) most = std::max(most, variables.size());
  return most;
}

/// The overlap of a kernel's part of a block with work that begins at the start of the block.
Sure meets(const Values& values, const ir::Part& part, const Pending& whole) {
  using Kind = ir::Part::Kind;
  if (part.kind == Kind::From) return Sure::Maybe;
  const bool kernel = values.op(whole.op).work == ir::Work::Kernel;
  const std::optional<Polynomial> bytes = kernel ? std::nullopt : length(values, whole);
  const std::optional<std::int64_t> number = bytes ? bytes->constant() : std::nullopt;
  // The place in the variable is not known: only an access to all of the variable surely overlaps.
  if (part.kind == Kind::Unknown) return number && part.bytes && *number >= *part.bytes ? Sure::Yes : Sure::Maybe;
  // It begins at the front, so it overlaps the front, and an inside. A row is not a short front.
  if (kernel) return little(part) && (part.kind == Kind::Inside || part.bytes) ? Sure::Yes : Sure::Maybe;
  if (!bytes) return part.bytes && little(part) && whole.bytes == kWhole ? Sure::Yes : Sure::Maybe;
  if (!part.bytes) return part.kind == Kind::Inside && degree(*bytes) > 1 ? Sure::Yes : Sure::Maybe;
  // A size that is not a number is assumed to be more than a few elements.
  return (number ? *number > *part.bytes : little(part)) ? Sure::Yes : Sure::Maybe;
}

/// The overlap of two accesses that begin at the same place, apart from the parts that kernels leave out there.
Sure parts_meet(const Values& values, const Pending& a, const Pending& b) {
  using Kind = ir::Part::Kind;
  const ir::Part &mine = part_of(values, a), &other = part_of(values, b);
  if (from_front(mine) && from_front(other)) return Sure::Yes;
  if (from_front(mine)) return meets(values, other, a);
  if (from_front(other)) return meets(values, mine, b);
  if (mine.kind != other.kind) return Sure::Maybe;
  if (mine.kind == Kind::Inside)
    return mine.bytes == other.bytes || (little(mine) && little(other)) ? Sure::Yes : Sure::Maybe;
  if (mine.kind == Kind::Single) return mine.bytes && mine.bytes == other.bytes ? Sure::Yes : Sure::Maybe;
  if (mine.kind == Kind::Unknown) return Sure::Maybe;
  return a.from != kWhole && a.from == b.from && values.precise(a.from) ? Sure::Yes : Sure::Maybe;
}

}  // namespace

bool writes(ir::Mode mode) {
  return mode == ir::Mode::Write || mode == ir::Mode::ReadWrite || mode == ir::Mode::Atomic;
}

Sure overlap(const Values& values, const Pending& a, const Pending& b) {
  // Allocating and freeing concern the whole block.
  if (a.access >= kRelease || b.access >= kRelease) return Sure::Yes;
  if (a.memory != b.memory) {
    // One is an object and the other a part of it. The part of a variable that a kernel uses is known in bytes, not by
    // name.
    if (names_variable(values, a) || names_variable(values, b)) return Sure::Maybe;
    return a.offset == kWhole && b.offset == kWhole ? parts_meet(values, a, b) : Sure::Maybe;
  }
  if (a.offset == b.offset && values.precise(a.offset)) return parts_meet(values, a, b);
  const std::optional<Polynomial> from = offset(values, a), to = offset(values, b);
  const std::optional<Polynomial> distance = from && to ? to->plus(*from, -1) : std::nullopt;
  if (!distance) return Sure::Maybe;
  const std::optional<std::int64_t> number = distance->constant();
  if (number == 0) return parts_meet(values, a, b);
  const std::optional<Polynomial> back = Polynomial(0).plus(*distance, -1);
  if (!back) return Sure::Maybe;
  const Sure forth = number && *number < 0 ? Sure::Maybe : reaches(length(values, a), *distance);
  const Sure found = forth != Sure::Maybe || (number && *number > 0) ? forth : reaches(length(values, b), *back);
  // The other access may be to nothing but the part that the kernel leaves out in front.
  return found == Sure::Yes && (leaves_front(values, a) || leaves_front(values, b)) ? Sure::Maybe : found;
}

/// The access is at indices that the kernel reads from memory.
bool is_scattered(const Values& values, const Pending& access) {
  const std::vector<ir::Access>& accesses = values.op(access.op).accesses;
  return is_somewhere(values, access) && access.access < accesses.size() && accesses[access.access].by_data;
}

bool are_by_lists(const Values& values, const Pending& a, const Pending& b) {
  using Kind = ir::Part::Kind;
  return (is_scattered(values, a) && part_of(values, b).kind != Kind::Whole) ||
         (is_scattered(values, b) && part_of(values, a).kind != Kind::Whole);
}

bool is_somewhere(const Values& values, const Pending& access) {
  return values.op(access.op).work == ir::Work::Kernel && part_of(values, access).kind == ir::Part::Kind::Unknown;
}

/// The call writes memory that it allocates itself, as `t.to(kCPU)` does: it writes all of it.
bool fills_its_own(const Values& values, const Pending& access) {
  const OpIndex maker = values.maker(access.memory);
  if (maker == kNoOp || access.bytes != kWhole || !writes(access.mode)) return false;
  const ir::Op &made = values.op(maker), &work = values.op(access.op);
  return work.kind == ir::OpKind::Enqueue && work.work == ir::Work::Library && made.site == work.site;
}

/// Every value stored in `place` is a whole block as it was allocated, and never a part of a tensor. A place that was
/// moved from is empty.
bool holds_blocks(const ir::Function& function, ir::PlaceId place, int depth = 0) {
  constexpr int kDeepest = 2;
  bool any = false, all = true, cleared = false;
  for (const ir::Block& block : function.blocks)
    for (const ir::Op& op : block.ops) {
      if (op.target != place) continue;
      const ir::Operand& from = op.source;
      const bool assigned = op.kind == ir::OpKind::Assign, empty = from.kind == ir::Operand::Kind::Null;
      cleared = cleared || (assigned && empty);
      if (assigned && empty) continue;
      any = true;
      all = all && (op.kind == ir::OpKind::Allocate ||
                    (assigned && from.kind == ir::Operand::Kind::Value && from.offset == ir::kNoExpr &&
                     depth < kDeepest && holds_blocks(function, from.place, depth + 1)));
    }
  return any && all && (depth == 0 || cleared);
}

/// The access is by `host.copy_(device)` or `device.copy_(host)`, which use every element of both.
bool copies_all(const Values& values, const Pending& access) {
  const ir::Op& op = values.op(access.op);
  if (!op.tensor || op.work != ir::Work::Library || access.access >= op.accesses.size()) return false;
  const ir::Operand& memory = op.accesses[access.access].memory;
  return memory.kind == ir::Operand::Kind::Value && memory.offset == ir::kNoExpr && access.bytes == kWhole &&
         values.maker(access.memory) != kNoOp && holds_blocks(values.function(), memory.place);
}

Sure message_overlap(const Values& values, const Pending& message, const Pending& work) {
  const Sure common = overlap(values, message, work);
  return common == Sure::Yes && !measured(values, work) ? Sure::Maybe : common;
}

Sure host_overlap(const Values& values, const Pending& earlier, const Pending& touch) {
  const bool by_call = touch.bytes == kWhole && !values.op(touch.op).name.empty();
  const Sure common = overlap(values, earlier, touch);
  if (by_call && common == Sure::Yes && !measured(values, earlier)) return Sure::Maybe;
  if (common != Sure::Maybe || earlier.offset != kWhole) return common;
  if (earlier.memory == touch.memory && (fills_its_own(values, earlier) || copies_all(values, earlier)))
    return Sure::Yes;
  if (!from_front(part_of(values, earlier)) || names_variable(values, earlier)) return Sure::Maybe;
  if (earlier.memory != touch.memory) return Sure::Yes;
  // The length of the device's access is not known. It is at least a few elements: no program copies or launches a
  // kernel for less. But it need not reach the second half, or the place of a variable index. A kernel without an
  // integer argument does not divide the buffer.
  const bool sized = earlier.bytes != kWhole || earlier.arguments != kWhole || values.op(earlier.op).limited;
  const std::int64_t surely_reached = sized ? 256 : 4096;
  const Key& index = values[touch.offset];
  return index.constant && *index.constant >= 0 && *index.constant < surely_reached ? Sure::Yes : Sure::Maybe;
}

Sure conflict(ir::Mode a, ir::Mode b) {
  using ir::Mode;
  if ((a == Mode::Read && b == Mode::Read) || (a == Mode::Atomic && b == Mode::Atomic)) return Sure::No;
  if (a == Mode::Unknown || b == Mode::Unknown) return Sure::Maybe;
  return writes(a) || writes(b) ? Sure::Yes : Sure::No;
}

bool presumed_conflict(const ir::Op& op, ir::Mode mode, const ir::Op& other, ir::Mode other_mode) {
  const auto unseen = [](const ir::Op& of, ir::Mode does) {
    return of.kind == ir::OpKind::Enqueue && of.work == ir::Work::Kernel && does == ir::Mode::Unknown;
  };
  return (unseen(op, mode) && writes(other_mode)) || (unseen(other, other_mode) && writes(mode));
}

}  // namespace streamsan::analyzer
