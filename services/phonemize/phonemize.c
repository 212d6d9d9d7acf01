// SPDX-License-Identifier: GPL-3.0-or-later
//
// phonemize: text in, phonemes out, by libespeak-ng.
//
// A program of its own, since libespeak-ng is GPL-3.0-or-later: whoever wants
// phonemes starts it and talks to it through pipes. It greets with
//
//	phonemize 1 VERSION
//
// and answers each line of its standard input,
//
//	VOICE<tab>TEXT
//
// with one line: "+" and the phonemes (IPA, parts of one sound tied with ^, clauses
// separated by a blank), or "-" and why there are none. It ends with its input, which
// is when the program that started it does. TEXT has no markup: brackets and angle
// brackets are read like everything else.

#include <espeak-ng/speak_lib.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A flag of espeak_Initialize that older headers lack: return instead of exit when
// the data is missing.
#ifndef espeakINITIALIZE_DONT_EXIT
#define espeakINITIALIZE_DONT_EXIT 0x8000
#endif

enum {
	// IPA, and ^ between the letters of one sound.
	phoneme_mode = 0x02 | 0x80 | '^' << 8,
	max_line = 64 * 1024,
};

static char current[64]; // the voice that is set

// set_voice takes a voice by its file name, else by its language: 1.51 knows fr-fr
// only as a language.
static int set_voice(const char *name)
{
	if (strcmp(name, current) == 0)
		return 1;
	current[0] = '\0';
	if (espeak_SetVoiceByName(name) != EE_OK) {
		espeak_VOICE wanted;
		memset(&wanted, 0, sizeof wanted);
		wanted.languages = name;
		if (espeak_SetVoiceByProperties(&wanted) != EE_OK)
			return 0;
	}
	if (strlen(name) < sizeof current)
		strcpy(current, name);
	return 1;
}

// answer writes one line for one request. It changes the line.
static void answer(char *line)
{
	char *text = strchr(line, '\t');
	if (text == NULL) {
		puts("-no voice before the text");
		return;
	}
	*text++ = '\0';
	if (!set_voice(line)) {
		printf("-no voice for %.60s\n", line);
		return;
	}
	putchar('+');
	const void *rest = text;
	for (int first = 1; rest != NULL; first = 0) {
		const char *clause = espeak_TextToPhonemes(&rest, espeakCHARS_UTF8, phoneme_mode);
		if (clause == NULL)
			break;
		if (!first)
			putchar(' ');
		for (; *clause != '\0'; clause++)
			putchar(*clause == '\n' || *clause == '\r' ? ' ' : *clause);
	}
	putchar('\n');
}

int main(void)
{
	if (espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, NULL, espeakINITIALIZE_DONT_EXIT) < 0) {
		fputs("phonemize: open the data of espeak-ng: it is not there (install espeak-ng-data)\n", stderr);
		return 1;
	}
	printf("phonemize 1 %s\n", espeak_Info(NULL));
	fflush(stdout);
	char *line = malloc(max_line);
	if (line == NULL)
		return 1;
	while (fgets(line, max_line, stdin) != NULL) {
		size_t length = strlen(line);
		if (length == 0 || line[length - 1] != '\n') {
			fputs("phonemize: a line has no end, or more than 64 kB\n", stderr);
			return 1;
		}
		line[length - 1] = '\0';
		answer(line);
		fflush(stdout);
	}
	free(line);
	espeak_Terminate();
	return 0;
}
