/* Text from outside, on its way into JSON. */
#ifndef RECORDER_RECORD_TEXT_H
#define RECORDER_RECORD_TEXT_H

/*
 * Replace by '?' every byte of a string that is part of no UTF-8 character: command lines and names
 * may hold any bytes, and may have been cut in the middle of a character.
 */
void trk_record_text_clean(char *text);

#endif
