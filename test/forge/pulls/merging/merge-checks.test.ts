import { describe, expect, it } from 'vitest'
import {
  evaluateStatuses,
  type StatusResult,
} from '../../../../src/forge/pulls/merging/merge-checks.ts'
import type { CommitStatus } from '../../../../src/forge/repositories/schema.ts'

type States = Readonly<Record<string, CommitStatus['state']>>

describe('the required statuses of a rule', () => {
  it.each<[what: string, patterns: readonly string[], states: States, verdict: StatusResult]>([
    ['nothing named and nothing said', [], {}, 'pending'],
    ['nothing named and all of it well', [], { build: 'success', lint: 'skipped' }, 'success'],
    ['nothing named and one of them waiting', [], { build: 'success', lint: 'pending' }, 'pending'],
    ['nothing named and one of them warning', [], { build: 'success', lint: 'warning' }, 'failure'],
    [
      'one named that is well, another that is not',
      ['build'],
      { build: 'success', lint: 'failure' },
      'success',
    ],
    ['one named that is skipped', ['build'], { build: 'skipped' }, 'success'],
    ['one named that nobody has spoken of', ['build'], { lint: 'success' }, 'pending'],
    ['one named of which another is part', ['build'], { 'build/arm': 'success' }, 'pending'],
    ['a pattern across folders', ['ci/*'], { 'ci/a/b': 'success' }, 'success'],
    [
      'a pattern with one failure among successes',
      ['ci/*'],
      { 'ci/a': 'success', 'ci/b': 'error' },
      'failure',
    ],
    ['two patterns of which one finds nothing', ['ci/*', 'docs'], { 'ci/a': 'success' }, 'pending'],
    [
      'two patterns: nothing found, and a failure',
      ['ci/*', 'docs'],
      { 'ci/a': 'failure' },
      'failure',
    ],
    ['a pattern in another case', ['CI'], { ci: 'success' }, 'pending'],
    [
      'a pattern that cannot be used beside one that can',
      ['[', 'ci'],
      { ci: 'success', lint: 'failure' },
      'success',
    ],
    // To fall back to nothing would let pass what somebody wanted to stop.
    ['only a pattern that cannot be used', ['['], { ci: 'failure' }, 'failure'],
  ])('%s', (_what, patterns, states, verdict) => {
    const latest = Object.entries(states).map(([context, state]) => ({ context, state }))
    expect(evaluateStatuses({ status_check_contexts: patterns }, latest)).toBe(verdict)
  })
})
