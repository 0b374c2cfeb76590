// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running IR.
//
// Each thread has its own frames. Threads take turns only when one of them waits, so that a run is the same every time.
// A call that waits is made again when the others have had their turn (Outcome::Again). If no thread makes progress,
// the run is over.
#include "analyzer/interpreter/machine.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "analyzer/interpreter/decode.h"
#include "analyzer/interpreter/values.h"
#include "analyzer/models/host_calls.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace streamsan::analyzer::interpreter {

Word Arguments::word(std::size_t i) const {
  Word value = 0;
  if (i < values.size()) std::memcpy(&value, values[i], sizeof value);
  return value;
}
std::uint32_t Arguments::word32(std::size_t i) const {
  std::uint32_t value = 0;
  if (i < values.size()) std::memcpy(&value, values[i], sizeof value);
  return value;
}

Machine::Machine(const llvm::Module& module, World& world, std::uint64_t most_steps)
    : module_(module), world_(world), image_(module, memory_), most_steps_(most_steps) {}

Machine::~Machine() = default;

void Machine::stop(std::string why) {
  if (!stopped_.empty()) return;
  stopped_ = std::move(why);
  if (thread_ == nullptr || thread_->frames.empty()) return;
  // The innermost frame whose code has a line in the program.
  for (auto frame = thread_->frames.rbegin(); frame != thread_->frames.rend(); ++frame) {
    if (frame->at == nullptr) continue;
    stopped_ += " in " + frame->code->function->getName().str();
    if (const llvm::DebugLoc& at = frame->at->getDebugLoc()) stopped_ += ":" + std::to_string(at.getLine());
    break;
  }
}

const Code* Machine::code_of(const llvm::Function& function) {
  std::unique_ptr<Code>& known = code_[&function];
  if (!known) {
    known = std::make_unique<Code>();
    known->function = &function;
    known->taken = world_.takes(function);
    if (!known->taken) decode(function, image_, *known);
    if (image_.full()) stop("no memory for variables");
  }
  return known.get();
}

// ---- calls ----------------------------------------------------------------------------------------------------------

bool Machine::enter(const llvm::Function& function, std::span<const Byte* const> arguments,
                    const llvm::CallBase* call) {
  const Code* const code = code_of(function);
  constexpr std::size_t kDeepest = 600;
  Thread& thread = *thread_;
  Byte* const slots = thread.top;
  const Byte* const end = memory_.stack(thread.number) + Memory::kStack;
  if (thread.frames.size() >= kDeepest || slots + code->frame + 4096 > end) {
    stop("calls are too deep");
    return false;
  }
  thread.top += code->frame;
  for (std::size_t i = 0; i < code->arguments.size() && i < arguments.size(); ++i) {
    const auto [place, size] = code->arguments[i];
    if (arguments[i] != nullptr) std::memcpy(slots + place, arguments[i], size);
    const auto* argument = function.getArg(static_cast<unsigned>(i));
    if (!argument->hasByValAttr()) continue;
    // The callee's own copy.
    const std::size_t bytes = image_.layout().getTypeAllocSize(argument->getParamByValType()).getFixedValue();
    Word from = 0;
    std::memcpy(&from, slots + place, sizeof from);
    if (!memory_.contains(from, bytes)) {
      stop("an argument is nowhere");
      return false;
    }
    thread.top = reinterpret_cast<Byte*>((reinterpret_cast<Word>(thread.top) + 31) & ~Word{31});
    if (bytes > Memory::kStack || thread.top + bytes + 4096 > end) {
      stop("the stack is too small");
      return false;
    }
    std::memcpy(thread.top, reinterpret_cast<const void*>(from), bytes);
    const Word copy = reinterpret_cast<Word>(thread.top);
    std::memcpy(slots + place, &copy, sizeof copy);
    thread.top += bytes;
  }
  thread.frames.push_back({.code = code, .next = 0, .slots = slots, .call = call, .at = nullptr});
  return true;
}

void Machine::leave(const Byte* result) {
  const Frame left = thread_->frames.back();
  thread_->frames.pop_back();
  thread_->top = left.slots;
  if (thread_->frames.empty() && thread_->number == 0 && left.code->function->getReturnType()->isIntegerTy(32) &&
      result != nullptr)
    std::memcpy(&result_, result, sizeof result_);
  if (thread_->frames.empty() || left.call == nullptr) return;
  if (gives_way_after_calls_ && thread_->number == 0 && thread_->frames.size() == 1) give_way();
  Frame& frame = thread_->frames.back();
  const Decoded& decoded = frame.code->body[frame.next];
  if (result != nullptr && decoded.place != kNoPlace) std::memmove(frame.slots + decoded.place, result, decoded.size);
  if (decoded.opcode == llvm::Instruction::Invoke) {
    go(frame, decoded, 0);
  } else {
    ++frame.next;
  }
}

void Machine::go(Frame& frame, const Decoded& decoded, std::size_t way) {
  const std::vector<Move>& moves = decoded.moves[way];
  const auto source = [&](const Operand& operand) {
    return operand.constant != nullptr ? operand.constant : frame.slots + operand.place;
  };
  if (moves.size() == 1) {
    std::memmove(frame.slots + moves[0].to, source(moves[0].from), moves[0].size);
  } else if (!moves.empty()) {  // all at once
    std::vector<Byte> values;
    for (const Move& move : moves) values.insert(values.end(), source(move.from), source(move.from) + move.size);
    std::size_t at = 0;
    for (const Move& move : moves) {
      std::memcpy(frame.slots + move.to, values.data() + at, move.size);
      at += move.size;
    }
  }
  frame.next = decoded.ways[way];
  if (const std::uint32_t loop = decoded.enters[way]; loop != kNoLoop) {
    if (frame.loops.empty()) frame.loops.resize(frame.code->loops);
    Frame::Rounds& rounds = frame.loops[loop];
    if (decoded.again[way]) {
      ++rounds.count;
    } else {
      rounds = {.steps = steps_, .events = events_, .polls = polls_, .count = 0};
    }
  }
}

/// A loop that only reads a value that another thread, or the GPU, has to write. The other threads get their turn; if
/// there are none, the loop is left as if the value had been written.
bool Machine::polls(Frame& frame, std::uint32_t loop) {
  constexpr std::uint32_t kPatience = 50;
  if (frame.loops.empty()) return false;
  Frame::Rounds& rounds = frame.loops[loop];
  if (rounds.events != events_ || rounds.polls == polls_ || rounds.count < kPatience) return false;
  const bool others = std::ranges::any_of(
      threads_, [&](const auto& other) { return other.get() != thread_ && !other->frames.empty(); });
  if (!others) {
    world_.polled(*this);
    return true;
  }
  rounds = {.steps = steps_, .events = events_, .polls = polls_, .count = 0};
  yielded_ = true;
  return false;
}

/// A loop that only computes need not run to its end, nor a loop that has had many rounds. If a loop was left early, it
/// is left earlier the next time: code that fills a large array often does so in each round of another loop.
bool Machine::is_enough(const Frame& frame, std::uint32_t loop) {
  constexpr std::uint64_t kMostSteps = 100'000, kMostAgain = 5'000;
  constexpr std::uint32_t kMostRounds = 40;
  if (frame.loops.empty()) return false;
  const Frame::Rounds& rounds = frame.loops[loop];
  if (rounds.events == events_) {
    const std::uint64_t taken = steps_ - rounds.steps;
    if (rounds.count <= 1 || taken <= kMostAgain) return false;
    const std::pair here(static_cast<const void*>(frame.code), loop);
    if (taken <= kMostSteps) return left_early_.contains(here);
    left_early_.insert(here);
    return true;
  }
  return rounds.count > kMostRounds && steps_ - rounds.steps > kMostSteps;
}

bool Machine::call_next(Word function, std::span<const Word> arguments) {
  const llvm::Function* const code = image_.function_at(function);
  if (code == nullptr || code->isDeclaration()) return false;
  std::vector<const Byte*> values;
  values.reserve(arguments.size());
  for (const Word& argument : arguments) values.push_back(reinterpret_cast<const Byte*>(&argument));
  return enter(*code, values, nullptr);
}

std::size_t Machine::rest_of_variable(Word address) const {
  for (const Frame& frame : thread_->frames) {
    for (const Decoded& one : frame.code->body) {
      const auto* made = llvm::dyn_cast<llvm::AllocaInst>(one.written);
      if (made == nullptr || one.place == kNoPlace || made->isArrayAllocation()) continue;
      const Word begin = load_word(reinterpret_cast<Word>(frame.slots + one.place));
      const Word size = image_.layout().getTypeAllocSize(made->getAllocatedType()).getFixedValue();
      if (begin <= address && address < begin + size) return begin + size - address;
    }
  }
  return 0;
}

std::size_t Machine::start_thread(Word function, std::span<const Word> arguments) {
  if (threads_.size() >= Memory::kMostThreads) return 0;
  auto& fresh = threads_.emplace_back(std::make_unique<Thread>());
  fresh->number = threads_.size() - 1;
  fresh->top = memory_.stack(fresh->number) + 64;
  fresh->started_at = thread_->number == 0 ? thread_->frames.front().at : thread_->started_at;
  Thread* const before = thread_;
  thread_ = fresh.get();
  const bool entered = call_next(function, arguments);
  thread_ = before;
  return entered ? fresh->number : 0;
}

bool Machine::has_ended(std::size_t thread) const {
  return thread >= threads_.size() || threads_[thread]->frames.empty();
}

void Machine::woken() {
  const auto& first = threads_.front()->frames;
  if (thread_->number != 0 && !first.empty()) thread_->woken_at = first.front().at;
}

void Machine::run(const llvm::Function& function) {
  if (!memory_.usable()) return stop("no memory");
  threads_.push_back(std::make_unique<Thread>());
  thread_ = threads_.front().get();
  thread_->top = memory_.stack(0) + 64;
  const auto to_the_end = [&] {
    std::size_t idle = 0;
    constexpr std::size_t kMostIdle = 2000;
    for (std::size_t turn = 0; stopped_.empty();) {
      if (thread_->frames.empty() || yielded_) {
        yielded_ = false;
        if (std::ranges::all_of(threads_, [](const auto& thread) { return thread->frames.empty(); })) return;
        if (++idle > kMostIdle) return stop("all threads wait");
        do {
          turn = (turn + 1) % threads_.size();
        } while (threads_[turn]->frames.empty());
        thread_ = threads_[turn].get();
        continue;
      }
      const std::size_t before = thread_->frames.size();
      step();
      if (!yielded_ && (thread_->frames.size() != before)) idle = 0;
      if (steps_ > most_steps_) return ask_too_much("too many steps");
    }
  };
  if (const llvm::GlobalVariable* list = module_.getNamedGlobal("llvm.global_ctors");
      list != nullptr && list->hasInitializer()) {
    if (const auto* entries = llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer())) {
      for (const llvm::Use& entry : entries->operands()) {
        const auto* maker =
            llvm::dyn_cast<llvm::Function>(llvm::cast<llvm::ConstantStruct>(entry.get())->getOperand(1));
        if (maker == nullptr || maker->isDeclaration()) continue;
        if (host_call(maker->getName()) == HostCall::ModuleConstructor) continue;
        enter(*maker, {}, nullptr);
        to_the_end();
      }
    }
  }
  if (!stopped_.empty()) return;
  // main(int, char**): one argument, an empty one.
  Byte* const words = memory_.heap(64);
  const Word name = reinterpret_cast<Word>(words + 32), list = reinterpret_cast<Word>(words);
  std::memcpy(words, &name, sizeof name);
  const std::uint64_t count = 1;
  const Byte* const arguments[] = {reinterpret_cast<const Byte*>(&count), reinterpret_cast<const Byte*>(&list)};
  thread_ = threads_.front().get();
  enter(function, std::span(arguments, std::min<std::size_t>(function.arg_size(), 2)), nullptr);
  to_the_end();
}

// ---- exceptions -----------------------------------------------------------------------------------------------------

int Machine::selector(Word type) {
  return selectors_.try_emplace(type, static_cast<int>(selectors_.size()) + 1).first->second;
}

namespace {

/// Exception classes of the C++ library, by the names of their type_infos.
bool is_base_of(std::string_view base, std::string_view thrown) {
  static constexpr std::array<std::string_view, 4> kLogic = {"_ZTISt12out_of_range", "_ZTISt12length_error",
                                                             "_ZTISt16invalid_argument", "_ZTISt12domain_error"};
  static constexpr std::array<std::string_view, 4> kRuntime = {"_ZTISt12system_error", "_ZTISt11range_error",
                                                               "_ZTISt14overflow_error", "_ZTISt15underflow_error"};
  if (base == thrown) return true;
  if (base == "_ZTISt9exception") return thrown.starts_with("_ZTISt") || thrown == "_ZTIN3c105ErrorE";
  if (base == "_ZTISt11logic_error") return std::ranges::find(kLogic, thrown) != kLogic.end();
  return base == "_ZTISt13runtime_error" && std::ranges::find(kRuntime, thrown) != kRuntime.end();
}

}  // namespace

bool Machine::catches(Word thrown, Word wanted) {
  if (wanted == 0 || thrown == wanted) return true;
  const std::string* const name = image_.outside_type(wanted);
  for (int depth = 0; depth < 8 && thrown != 0; ++depth) {
    if (thrown == wanted) return true;
    if (const std::string* const outside = image_.outside_type(thrown))
      return name != nullptr && is_base_of(*name, *outside);
    // A class with one base: in its type_info, that of the base follows the name.
    if (!memory_.contains(thrown, 24)) return false;
    std::memcpy(&thrown, reinterpret_cast<const Byte*>(thrown) + 16, sizeof thrown);
    if (!memory_.contains(thrown, 8)) return false;
  }
  return false;
}

void Machine::throw_now(Word object, Word type) {
  type_of_[object] = type;
  thread_->thrown = object;
  unwind();
}

void Machine::rethrow() {
  if (thread_->caught.empty()) return stop("nothing to throw again");
  thread_->thrown = thread_->caught.back();
  unwind();
}

/// Unwinds from the current call of the innermost frame.
void Machine::unwind() {
  const Word object = thread_->thrown, type = type_of_[object];
  while (!thread_->frames.empty()) {
    Frame& frame = thread_->frames.back();
    const Decoded& decoded = frame.code->body[frame.next];
    if (const auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(decoded.written)) {
      const llvm::LandingPadInst* pad = invoke->getLandingPadInst();
      int chosen = pad->isCleanup() ? 0 : -1;
      for (unsigned i = 0; i < pad->getNumClauses(); ++i) {
        if (!pad->isCatch(i)) continue;
        Word wanted = 0;
        std::memcpy(&wanted, image_.constant(*pad->getClause(i)), sizeof wanted);
        if (!catches(type, wanted)) continue;
        chosen = selector(wanted);
        break;
      }
      if (chosen >= 0) {
        go(frame, decoded, 1);
        const Decoded& landing = frame.code->body[frame.next];
        std::memcpy(frame.slots + landing.place, &object, sizeof object);
        std::memcpy(frame.slots + landing.place + sizeof object, &chosen, sizeof chosen);
        ++frame.next;
        return;
      }
    }
    const bool outermost = frame.call == nullptr;
    thread_->top = frame.slots;
    thread_->frames.pop_back();
    if (outermost) break;
  }
  give_up("an exception that nobody catches");
}

void Machine::call(const Decoded& decoded, Frame& frame) {
  const auto& written = llvm::cast<llvm::CallBase>(*decoded.written);
  const auto at = [&](const Operand& operand) -> const Byte* {
    return operand.constant != nullptr ? operand.constant : frame.slots + operand.place;
  };
  const auto done = [&] {
    Frame& now = thread_->frames.back();
    if (decoded.opcode == llvm::Instruction::Invoke) {
      go(now, decoded, 0);
    } else {
      ++now.next;
    }
  };
  const llvm::Function* callee = written.getCalledFunction();
  if (callee == nullptr) {
    if (written.isInlineAsm()) {
      if (decoded.place != kNoPlace) std::memset(frame.slots + decoded.place, 0, decoded.size);
      return done();
    }
    const unsigned last = written.getNumOperands() - 1;
    Word address = 0;
    std::memcpy(&address, at(decoded.operands[last]), sizeof address);
    callee = image_.function_at(address);
    if (callee == nullptr) return stop("a call of a function that is not known");
  }
  if (callee->isIntrinsic()) {
    intrinsic(*callee, decoded, frame);
    return done();
  }
  llvm::SmallVector<const Byte*, 8> arguments;
  for (unsigned i = 0; i < written.arg_size(); ++i) arguments.push_back(at(decoded.operands[i]));
  if (!callee->isDeclaration() && !code_of(*callee)->taken) {
    enter(*callee, arguments, &written);
    return;
  }
  // Small arguments are widened: the bytes behind them in the frame may have any value.
  llvm::SmallVector<Word, 8> widened(arguments.size());
  for (unsigned i = 0; i < written.arg_size(); ++i) {
    const std::size_t size = image_.layout().getTypeStoreSize(written.getArgOperand(i)->getType()).getFixedValue();
    if (size > sizeof(Word)) continue;
    std::memcpy(&widened[i], arguments[i], size);
    arguments[i] = reinterpret_cast<const Byte*>(&widened[i]);
  }
  Byte* const result = decoded.place == kNoPlace ? nullptr : frame.slots + decoded.place;
  if (result != nullptr) std::memset(result, 0, decoded.size);
  const std::size_t depth = thread_->frames.size();
  Thread* const caller = thread_;
  const std::size_t here = frame.next;
  switch (world_.call(*this, *callee, Arguments{arguments}, result)) {
    case Outcome::Again:
      ++events_;
      yielded_ = true;
      return;
    case Outcome::Stop:
      return give_up("the program ends");
    case Outcome::Done:
    case Outcome::Unknown:
      break;
  }
  if (!stopped_.empty() || thread_ != caller) return;
  if (caller->frames.size() > depth) {
    // call() has entered a function with a body, so this instruction is done.
    Frame& waiting = caller->frames[depth - 1];
    if (decoded.opcode == llvm::Instruction::Invoke) {
      go(waiting, decoded, 0);
    } else {
      ++waiting.next;
    }
    return;
  }
  // An exception has moved on.
  if (caller->frames.size() < depth || caller->frames.back().next != here) return;
  done();
}

}  // namespace streamsan::analyzer::interpreter
