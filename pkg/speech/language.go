// SPDX-License-Identifier: Apache-2.0

package speech

import "example.org/desktop-assistant/pkg/speech/language"

// Language returns which of the configured languages a sentence is in. Text
// that says little keeps prior; see language.Identify.
func Language(sentence, prior string, configured []string) string {
	return language.Identify(sentence, prior, configured)
}
