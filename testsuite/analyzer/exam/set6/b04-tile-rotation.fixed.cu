#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace mesh {

inline void verify(cudaError_t e, int line) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
        std::exit(1);
    }
}
#define VERIFY(x) ::mesh::verify((x), __LINE__)

struct Box {
    int lo, hi;
    int cells() const { return hi - lo; }
};

class StreamRing {
public:
    static constexpr int kCount = 4;
    StreamRing() {
        for (auto& s : streams_) VERIFY(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        VERIFY(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
    }
    ~StreamRing() {
        cudaEventDestroy(fork_);
        for (auto s : streams_) cudaStreamDestroy(s);
    }
    cudaStream_t current() const { return streams_[index_]; }
    void select(int i) { index_ = i % kCount; }
    void fork() {
        VERIFY(cudaEventRecord(fork_, streams_[0]));
        for (int i = 1; i < kCount; ++i) VERIFY(cudaStreamWaitEvent(streams_[i], fork_, 0));
    }
    void drain() {
        for (auto s : streams_) VERIFY(cudaStreamSynchronize(s));
        index_ = 0;
    }

private:
    std::array<cudaStream_t, kCount> streams_{};
    cudaEvent_t fork_{};
    int index_ = 0;
};

class TileCursor {
public:
    TileCursor(const std::vector<Box>& boxes, StreamRing& ring) : boxes_(boxes), ring_(ring) { ring_.select(0); }
    ~TileCursor() { ring_.drain(); }
    bool valid() const { return at_ < boxes_.size(); }
    const Box& box() const { return boxes_[at_]; }
    TileCursor& operator++() {
        ring_.select(static_cast<int>(++at_));
        return *this;
    }

private:
    const std::vector<Box>& boxes_;
    StreamRing& ring_;
    size_t at_ = 0;
};

__global__ void fillGhosts(double* face, const double* cell, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) face[i] = 0.5 * (cell[i] + cell[i > 0 ? i - 1 : n - 1]);
}

__global__ void emfTile(const double* face, double* emf, int lo, int hi, int n) {
    int i = lo + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < hi) emf[i] = face[(i + 1) % n] - face[(i + n - 1) % n];
}

class InductionSolver {
public:
    InductionSolver(int n, int tile) : n_(n) {
        for (int lo = 0; lo < n; lo += tile) boxes_.push_back({lo, lo + tile < n ? lo + tile : n});
        VERIFY(cudaMalloc(&cell_, n * sizeof(double)));
        VERIFY(cudaMalloc(&face_, n * sizeof(double)));
        VERIFY(cudaMalloc(&emf_, n * sizeof(double)));
        VERIFY(cudaMemset(cell_, 0, n * sizeof(double)));
        VERIFY(cudaDeviceSynchronize());
    }
    ~InductionSolver() {
        cudaFree(emf_);
        cudaFree(face_);
        cudaFree(cell_);
    }

    void step() {
        prepare();
        computeEmf();
    }

private:
    void prepare() {
        fillGhosts<<<(n_ + 255) / 256, 256, 0, ring_.current()>>>(face_, cell_, n_);
        ring_.fork();
    }

    void computeEmf() {
        for (TileCursor t(boxes_, ring_); t.valid(); ++t) {
            const Box& b = t.box();
            emfTile<<<(b.cells() + 127) / 128, 128, 0, ring_.current()>>>(face_, emf_, b.lo, b.hi, n_);
        }
    }

    int n_;
    std::vector<Box> boxes_;
    StreamRing ring_;
    double* cell_ = nullptr;
    double* face_ = nullptr;
    double* emf_ = nullptr;
};

}  // namespace mesh

int main() {
    mesh::InductionSolver solver(1 << 20, 1 << 16);
    for (int i = 0; i < 20; ++i) solver.step();
    return 0;
}
