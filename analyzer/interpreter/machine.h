// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine that runs LLVM IR, one instruction at a time, in memory of its own (memory.h). See machine.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/interpreter/image.h"
#include "analyzer/interpreter/memory.h"

namespace llvm {
class CallBase;
class Function;
class Instruction;
class Module;
}  // namespace llvm

namespace streamsan::analyzer::interpreter {

struct Code;
struct Decoded;

/// One call under way.
struct Frame {
  const Code* code = nullptr;
  std::size_t next = 0;                   ///< the next instruction
  Byte* slots = nullptr;                  ///< the values of its instructions
  const llvm::CallBase* call = nullptr;   ///< the call in the caller; nullptr: the machine itself called
  const llvm::Instruction* at = nullptr;  ///< the instruction under way
  /// The counters of the machine when a loop was entered, and the number of rounds since.
  struct Rounds {
    std::uint64_t steps = 0;
    std::uint64_t events = 0;
    std::uint64_t polls = 0;
    std::uint32_t count = 0;
  };
  std::vector<Rounds> loops;
};

struct Thread {
  std::size_t number = 0;
  std::vector<Frame> frames;
  Byte* top = nullptr;  ///< the top of its stack
  std::vector<Word> caught;
  Word thrown = 0;
  std::size_t turns = 0;  ///< how often it has taken a lock
  std::size_t locks = 0;  ///< how many it holds
  /// Where the first thread was, in its outermost function, when this thread was started.
  const llvm::Instruction* started_at = nullptr;
  const llvm::Instruction* woken_at = nullptr;  ///< and when it last woke up from a condition; nullptr: never
};

/// The arguments of a call to a function without a body.
struct Arguments {
  std::span<const Byte* const> values;
  [[nodiscard]] std::size_t size() const { return values.size(); }
  [[nodiscard]] Word word(std::size_t i) const;
  [[nodiscard]] std::uint32_t word32(std::size_t i) const;
};

enum class Outcome : std::uint8_t {
  Done,
  Again,    ///< the thread waits: the others run first, then the same call is made again
  Unknown,  ///< the function is not known here
  Stop,     ///< the program ends
};

class Machine;
struct Step;

/// Runs functions without a body, and is notified of accesses to memory that host and GPU share.
class World {
 public:
  virtual ~World() = default;
  virtual Outcome call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result) = 0;
  /// True: call() is used instead of the body that this function has. Asked once per function.
  virtual bool takes(const llvm::Function& function) = 0;
  /// A loop polls a value that nothing here writes: it counts as a wait.
  virtual void polled(Machine& machine) = 0;
  /// The host accesses memory that the GPU may use.
  virtual void touch(Machine& machine, Word address, std::size_t size, bool write) = 0;
};

class Machine {
 public:
  Machine(const llvm::Module& module, World& world, std::uint64_t most_steps);
  ~Machine();

  /// Runs static initialisers, then the function, with zeros as arguments, then all threads to their end.
  void run(const llvm::Function& function);

  Memory& memory() { return memory_; }
  [[nodiscard]] const llvm::Module& module() const { return module_; }
  /// The running thread has taken a lock. `another`: one that it did not hold yet.
  void took_lock(bool another) {
    ++thread_->turns;
    if (another) ++thread_->locks;
  }
  void gave_lock() {
    if (thread_->locks != 0) --thread_->locks;
  }
  [[nodiscard]] const Thread& thread() const { return *thread_; }
  /// Notes an action other than computing. A loop with such actions is not cut short like one that only computes.
  void event() { ++events_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Lets the program's other threads have a turn.
  void give_way() { yielded_ = threads_.size() > 1; }
  /// As give_way(), whenever a call made by the outermost function is over.
  void give_way_after_calls() { gives_way_after_calls_ = true; }
  /// The thread goes on after a wait for a condition.
  void woken();
  /// Loops with events were cut short.
  [[nodiscard]] bool cut() const { return cut_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// Writes a number. False: the address is not the program's; the machine has stopped.
  bool store(Word address, Word value, std::size_t size = sizeof(Word));
  /// The calling thread's instance of a thread_local variable.
  Word of_thread(Word variable);
  /// The bytes from the address to the end of the local variable that contains it; 0: none does.
  [[nodiscard]] std::size_t rest_of_variable(Word address) const;
  /// Counts the steps that take about as long as work on so many bytes.
  void work(Word bytes) { steps_ += bytes / 1024; }
  /// The result of the function, if it is an int.
  [[nodiscard]] int result() const { return result_; }
  /// Why the run stopped early; empty: it did not.
  [[nodiscard]] const std::string& stopped() const { return stopped_; }
  void stop(std::string why);
  /// The program itself ended the run: by exit(), abort() or an uncaught exception.
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  /// The address of the access that stopped the run; 0: none did.
  [[nodiscard]] Word fault() const { return fault_; }
  void stop_at(Word address, std::string why) {
    fault_ = address;
    stop(std::move(why));
  }

  Image& image() { return image_; }
  /// Makes the thread call the function before it goes on. False: the function has no code.
  bool call_next(Word function, std::span<const Word> arguments);
  /// Starts a thread that calls the function; 0: there are too many threads.
  std::size_t start_thread(Word function, std::span<const Word> arguments);
  [[nodiscard]] bool has_ended(std::size_t thread) const;

  /// The program needed more steps, threads or memory than the limits allow.
  [[nodiscard]] bool asked_too_much() const { return asked_too_much_; }
  void ask_too_much(std::string why) {
    asked_too_much_ = true;
    stop(std::move(why));
  }
  void give_up(std::string why) {
    gave_up_ = true;
    stop(std::move(why));
  }
  /// An access of the program. False: the range is outside its memory; the machine has stopped. Reports accesses to
  /// shared memory to World, unless they are `meant`: volatile or atomic, as host and device use to signal to each
  /// other.
  bool reads(Word address, std::size_t size, bool meant = false);
  bool writes(Word address, std::size_t size, bool meant = false);
  /// Accesses to the range are reported to World, too, and so are those between the first such range and the last.
  void watch(Word address, std::size_t size);
  /// `most`: copy no more bytes than this. False: the machine has stopped.
  bool copy(Word to, Word from, Word size, Word most = ~Word{0});
  bool fill(Word to, int value, Word size);
  /// A copy that is not reported to World. Both ranges must be the program's.
  bool move(Word to, Word from, Word size);
  [[nodiscard]] bool reads_text(Word address, std::string& text);

  /// Throws an exception from the current call.
  void throw_now(Word object, Word type);
  void begin_catch(Word object) { thread_->caught.push_back(object); }
  void end_catch() {
    if (!thread_->caught.empty()) thread_->caught.pop_back();
  }
  void rethrow();

 private:
  const Code* code_of(const llvm::Function& function);
  bool enter(const llvm::Function& function, std::span<const Byte* const> arguments, const llvm::CallBase* call);
  void leave(const Byte* result);
  void step();
  void compute(Step& step);
  void branch(const Step& step);
  void choose(const Step& step);  ///< a switch
  void pass_on(const Step& step);
  bool allocate(const Step& step);  ///< false, as for the next two: the program cannot go on
  bool change_at_once(const Step& step);
  bool exchange_if_equal(const Step& step);
  void call(const Decoded& decoded, Frame& frame);
  void go(Frame& frame, const Decoded& decoded, std::size_t way);
  [[nodiscard]] bool is_enough(const Frame& frame, std::uint32_t loop);
  bool polls(Frame& frame, std::uint32_t loop);
  void unwind();
  void intrinsic(const llvm::Function& function, const Decoded& decoded, Frame& frame);
  int selector(Word type);
  bool catches(Word thrown, Word wanted);

  const llvm::Module& module_;
  World& world_;
  Memory memory_;
  Image image_;
  std::uint64_t most_steps_;
  std::uint64_t steps_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t polls_ = 0;  ///< number of volatile and atomic reads
  bool cut_ = false;
  std::set<std::pair<const void*, std::uint32_t>> left_early_;  ///< loops that only compute, by function
  Word watched_ = 0;
  Word watched_size_ = 0;
  std::string stopped_;
  bool gave_up_ = false;
  bool asked_too_much_ = false;
  Word fault_ = 0;
  int result_ = 0;
  std::vector<std::unique_ptr<Thread>> threads_;
  Thread* thread_ = nullptr;
  bool yielded_ = false;
  bool gives_way_after_calls_ = false;
  std::map<std::pair<std::size_t, Word>, Word> thread_locals_;  ///< by (thread, variable); not of the first
  std::unordered_map<const llvm::Function*, std::unique_ptr<Code>> code_;
  std::map<Word, int> selectors_;
  std::map<Word, Word> type_of_;  ///< by exception object
};

}  // namespace streamsan::analyzer::interpreter
