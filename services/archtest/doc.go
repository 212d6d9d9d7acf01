// SPDX-License-Identifier: Apache-2.0

// Package archtest holds the house rules as tests: who may import whom, read
// from the table in services/README.md, and the laws of names, sizes, errors,
// goroutines and tests. Each failure says which rule and why.
package archtest
