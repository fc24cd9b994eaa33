/* What the carriers of frames need to know of the wire: which version of it they carry. */
#ifndef VOCL_WIRE_FRAME_H
#define VOCL_WIRE_FRAME_H

#define WIRE_VERSION 6

#endif
