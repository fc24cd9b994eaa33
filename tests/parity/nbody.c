/* Bodies under gravity: positions alternate between two buffers, and go through local memory tile by tile. */
#include "parity.h"

enum { BODIES = 1024, STEPS = 12, GROUP = 64 };

static const char *source =
    "kernel void advance(global const float4 *from, global float4 *to, global float4 *velocity,\n"
    "                 local float4 *tile, int bodies, float time, float softening)\n"
    "{\n"
    "    size_t i = get_global_id(0), mine = get_local_id(0), size = get_local_size(0);\n"
    "    float4 here = from[i];\n"
    "    float3 pull = (float3)(0);\n"
    "    for (int first = 0; first < bodies; first += size) {\n"
    "        tile[mine] = from[first + mine];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (size_t k = 0; k < size; k++) {\n"
    "            float3 way = tile[k].xyz - here.xyz;\n"
    "            float near = 1.0f / sqrt(dot(way, way) + softening);\n"
    "            pull += way * (tile[k].w * near * near * near);\n"
    "        }\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    velocity[i].xyz += pull * time;\n"
    "    to[i] = (float4)(here.xyz + velocity[i].xyz * time, here.w);\n"
    "}\n";

static float start[BODIES][4], position[2][BODIES][4], velocity[BODIES][4], result[BODIES][4];
static const float time_step = 0.01f, softening = 0.05f;

static void bodies_place(void)
{
    parity_random_floats(start[0], BODIES * 4, 7);
    for (int i = 0; i < BODIES; i++)
        start[i][3] = 0.01f + fabsf(start[i][3]) / BODIES;
    memcpy(position[0], start, sizeof(start));
}

static void body_move(int i, float from[BODIES][4], float to[BODIES][4])
{
    float pull[3] = {0};
    for (int k = 0; k < BODIES; k++) {
        float way[3], square = softening;
        for (int c = 0; c < 3; c++) {
            way[c] = from[k][c] - from[i][c];
            square += way[c] * way[c];
        }
        float near = 1.0f / sqrtf(square);
        for (int c = 0; c < 3; c++)
            pull[c] += way[c] * (from[k][3] * near * near * near);
    }
    for (int c = 0; c < 3; c++) {
        velocity[i][c] += pull[c] * time_step;
        to[i][c] = from[i][c] + velocity[i][c] * time_step;
    }
    to[i][3] = from[i][3];
}

static void steps_here(void)
{
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < BODIES; i++)
            body_move(i, position[step % 2], position[1 - step % 2]);
    }
}

static void steps_run(const struct parity *p, cl_kernel kernel, cl_mem places[2], cl_mem speeds)
{
    cl_int bodies = BODIES;
    for (int step = 0; step < STEPS; step++) {
        parity_args(kernel, 7, sizeof(cl_mem), &places[step % 2], sizeof(cl_mem), &places[1 - step % 2], sizeof(cl_mem),
                    &speeds, sizeof(start[0]) * GROUP, NULL, sizeof(bodies), &bodies, sizeof(time_step), &time_step,
                    sizeof(softening), &softening);
        CHECK(clEnqueueNDRangeKernel(p->queue, kernel, 1, NULL, (size_t[]){BODIES}, (size_t[]){GROUP}, 0, NULL, NULL));
    }
}

int main(void)
{
    struct parity p;
    parity_open(&p, 0);
    bodies_place();
    steps_here();

    cl_program program = parity_program(&p, source, NULL);
    cl_kernel kernel = parity_kernel(program, "advance");
    cl_mem places[2] = {parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(start), start),
                        parity_buffer(&p, CL_MEM_READ_WRITE, sizeof(start), NULL)};
    static float rest[BODIES][4];
    cl_mem speeds = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(rest), rest);
    steps_run(&p, kernel, places, speeds);
    parity_rich();
    parity_read(p.queue, places[STEPS % 2], 0, sizeof(result), result);
    parity_compare("positions", result[0], position[STEPS % 2][0], BODIES * 4, 1e-3f);
    parity_hash_print("positions", result, sizeof(result));
    parity_read(p.queue, speeds, 0, sizeof(result), result);
    parity_compare("velocities", result[0], velocity[0], BODIES * 4, 1e-2f);
    parity_hash_print("velocities", result, sizeof(result));

    CHECK(clReleaseMemObject(speeds));
    CHECK(clReleaseMemObject(places[1]));
    CHECK(clReleaseMemObject(places[0]));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
