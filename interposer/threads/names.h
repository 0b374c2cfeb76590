// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reports say of a host thread besides its number: the name that it was given, and where it was created. Each
// thread that has made a record has one HostThread record, if there is anything to say of it.
//
// WHERE IT WAS CREATED. The wrapper of pthread_create() takes the creator's stack while calls are recorded, and hands
// it to the new thread, which keeps it to itself until its first record. So a thread that never calls CUDA costs the
// stack's capture and no memory, and a program without CUDA nothing. What is lost: the place of a thread that is
// created before recording begins (no trace is open then), by another way than libc's two functions, by CUDA itself, or
// while many others are about to start (prepare_thread()).
//
// ITS NAME. Linux names threads, and a new one has its creator's name; the first has the program's. So a name is the
// thread's own if it is not the creator's. Of a thread that is older than the recording the creator is not known: its
// name must differ from the program's and from that of the first thread. The name is read at the thread's first record,
// at its end, and for threads that are left when the process ends: programs name threads from outside, when these are
// under way. The last one counts. A name that is the creator's by chance, or that is set and taken back in between, is
// not seen: a report has a number then, as if there were none. Beyond kMostNamed threads at a time the first is the
// only look.
//
// Signal handlers may come here (a record is written while a fault is handled): no allocation, no lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streamsan::recorder {

inline constexpr std::size_t kThreadNameBytes = 16;  // Linux's TASK_COMM_LEN, with the NUL

/// What a creator knows of a thread.
struct ThreadOrigin {
  std::uint32_t stack;               ///< id of the call stack of its creation; 0: not known
  const char* function;              ///< of libc that was called; null: not known who its creator is
  char inherited[kThreadNameBytes];  ///< the creator's name
};

/// By the creator, in its call of `function`, whose frame this is (capture_stack()). Nothing is known while nothing is
/// recorded.
ThreadOrigin origin_of_next_thread(const char* function, const void* frame);
/// In the new thread, before the program's code.
void take_origin(const ThreadOrigin& origin);

/// The thread has got its number. Called by thread_number().
void name_thread(std::uint16_t number);
/// Writes what is known, before a record of the thread. Called by write_order(), which t_order.unwritten asks for.
void write_thread_name();
/// The thread ends.
void end_thread_name();
/// The process ends: of the threads that are left.
void write_late_names();

}  // namespace streamsan::recorder
