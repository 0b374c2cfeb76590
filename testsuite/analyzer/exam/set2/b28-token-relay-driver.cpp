// Relay of sampled tokens between the forward stream and the scheduler stream,
// on top of the driver API. Kernels come from a cubin loaded by the engine.
#include <cuda.h>

#include <cstdint>
#include <string>
#include <system_error>

namespace relay {

class driver_error : public std::system_error {
public:
    driver_error(CUresult r, const char* what)
        : std::system_error(static_cast<int>(r), std::generic_category(), what) {}
};

static void cu(CUresult r, const char* what) {
    if (r != CUDA_SUCCESS) throw driver_error(r, what);
}

struct Kernels {
    CUfunction sample;  // (logits, rows, vocab, out_tokens)
    CUfunction stash;   // (tokens, slots, rows, future_map)
    CUfunction gather;  // (future_map, slots, rows, input_ids)
};

class FutureMap {
public:
    FutureMap(const Kernels& k, size_t capacity) : k_(k) {
        cu(cuStreamCreate(&forward_, CU_STREAM_NON_BLOCKING), "forward stream");
        cu(cuStreamCreate(&schedule_, CU_STREAM_NON_BLOCKING), "schedule stream");
        cu(cuEventCreate(&published_, CU_EVENT_DISABLE_TIMING), "event");
        cu(cuEventCreate(&gathered_, CU_EVENT_DISABLE_TIMING), "event");
        cu(cuMemAlloc(&map_, capacity * sizeof(int32_t)), "future map");
        cu(cuMemAlloc(&tokens_, capacity * sizeof(int32_t)), "tokens");
    }

    ~FutureMap() {
        cuStreamSynchronize(forward_);
        cuStreamSynchronize(schedule_);
        cuMemFree(tokens_);
        cuMemFree(map_);
        cuEventDestroy(gathered_);
        cuEventDestroy(published_);
        cuStreamDestroy(schedule_);
        cuStreamDestroy(forward_);
    }

    FutureMap(const FutureMap&) = delete;
    FutureMap& operator=(const FutureMap&) = delete;

    // Runs after the model's forward pass, whose logits are on forward().
    void publish(CUdeviceptr logits, CUdeviceptr slots, unsigned rows, unsigned vocab) {
        void* sample_args[] = {&logits, &rows, &vocab, &tokens_};
        launch(k_.sample, rows, forward_, sample_args);
        cu(cuStreamWaitEvent(forward_, gathered_, 0), "wait gathered");
        cu(cuEventRecord(published_, forward_), "record published");
        void* stash_args[] = {&tokens_, &slots, &rows, &map_};
        launch(k_.stash, rows, forward_, stash_args);
    }

    // Builds the input of the next batch.
    void resolve(CUdeviceptr slots, unsigned rows, CUdeviceptr input_ids) {
        cu(cuStreamWaitEvent(schedule_, published_, 0), "wait published");
        void* args[] = {&map_, &slots, &rows, &input_ids};
        launch(k_.gather, rows, schedule_, args);
        cu(cuEventRecord(gathered_, schedule_), "record gathered");
    }

    CUstream forward() const { return forward_; }
    CUstream schedule() const { return schedule_; }

private:
    static void launch(CUfunction fn, unsigned rows, CUstream s, void** args) {
        cu(cuLaunchKernel(fn, rows, 1, 1, 128, 1, 1, 0, s, args, nullptr), "launch");
    }

    Kernels k_;
    CUstream forward_ = nullptr;
    CUstream schedule_ = nullptr;
    CUevent published_ = nullptr;
    CUevent gathered_ = nullptr;
    CUdeviceptr map_ = 0;
    CUdeviceptr tokens_ = 0;
};

void step(FutureMap& map, CUdeviceptr logits, CUdeviceptr slots, unsigned rows, unsigned vocab, CUdeviceptr next_ids) {
    map.publish(logits, slots, rows, vocab);
    map.resolve(slots, rows, next_ids);
}

} // namespace relay
