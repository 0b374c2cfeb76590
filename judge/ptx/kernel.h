// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's PTX as data: parameters, registers, instructions with decoded operands.
//
// PTX is typed by its instructions, not by its registers, and an instruction's name is a list of words with dots
// ("ld.global.nc.v4.f32"). Only what addresses and control flow depend on is decoded; everything else is Op::Other,
// which users must treat as "may do anything to its operands". Registers of inner scopes with the name of an outer one
// are different registers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace streamsan::ptx {

enum class Op : std::uint8_t {
  Other,  ///< not known: may touch memory, write any of its operands, keep any of its operands
  Pure,   ///< writes its first operand and touches nothing: arithmetic whose result nobody follows
  None,   ///< neither results nor memory outside of the block: barriers, fences, hints, prefetches
  // Followed arithmetic.
  Add,
  Sub,
  Mul,
  Mad,
  Div,
  Rem,
  Neg,
  Not,
  Abs,
  Min,
  Max,
  And,
  Or,
  Xor,
  Shl,
  Shr,
  Bfe,
  Bfi,
  Set,     ///< setp
  Select,  ///< selp
  Move,
  Convert,
  ToSpace,  ///< cvta: a generic address into that of a space, or back
  // Memory.
  Load,
  Store,
  Atomic,     ///< with a result
  Reduce,     ///< an atomic without one
  AsyncCopy,  ///< cp.async: global to shared, by the thread
  BulkCopy,   ///< cp.async.bulk and its reductions, not of tensors
  // Memory through an object (textures.h).
  TextureLoad,    ///< tex, tld4
  SurfaceLoad,    ///< suld
  SurfaceStore,   ///< sust
  SurfaceReduce,  ///< sured
  // Control.
  Branch,
  Call,
  Exit,  ///< ret, exit, trap
};

constexpr bool is_followed_arithmetic(Op op) { return op >= Op::Add && op <= Op::ToSpace; }

/// What orders the threads of a grid, or grids; most are Op::None.
enum class Sync : std::uint8_t {
  None,
  GridWait,     ///< griddepcontrol.wait: for the grid in front
  GridTrigger,  ///< griddepcontrol.launch_dependents: the grid behind may begin
  Barrier,      ///< a thread may wait here for others of its block or cluster
  Fence,        ///< makes what the thread has written visible to the whole GPU
};

/// The state space of a memory operand.
enum class Space : std::uint8_t { Generic, Global, Shared, Local, Const, Param };

enum class Compare : std::uint8_t { None, Eq, Ne, Lt, Le, Gt, Ge };

/// Which product of two words is meant.
enum class Half : std::uint8_t { Low, High, Both };

struct Type {
  std::uint8_t bits = 0;  ///< 0: none; 1: a predicate
  bool is_signed = false;
  bool is_integer = false;  ///< also untyped bits
  bool operator==(const Type&) const = default;
};

/// Special registers, in this order: %tid.x ... %nctaid.z.
enum class Special : std::uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  Unknown
};

struct Operand {
  enum class Kind : std::uint8_t {
    None,
    Register,
    Immediate,
    Special,
    Symbol,  ///< the address of a variable, parameter or function
    Memory,  ///< [base + immediate]; base is in `reg` (>= 0) or `symbol`; further ones in `elements`
    List,    ///< {a, b}, (a, b) or a|b
    Opaque,  ///< a float, or what could not be read
  };
  Kind kind = Kind::None;
  int reg = -1;
  bool negated = false;  ///< !%p
  Special special = Special::Unknown;
  std::int64_t immediate = 0;
  std::string symbol;
  std::vector<Operand> elements;
};

struct Instruction {
  Op op = Op::Other;
  Space space = Space::Generic;
  Space target_space = Space::Generic;  ///< BulkCopy, AsyncCopy: of the first operand
  Compare compare = Compare::None;
  bool compare_unsigned = false;  ///< setp.lo, ls, hi, hs
  char combine = 0;               ///< setp with a third source: '&', '|', '^'
  Half half = Half::Low;
  bool to_generic = false;  ///< cvta without "to"
  bool strong = false;      ///< relaxed, acquire or release at the scope of the GPU or system
  bool for_host = false;    ///< of an access that is atomic: it is so for the host, too: of system scope, or volatile
  bool of_system = false;   ///< says that it is of system scope
  bool is_volatile = false;
  bool past_cache = false;  ///< Load: not from the nearest cache, which may be out of date
  bool renews = false;      ///< a fence, barrier or pause: an ordinary load behind it is made anew
  Sync sync = Sync::None;
  bool saturates = false;
  bool reduces = false;     ///< BulkCopy: adds, or the like, atomically
  std::uint8_t vector = 1;  ///< elements of a vector access
  Type type;                ///< the last type; of a convert: of the result
  Type source_type;         ///< of a convert
  int guard = -1;           ///< register of the predicate, -1: none
  bool guard_negated = false;
  std::int32_t target = -1;  ///< Branch: index of the instruction; -1: not one place
  std::vector<Operand> operands;
};

/// May its memory be global?
constexpr bool may_be_global(Space space) { return space == Space::Global || space == Space::Generic; }

struct Parameter {
  std::string name;
  std::uint32_t offset = 0;  ///< bytes from the first parameter
  std::uint32_t bytes = 0;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Instruction> instructions;
  std::vector<std::string> own_variables;  ///< declared in the body: of the block or the thread
  int registers = 0;
  bool understood = true;  ///< false: something outside of instructions could not be read; nothing may be concluded

  [[nodiscard]] bool is_own(const std::string& symbol) const {
    return std::find(own_variables.begin(), own_variables.end(), symbol) != own_variables.end();
  }
  [[nodiscard]] const Parameter* parameter(const std::string& symbol) const {
    for (const Parameter& each : parameters)
      if (each.name == symbol) return &each;
    return nullptr;
  }
  /// Where ld.param finds an element of its result, in bytes from the first parameter. Nothing: it is another
  /// instruction, or the place is not known, or not inside of one parameter.
  [[nodiscard]] std::optional<std::uint64_t> place_in_parameters(const Instruction& load, std::size_t element) const {
    if (load.op != Op::Load || load.space != Space::Param || load.operands.size() < 2) return std::nullopt;
    const Operand& memory = load.operands[1];
    const Parameter* of = memory.reg < 0 ? parameter(memory.symbol) : nullptr;
    const std::uint64_t bytes = load.type.bits / 8;
    if (!of || memory.immediate < 0 || bytes == 0) return std::nullopt;
    const std::uint64_t inside = static_cast<std::uint64_t>(memory.immediate) + element * bytes;
    return inside + bytes <= of->bytes ? std::optional(of->offset + inside) : std::nullopt;
  }
};

/// How many values the operand stands for.
inline std::size_t elements_of(const Operand& operand) {
  return operand.kind == Operand::Kind::List ? operand.elements.size() : 1;
}

/// The bytes a memory operand reaches.
constexpr std::uint64_t access_bytes(const Instruction& instruction) {
  return std::uint64_t{instruction.type.bits} / 8 * instruction.vector;
}

/// Calls `visit(int reg)` for each register in the operand, also in those it is made of.
template <typename Visit>
void for_each_register(const Operand& operand, const Visit& visit) {
  if (operand.reg >= 0) visit(operand.reg);
  for (const Operand& element : operand.elements) for_each_register(element, visit);
}

/// Calls `visit(int reg)` for each register the instruction may write.
template <typename Visit>
void for_each_result(const Instruction& instruction, const Visit& visit) {
  switch (instruction.op) {
    case Op::None:
    case Op::Store:
    case Op::Reduce:
    case Op::AsyncCopy:
    case Op::BulkCopy:
    case Op::SurfaceStore:
    case Op::SurfaceReduce:
    case Op::Branch:
    case Op::Exit:
      return;
    case Op::Other:
    case Op::Call:
      for (const Operand& operand : instruction.operands)
        if (operand.kind != Operand::Kind::Memory) for_each_register(operand, visit);
      return;
    default:
      if (!instruction.operands.empty() && instruction.operands[0].kind != Operand::Kind::Memory)
        for_each_register(instruction.operands[0], visit);
  }
}

}  // namespace streamsan::ptx
