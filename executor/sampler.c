/* Samplers. */
#include "executor/internal.h"

int exec_create_sampler(struct executor *x, const struct exec_create_sampler *m)
{
    struct sampler *sampler = m->sampler;
    const cl_sampler_properties properties[] = {CL_SAMPLER_NORMALIZED_COORDS,
                                                m->normalized,
                                                CL_SAMPLER_ADDRESSING_MODE,
                                                m->addressing,
                                                CL_SAMPLER_FILTER_MODE,
                                                m->filter,
                                                0};

    (void)x;
    sampler->error = m->context->error;
    if (!sampler->error)
        sampler->native = clCreateSamplerWithProperties(m->context->native, properties, &sampler->error);
    return 0;
}
