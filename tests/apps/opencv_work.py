"""Runs OpenCV's operations on UMat, which use the OpenCL device, and prints the result of each."""
import sys

import cv2
import numpy

if not cv2.ocl.haveOpenCL():
    sys.exit("OpenCV finds no OpenCL")
cv2.ocl.setUseOpenCL(True)
cv2.setNumThreads(1)

noise = numpy.random.RandomState(7).randint(0, 256, (240, 320, 3)).astype(numpy.uint8)
picture = cv2.GaussianBlur(noise, (0, 0), 3)
device = cv2.UMat(picture)


def show(name, result):
    """The result's sum and corners, rounded: the device's floats are compared, not their last bit."""
    values = result.get() if isinstance(result, cv2.UMat) else result
    print(name, values.shape, values.dtype, "%.4g" % values.astype(numpy.float64).sum(), values[0, 0], values[-1, -1])


grey = cv2.cvtColor(device, cv2.COLOR_BGR2GRAY)
show("cvtColor", grey)
show("GaussianBlur", cv2.GaussianBlur(device, (7, 7), 1.5))
show("medianBlur", cv2.medianBlur(device, 5))
show("Sobel", cv2.Sobel(grey, cv2.CV_16S, 1, 0))
show("Laplacian", cv2.Laplacian(grey, cv2.CV_16S))
show("Canny", cv2.Canny(grey, 30, 90))
show("resize", cv2.resize(device, (100, 77), interpolation=cv2.INTER_LINEAR))
show("threshold", cv2.threshold(grey, 127, 255, cv2.THRESH_BINARY)[1])
show("dilate", cv2.dilate(grey, None))
show("add", cv2.add(device, device))
show("bitwise_not", cv2.bitwise_not(device))
show("warpAffine", cv2.warpAffine(device, numpy.float32([[1, 0.1, 5], [0, 1, 9]]), (320, 240)))
show("equalizeHist", cv2.equalizeHist(grey))
show("pyrDown", cv2.pyrDown(device))
show("transpose", cv2.transpose(grey))
show("flip", cv2.flip(device, 1))
left = cv2.UMat(numpy.random.RandomState(8).rand(64, 48).astype(numpy.float32))
right = cv2.UMat(numpy.random.RandomState(9).rand(48, 80).astype(numpy.float32))
show("gemm", cv2.gemm(left, right, 1.0, None, 0.0))
print("mean", ["%.3f" % value for value in cv2.mean(device)])
print("minMaxLoc", cv2.minMaxLoc(grey))
print("norm", "%.3f" % cv2.norm(grey, cv2.NORM_L2))
print("countNonZero", cv2.countNonZero(cv2.threshold(grey, 127, 255, cv2.THRESH_BINARY)[1]))
print("used the device:", cv2.ocl.useOpenCL())
