// SPDX-License-Identifier: Apache-2.0

// Package markup keeps what a model must not say out of its text: thinking,
// tool calls that the server left in the text, and template tokens. [Filter]
// works on a stream and holds back only what may still become a marker;
// [Recover] reads the calls out of what was captured.
//
// The forms are those of the chat templates in use up to September 2026: Qwen,
// GLM, Mistral, Llama, gpt-oss (harmony), Gemma, DeepSeek, Kimi, MiniMax.
package markup

// An Offer holds the tools offered in a request: name, then parameter, then its
// JSON Schema type ("" when unknown).
type Offer map[string]map[string]string
