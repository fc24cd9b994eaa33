// Boost.Compute's algorithms on the default device; prints their results.
#define CL_TARGET_OPENCL_VERSION 120
#include <algorithm>
#include <boost/compute.hpp>
#include <iostream>
#include <vector>

namespace compute = boost::compute;

BOOST_COMPUTE_FUNCTION(int, add_four, (int x), { return x + 4; });

static void floats(compute::context &context, compute::command_queue &queue)
{
    std::vector<float> host(10000);
    unsigned state = 1;
    for (auto &value : host)
        value = static_cast<float>(((state = state * 1664525 + 1013904223) >> 8) % 10000);
    compute::vector<float> values(host.size(), context);
    compute::copy(host.begin(), host.end(), values.begin(), queue);
    compute::sort(values.begin(), values.end(), queue);
    compute::copy(values.begin(), values.end(), host.begin(), queue);
    std::cout << "sorted " << std::is_sorted(host.begin(), host.end()) << " " << host[0] << " " << host[5000] << "\n";
    std::cout << "sum " << compute::accumulate(values.begin(), values.end(), 0.0f, compute::plus<float>(), queue) << "\n";
    float most = 0;
    compute::reduce(values.begin(), values.end(), &most, compute::max<float>(), queue);
    std::cout << "max " << most << "\n";
}

static void integers(compute::context &context, compute::command_queue &queue)
{
    compute::vector<int> values(1000, context);
    compute::iota(values.begin(), values.end(), 0, queue);
    compute::transform(values.begin(), values.end(), values.begin(), add_four, queue);
    compute::inclusive_scan(values.begin(), values.end(), values.begin(), queue);
    std::vector<int> host(1000);
    compute::copy(values.begin(), values.end(), host.begin(), queue);
    std::cout << "scan " << host[999] << " " << host[10] << "\n";
    std::cout << "count " << compute::count_if(values.begin(), values.end(), compute::lambda::_1 > 1000, queue) << "\n";
}

static void random_numbers(compute::context &context, compute::command_queue &queue)
{
    compute::mersenne_twister_engine<compute::uint_> engine(queue, 7);
    compute::vector<compute::uint_> values(1000, context);
    engine.generate(values.begin(), values.end(), queue);
    compute::sort(values.begin(), values.end(), queue);
    std::vector<compute::uint_> host(1000);
    compute::copy(values.begin(), values.end(), host.begin(), queue);
    std::cout << "random " << host[0] << " " << host[500] << "\n";
    std::cout << "unique " << compute::unique(values.begin(), values.end(), queue) - values.begin() << "\n";
}

int main()
{
    compute::device device = compute::system::default_device();
    compute::context context(device);
    compute::command_queue queue(context, device);
    floats(context, queue);
    integers(context, queue);
    random_numbers(context, queue);
    compute::image2d image(context, 64, 64, compute::image_format(CL_RGBA, CL_FLOAT));
    std::cout << "image " << image.width() << " " << image.height() << "\n";
    queue.finish();
    return 0;
}
