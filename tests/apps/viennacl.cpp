// ViennaCL's linear algebra on the default device; prints its results.
#define VIENNACL_WITH_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <iostream>
#include <map>
#include <vector>
#include <viennacl/compressed_matrix.hpp>
#include <viennacl/linalg/cg.hpp>
#include <viennacl/linalg/inner_prod.hpp>
#include <viennacl/linalg/norm_2.hpp>
#include <viennacl/linalg/prod.hpp>
#include <viennacl/matrix.hpp>
#include <viennacl/vector.hpp>

static const std::size_t size = 256;

static void dense()
{
    std::vector<std::vector<float>> host(size, std::vector<float>(size));
    for (std::size_t i = 0; i < size; i++)
        for (std::size_t j = 0; j < size; j++)
            host[i][j] = static_cast<float>((i * 7 + j * 3) % 11);
    viennacl::matrix<float> a(size, size), b(size, size), c(size, size);
    viennacl::copy(host, a);
    viennacl::copy(host, b);
    c = viennacl::linalg::prod(a, viennacl::trans(b));
    viennacl::copy(c, host);
    std::cout << "product " << host[1][2] << " " << host[255][255] << "\n";
}

static void sparse(viennacl::vector<float> &right)
{
    std::vector<std::map<unsigned, float>> host(size);
    for (unsigned i = 0; i < size; i++) {
        host[i][i] = 4;
        if (i)
            host[i][i - 1] = -1;
        if (i + 1 < size)
            host[i][i + 1] = -1;
    }
    viennacl::compressed_matrix<float> matrix(size, size);
    viennacl::copy(host, matrix);
    viennacl::vector<float> x = viennacl::linalg::solve(matrix, right, viennacl::linalg::cg_tag(1e-5, 100));
    std::vector<float> result(size);
    viennacl::copy(x, result);
    std::cout << "solution " << static_cast<int>(result[0] * 100) << " " << static_cast<int>(result[100] * 100) << "\n";
}

int main()
{
    std::vector<float> up(size), down(size);
    for (std::size_t i = 0; i < size; i++) {
        up[i] = static_cast<float>(i);
        down[i] = static_cast<float>(size - i);
    }
    viennacl::vector<float> a(size), b(size);
    viennacl::copy(up, a);
    viennacl::copy(down, b);
    std::cout << "inner product " << viennacl::linalg::inner_prod(a, b) << ", norm " << viennacl::linalg::norm_2(a) << "\n";
    a += 2.0f * b;
    viennacl::copy(a, up);
    std::cout << "sum " << up[3] << " " << up[200] << "\n";
    dense();
    sparse(b);
    viennacl::backend::finish();
    return 0;
}
