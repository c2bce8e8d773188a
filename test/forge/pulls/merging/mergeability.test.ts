import { describe, expect, it } from 'vitest'
import { computeMergeability } from '../../../../src/forge/pulls/merging/mergeability.ts'
import type { Mergeability } from '../../../../src/forge/pulls/schema.ts'
import { createRepository } from '../../../../src/platform/git/repositories/repositories.ts'
import { git, testRepositories, writeHistory } from '../../../platform/git/fixture.ts'
import { testApp } from '../../../support/app.ts'
import type { ScriptedCommit } from '../../../support/histories.ts'

const on = (branch: string, files: Record<string, string>, from?: string): ScriptedCommit => ({
  on: `refs/heads/${branch}`,
  message: 'x',
  files,
  ...(from && { parents: [`refs/heads/${from}`] }),
})

describe('the mergeability of a pull request', () => {
  it.each<[what: string, commits: readonly ScriptedCommit[], expected: Mergeability]>([
    [
      'of what goes on from the base',
      [on('base', { a: '1' }), on('head', { a: '2' }, 'base')],
      'MERGEABLE',
    ],
    [
      'of changes beside each other',
      [on('base', { a: '1' }), on('head', { b: '2' }, 'base'), on('base', { c: '3' })],
      'MERGEABLE',
    ],
    [
      'of changes against each other',
      [on('base', { a: '1' }), on('head', { a: '2' }, 'base'), on('base', { a: '3' })],
      'CONFLICT',
    ],
    [
      'of histories that have nothing in common',
      [on('base', { a: '1' }), on('head', { b: '2' })],
      'CONFLICT',
    ],
    [
      'of what the base has already',
      [on('head', { a: '1' }), on('base', { a: '2' }, 'head')],
      'ANCESTOR',
    ],
    ['of commits that change nothing', [on('base', { a: '1' }), on('head', {}, 'base')], 'EMPTY'],
    [
      'of what the base has by another way',
      [on('base', { a: '1' }), on('head', { a: '2' }, 'base'), on('base', { a: '2' })],
      'EMPTY',
    ],
  ])('%s', async (_what, commits, expected) => {
    const app = await testApp({}, { git: await testRepositories() })
    const id = 1
    await createRepository(app.git, id, 'base')
    writeHistory(app.git, id, commits)
    const [base = '', head = ''] = git(app.git, id, 'rev-parse', 'base', 'head').split('\n')
    const { mergeability, mergeBase } = await computeMergeability(app, id, base, head)
    await app.db.destroy()
    expect(mergeability).toBe(expected)
    const shared = git(app.git, id, 'rev-parse', 'base...head')
      .split('\n')
      .find((line) => line.startsWith('^'))
    expect(mergeBase).toBe(shared?.slice(1) ?? '')
  })
})
