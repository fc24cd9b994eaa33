/* Ends a pass over commands.def: the next one starts with no word defined. */
#undef SEND
#undef CALL
#undef SLOW_CALL
#undef NOTE
#undef FELLOW
#undef REPLY
#undef END
#undef ID
#undef NEW_ID
#undef U32
#undef I32
#undef U64
#undef RANGE
#undef BITS
#undef IDS
#undef U64S
#undef BLOB
