// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contention: which memory is used by operations that nothing orders, as far as the recorder can tell while the program
// runs. Measuring a launch costs a thousand times what the launch costs, and it only matters if the launch could meet
// an operation that is not ordered with it. Most programs use one stream, or order what they share. So a launch is
// worth measuring if one of its pointers leads into an allocation that is CONTENDED (learning.h has the rest of the
// rule).
//
// The judge knows the order exactly, but later. Here an approximation is enough, that of vector clocks with one last
// access (Flanagan and Freund, FastTrack, PLDI 2009) for each allocation instead of each byte:
//
//   * a LANE is a stream. Each lane counts its operations, and keeps for each lane up to where that is known to be done
//     before its own next operation; an event keeps a copy of that; the host has one for itself, of what it waited for;
//   * an area (areas.h) keeps the lane and the count of its last access. If the next access is by the same lane, or
//     ordered behind that one, it takes its place: whatever is ordered behind it is ordered behind both. If not, the
//     area is contended from then on;
//   * two copies that only read are no contention. What kernels do with their pointers is not known here;
//   * memory that the host can touch (pinned, registered, managed) is contended from the start, as the host's accesses
//     are not followed.
//
// Order that is followed: streams, events, the legacy default stream (R-STR-10..12), waits of the host. Order that is
// not: graphs, memory operations, frees that wait. Where it is missing an area is taken for contended, and measured in
// vain. Contention is missed, and launches are measured only when the judge asks, where the table of lanes says "the
// same stream" of two (a handle that the driver gave out again), where a kernel finds addresses in memory instead of in
// its arguments, and between threads that submit at the same moment. Host threads are taken for one.
//
// POLLING. A kernel of one warp that is given memory of the host is probably waiting for the host: XLA times kernels
// behind one that spins until the host has submitted them all. To measure such a kernel, or to wait for the GPU while
// one runs, would make the program wait for itself. So it is never measured, and no other is until the host has waited
// for it.
//
// Lock-free, from any thread; of two updates at the same time one may be lost, see above.
#pragma once

#include <cstdint>

#include "interposer/host/host_side.h"
#include "interposer/streams.h"

namespace streamsan::recorder {

/// From now on it is followed. Before, all functions here do nothing.
void follow_contention();

/// The launch is about to be submitted, with these pointers (trace::pointer_word()). True: it uses contended memory, or
/// memory that looks the same.
bool launch_contends(const StreamArgument& stream, const std::uint64_t* words, unsigned count);
/// After launch_contends() of the same launch: it may poll memory of the host, for it has a few threads only and one of
/// the pointers leads there. Such kernels often wait for the host, and the program is not to be held up while one of
/// them runs.
bool launch_may_poll(const std::uint64_t* words, unsigned count, std::uint64_t threads);
void polling_launched(const StreamArgument& stream);
/// Could one of those run at this moment? Not any more once the host has waited for it, or after a second.
bool is_polled();
/// Could there be contention one day: were two streams ever made, or a second one used?
bool several_streams();

/// What a call means, read from its record after it has succeeded (contention_calls.cpp).
void follow_call(const CallWords& call);

/// [begin, begin + bytes) was allocated. `by_host`: the host can touch it.
void memory_given(std::uint64_t begin, std::uint64_t bytes, bool by_host);
/// An operation of the stream is submitted that uses memory at the two addresses (0: none).
void operation_submitted(const StreamArgument& stream, std::uint64_t writes, std::uint64_t reads);
void stream_made();
void event_made_or_gone(std::uint64_t event);
void event_recorded_in(std::uint64_t event, const StreamArgument& stream);
void stream_waits(const StreamArgument& stream, std::uint64_t event);
/// The host has waited for the stream, for the event, for all streams of the context (0: of all).
void host_waited_for_stream(const StreamArgument& stream);
void host_waited_for_event(std::uint64_t event);
void host_waited_for_context(std::uint64_t context);

}  // namespace streamsan::recorder
