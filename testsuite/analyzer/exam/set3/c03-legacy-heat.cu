/* heat.cu - 1D heat equation on two half domains. Old code: uses the NULL stream as a barrier. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 65536
#define STEPS 200
#define BLOCK 128

static void gpu_assert(cudaError_t rc, const char *where)
{
    if (rc != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(rc));
        exit(EXIT_FAILURE);
    }
}

__global__ void step_half(const float *u, float *v, int first, int last, float k)
{
    int i = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < last && i > 0 && i < N - 1)
        v[i] = u[i] + k * (u[i - 1] - 2.0f * u[i] + u[i + 1]);
}

__global__ void apply_boundary(float *v, float left, float right)
{
    v[0] = left;
    v[N - 1] = right;
}

struct sim {
    float *u, *v;
    cudaStream_t lower, upper;
};

static void sim_init(struct sim *s)
{
    gpu_assert(cudaMalloc((void **)&s->u, N * sizeof(float)), "malloc u");
    gpu_assert(cudaMalloc((void **)&s->v, N * sizeof(float)), "malloc v");
    gpu_assert(cudaStreamCreate(&s->lower), "stream lower");
    gpu_assert(cudaStreamCreate(&s->upper), "stream upper");
    gpu_assert(cudaMemset(s->u, 0, N * sizeof(float)), "memset u");
    gpu_assert(cudaMemset(s->v, 0, N * sizeof(float)), "memset v");
}

static void sim_step(struct sim *s)
{
    const int half = N / 2;
    float *t;
    step_half<<<half / BLOCK, BLOCK, 0, s->lower>>>(s->u, s->v, 0, half, 0.25f);
    gpu_assert(cudaGetLastError(), "lower half");
    step_half<<<half / BLOCK, BLOCK, 0, s->upper>>>(s->u, s->v, half, N, 0.25f);
    gpu_assert(cudaGetLastError(), "upper half");
    /* NULL stream: starts after both halves, and the next halves start after it */
    apply_boundary<<<1, 1>>>(s->v, 1.0f, 0.0f);
    gpu_assert(cudaGetLastError(), "boundary");
    t = s->u;
    s->u = s->v;
    s->v = t;
}

static float sim_total(struct sim *s, float *host)
{
    double sum = 0.0;
    int i;
    gpu_assert(cudaMemcpy(host, s->u, N * sizeof(float), cudaMemcpyDeviceToHost), "download");
    for (i = 0; i < N; i++)
        sum += host[i];
    return (float)sum;
}

static void sim_done(struct sim *s)
{
    gpu_assert(cudaStreamSynchronize(s->lower), "sync lower");
    gpu_assert(cudaStreamSynchronize(s->upper), "sync upper");
    gpu_assert(cudaFree(s->u), "free u");
    gpu_assert(cudaFree(s->v), "free v");
    gpu_assert(cudaStreamDestroy(s->lower), "destroy lower");
    gpu_assert(cudaStreamDestroy(s->upper), "destroy upper");
}

int main(void)
{
    struct sim s;
    float *host = (float *)malloc(N * sizeof(float));
    int step;
    if (!host)
        return EXIT_FAILURE;
    memset(&s, 0, sizeof s);
    sim_init(&s);
    for (step = 0; step < STEPS; step++) {
        sim_step(&s);
        if (step % 50 == 49)
            printf("step %d: %f\n", step + 1, sim_total(&s, host));
    }
    sim_done(&s);
    free(host);
    return 0;
}
