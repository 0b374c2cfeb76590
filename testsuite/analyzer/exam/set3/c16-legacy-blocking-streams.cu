/* Lattice update with classic stream semantics: per-region streams are ordinary blocking streams,
   and the default stream is used as the barrier between the two half steps. */
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

static inline void cu(cudaError_t e) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "cuda: %s\n", cudaGetErrorString(e));
        std::abort();
    }
}

struct Lattice {
    int n, regions;
    float *cur, *nxt;
    std::vector<cudaStream_t> streams;
    int chunk() const { return n / regions; }
};

__global__ void relax(const float *cur, float *nxt, int begin, int count, int n) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    int i = begin + k;
    float l = cur[(i + n - 1) % n], r = cur[(i + 1) % n];
    nxt[i] = 0.5f * cur[i] + 0.25f * (l + r);
}

__global__ void boundary(float *f, int n, float value) {
    f[0] = value;
    f[n - 1] = value;
}

static void makeLattice(Lattice &L, int n, int regions) {
    L.n = n;
    L.regions = regions;
    cu(cudaMalloc(&L.cur, n * sizeof(float)));
    cu(cudaMalloc(&L.nxt, n * sizeof(float)));
    L.streams.resize(regions);
    for (auto &s : L.streams) cu(cudaStreamCreate(&s));
    cu(cudaMemset(L.cur, 0, n * sizeof(float)));
}

static void interior(Lattice &L) {
    const int c = L.chunk();
    for (int r = 0; r < L.regions; ++r)
        relax<<<(c + 127) / 128, 128, 0, L.streams[r]>>>(L.cur, L.nxt, r * c, c, L.n);
    cu(cudaGetLastError());
}

static void closeStep(Lattice &L, float value) {
    boundary<<<1, 1>>>(L.nxt, L.n, value);
    cu(cudaGetLastError());
    float *t = L.cur;
    L.cur = L.nxt;
    L.nxt = t;
}

static float probe(const Lattice &L, int at) {
    float v;
    cu(cudaMemcpy(&v, L.cur + at, sizeof v, cudaMemcpyDeviceToHost));
    return v;
}

static void freeLattice(Lattice &L) {
    for (auto s : L.streams) {
        cu(cudaStreamSynchronize(s));
        cu(cudaStreamDestroy(s));
    }
    cu(cudaFree(L.cur));
    cu(cudaFree(L.nxt));
}

int main() {
    Lattice L;
    makeLattice(L, 1 << 20, 4);
    for (int step = 0; step < 100; ++step) {
        interior(L);
        closeStep(L, step * 0.01f);
    }
    std::printf("%f %f\n", probe(L, 1), probe(L, L.n / 2));
    freeLattice(L);
    return 0;
}
