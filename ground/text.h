/* Embeds the text of a file in the library, as a string. */
#ifndef VOCL_GROUND_TEXT_H
#define VOCL_GROUND_TEXT_H

#define TEXT_OF_FILE(name, path)                                                                                       \
    __asm__(".section .rodata\n.globl " #name "\n.hidden " #name "\n" #name ":\n.incbin \"" path "\"\n.byte 0\n"       \
            ".previous\n");                                                                                            \
    extern const char name[]

#endif
