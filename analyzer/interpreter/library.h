// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the C and C++ libraries that have no body in a header. See library.cpp.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>

#include "analyzer/interpreter/machine.h"

namespace streamsan::analyzer::interpreter {

class Library {
 public:
  Outcome call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result);
  /// Does the function belong to the iostreams of the C++ library? Some of these have bodies in headers.
  static bool takes(const llvm::Function& function);
  /// Returns an empty std::string, at the address in the first argument.
  static Outcome no_text(Machine& machine, const Arguments& arguments);
  /// Called with each range that the host frees.
  std::function<void(Word, std::size_t)> on_free;

 private:
  using Function = Outcome (Library::*)(Machine&, const Arguments&, Byte*);
  Outcome allocate(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome allocate_zeroed(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome allocate_aligned(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome map(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome allocate_posix(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome reallocate(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome release(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome copy(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome set(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome compare(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome find_byte(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome length(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome compare_text(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome number(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome first(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome nothing(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome end(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome yield(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome lock(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome unlock(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome wait(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome wait_for_a_time(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome start_plain_thread(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome this_thread(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome join_plain_thread(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome start_thread(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome join_thread(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome detach_thread(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome thread_count(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome once(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome guard(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome guarded(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome unguarded(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome allocate_exception(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome throw_now(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome throw_again(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome begin_catch(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome end_catch(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome throws(Machine& machine, std::string_view name);
  Outcome clock(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome print_into(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome print_text(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome print_to(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome write_out(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome read_in(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome send(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome send_list(Machine& machine, Word list, Word count, Byte* result);
  Outcome write_list(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome send_message(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome receive(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome wait_for_word(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome random(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome tree_insert(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome tree_erase(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome tree_next(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome tree_previous(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome list_hook(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome list_unhook(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome list_transfer(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome next_buckets(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome needs_rehash(Machine& machine, const Arguments& arguments, Byte* result);
  Outcome hash(Machine& machine, const Arguments& arguments, Byte* result);

  /// std::string (library_text.cpp).
  static Outcome call_text(Machine& machine, std::string_view name, const Arguments& arguments, Byte* result);

  Outcome wait_without(Machine& machine, Word mutex);
  static const std::unordered_map<std::string_view, Function>& functions();
  Byte* block(Machine& machine, std::size_t size, std::size_t alignment);
  bool mathematics(const llvm::Function& function, const Arguments& arguments, Byte* result);

  std::map<Word, std::size_t> blocks_;                  ///< sizes of heap blocks, by address
  std::map<Word, std::size_t> locks_;                   ///< mutex -> thread that holds it
  std::map<std::pair<std::size_t, Word>, bool> waits_;  ///< calls that wait for a condition: (thread, call)
  /// Calls of pthread_once() that run their function, by flag: the thread, and its number of frames at the call.
  std::map<Word, std::pair<std::size_t, std::size_t>> onces_;
  std::map<Word, std::size_t> guards_;  ///< the thread that initialises a static variable, by guard
  Word time_ = 1;
  unsigned received_ = 0;  ///< number of recv() calls
  unsigned sent_ = 0;
  std::uint64_t random_ = 12345;
};

}  // namespace streamsan::analyzer::interpreter
