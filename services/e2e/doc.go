// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the built programs as a user runs them: real processes, a
// private sound server, synthesised questions, recorded answers.
package e2e
