// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads, locks and conditions. A thread that waits gives its turn to the others, and tries again.
#include "analyzer/interpreter/library.h"
#include "analyzer/interpreter/values.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace streamsan::analyzer::interpreter {

Outcome Library::yield(Machine& machine, const Arguments&, Byte*) {
  // Once, then it goes on.
  const Word call = reinterpret_cast<Word>(machine.thread().frames.back().at);
  bool& waited = waits_[{machine.thread().number, call}];
  waited = !waited;
  if (!waited) machine.woken();
  return waited ? Outcome::Again : Outcome::Done;
}
/// (object, word, value, has a timeout, ...): returns false after the time-out, which ends when the others have had
/// their turn.
Outcome Library::wait_for_word(Machine& machine, const Arguments& arguments, Byte* result) {
  const Outcome outcome = yield(machine, arguments, nullptr);
  if (result != nullptr) *result = (arguments.word32(3) & 1) != 0 ? 0 : 1;
  return outcome;
}
Outcome Library::lock(Machine& machine, const Arguments& arguments, Byte* result) {
  const auto [holder, fresh] = locks_.try_emplace(arguments.word(0), machine.thread().number);
  if (!fresh && holder->second != machine.thread().number) return Outcome::Again;
  machine.took_lock(fresh);
  give32(result, 0);
  return Outcome::Done;
}
Outcome Library::unlock(Machine& machine, const Arguments& arguments, Byte* result) {
  if (locks_.erase(arguments.word(0)) != 0) machine.gave_lock();
  give32(result, 0);
  return Outcome::Done;
}
/// Releases the lock, gives the others their turn, and takes the lock again.
Outcome Library::wait_without(Machine& machine, Word mutex) {
  const Word call = reinterpret_cast<Word>(machine.thread().frames.back().at);
  bool& waited = waits_[{machine.thread().number, call}];
  if (!waited) {
    waited = true;
    locks_.erase(mutex);
    return Outcome::Again;
  }
  if (const auto holder = locks_.find(mutex); holder != locks_.end() && holder->second != machine.thread().number)
    return Outcome::Again;
  locks_[mutex] = machine.thread().number;
  machine.took_lock(/*another=*/false);
  waited = false;
  machine.woken();
  return Outcome::Done;
}
/// condition_variable::wait(unique_lock&)
Outcome Library::wait(Machine& machine, const Arguments& arguments, Byte*) {
  const Word lock = arguments.word(1);
  if (!machine.reads(lock, 8)) return Outcome::Stop;
  return wait_without(machine, load_word(lock));
}
/// (condition, mutex, ...): the time-out ends when the others have had their turn.
Outcome Library::wait_for_a_time(Machine& machine, const Arguments& arguments, Byte* result) {
  constexpr std::uint32_t kTimedOut = 110;
  give32(result, arguments.size() > 2 ? kTimedOut : 0);
  return wait_without(machine, arguments.word(1));
}
/// pthread_create(&thread, attributes, function, argument)
Outcome Library::start_plain_thread(Machine& machine, const Arguments& arguments, Byte* result) {
  const Word given[] = {arguments.word(3)};
  const std::size_t thread = machine.start_thread(arguments.word(2), given);
  if (thread == 0 || !machine.writes(arguments.word(0), 8)) {
    machine.stop("a thread that cannot be started");
    return Outcome::Stop;
  }
  store_word(arguments.word(0), thread);
  give32(result, 0);
  return Outcome::Done;
}
/// The number of the thread that its creator got; main() has one, too.
Outcome Library::this_thread(Machine& machine, const Arguments&, Byte* result) {
  constexpr Word kOfMain = Word{1} << 40U;
  const Word number = machine.thread().number;
  give(result, number == 0 ? kOfMain : number);
  return Outcome::Done;
}
Outcome Library::join_plain_thread(Machine& machine, const Arguments& arguments, Byte* result) {
  give32(result, 0);
  return machine.has_ended(arguments.word(0)) ? Outcome::Done : Outcome::Again;
}
Outcome Library::start_thread(Machine& machine, const Arguments& arguments, Byte*) {
  const Word object = arguments.word(0), owner = arguments.word(1);
  if (!machine.writes(object, 8) || !machine.writes(owner, 8)) return Outcome::Stop;
  const Word state = load_word(owner);
  store_word(owner, 0);
  if (!machine.reads(state, 8) || !machine.reads(load_word(state), 24)) return Outcome::Stop;
  const Word run = load_word(load_word(state) + 16);  // behind two destructors
  const Word given[] = {state};
  const std::size_t thread = machine.start_thread(run, given);
  if (thread == 0) {
    machine.ask_too_much("too many threads");
    return Outcome::Stop;
  }
  store_word(object, thread);
  return Outcome::Done;
}
Outcome Library::join_thread(Machine& machine, const Arguments& arguments, Byte*) {
  const Word object = arguments.word(0);
  if (!machine.reads(object, 8)) return Outcome::Stop;
  if (!machine.has_ended(load_word(object))) return Outcome::Again;
  store_word(object, 0);
  return Outcome::Done;
}
Outcome Library::detach_thread(Machine& machine, const Arguments& arguments, Byte*) {
  if (machine.writes(arguments.word(0), 8)) store_word(arguments.word(0), 0);
  return Outcome::Done;
}
Outcome Library::thread_count(Machine&, const Arguments&, Byte* result) {
  give32(result, 4);
  return Outcome::Done;
}
/// The call is made again when the function has returned. Until then, other threads that call it wait.
Outcome Library::once(Machine& machine, const Arguments& arguments, Byte* result) {
  give32(result, 0);
  const Word flag = arguments.word(0);
  if (!machine.writes(flag, 4)) return Outcome::Stop;
  Byte* const place = reinterpret_cast<Byte*>(flag);
  if (*place != 0) return Outcome::Done;
  const Thread& caller = machine.thread();
  const auto [known, fresh] = onces_.try_emplace(flag, caller.number, caller.frames.size());
  if (!fresh) {
    const auto [thread, depth] = known->second;
    if (thread != caller.number) return Outcome::Again;
    if (caller.frames.size() > depth) return Outcome::Done;  // the function itself calls
    onces_.erase(known);
    *place = 1;
    return Outcome::Done;
  }
  const llvm::Function* function = machine.image().function_at(arguments.word(1));
  Word target = arguments.word(1);
  if (function != nullptr && function->getName() == "__once_proxy") {
    const auto* stored = machine.module().getNamedValue("_ZSt11__once_call");
    if (stored == nullptr) return Outcome::Stop;
    target = load_word(machine.of_thread(machine.image().address_of(*stored)));
  }
  return machine.call_next(target, {}) ? Outcome::Again : Outcome::Stop;
}
/// The first thread that comes initialises a static variable; the others wait.
Outcome Library::guard(Machine& machine, const Arguments& arguments, Byte* result) {
  const Word flag = arguments.word(0);
  if (!machine.reads(flag, 1)) return Outcome::Stop;
  const bool made = *reinterpret_cast<const Byte*>(flag) != 0;
  give32(result, made ? 0 : 1);
  if (made) return Outcome::Done;
  const std::size_t maker = guards_.try_emplace(flag, machine.thread().number).first->second;
  return maker == machine.thread().number ? Outcome::Done : Outcome::Again;
}
Outcome Library::guarded(Machine& machine, const Arguments& arguments, Byte* result) {
  if (machine.writes(arguments.word(0), 1)) *reinterpret_cast<Byte*>(arguments.word(0)) = 1;
  return unguarded(machine, arguments, result);
}
Outcome Library::unguarded(Machine&, const Arguments& arguments, Byte*) {
  guards_.erase(arguments.word(0));
  return Outcome::Done;
}

}  // namespace streamsan::analyzer::interpreter
