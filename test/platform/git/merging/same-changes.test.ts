import { beforeEach, describe, expect, it } from 'vitest'
import { changeTheSame } from '../../../../src/platform/git/merging/same-changes.ts'
import type { Repositories } from '../../../../src/platform/git/repositories/repositories.ts'
import type { ScriptedFile } from '../../../support/histories.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'

let repositories: Repositories

beforeEach(async () => {
  repositories = await testRepositories(1)
})

type Files = Readonly<Record<string, ScriptedFile>>

const lines = (count: number, word = 'line') =>
  Array.from({ length: count }, (_, i) => `${word} ${i}\n`)
const text = (changes: Readonly<Record<number, string>> = {}) =>
  lines(40)
    .map((line, i) => changes[i] ?? line)
    .join('')

/** Whether `old` changes `base` as `now` does what `moved` has made of it. */
function compare(base: Files, old: Files, moved: Files, now: Files): Promise<boolean> {
  const main = 'refs/heads/main'
  writeHistory(repositories, 1, [
    { message: 'base', files: base },
    { on: 'refs/heads/old', parents: [main], message: 'old', files: old },
    { message: 'moved', files: moved },
    { on: 'refs/heads/now', parents: [main], message: 'now', files: now },
  ])
  const idOf = (name: string) => git(repositories, 1, 'rev-parse', name)
  const range = (base: string, head: string) => ({ base: idOf(base), head: idOf(head) })
  return changeTheSame(repositories, 1, range('main~1', 'old'), range('main', 'now'))
}

const bytes = (...values: number[]) => Buffer.from([0, ...values])

describe('two ranges change', () => {
  it.each<[string, Files, Files, Files, Files]>([
    [
      'the same in other files',
      { a: text() },
      { a: text({ 3: 'x\n' }) },
      { b: 'b\n' },
      { a: text({ 3: 'x\n' }) },
    ],
    [
      'the same in a file that has moved on elsewhere',
      { a: text() },
      { a: text({ 30: 'x\n' }) },
      { a: text({ 3: 'more\nmore\n' }) },
      { a: text({ 3: 'more\nmore\n', 30: 'x\n' }) },
    ],
    [
      'the same next to what has moved on',
      { a: text() },
      { a: text({ 30: 'x\n' }) },
      { a: text({ 28: 'near\n' }) },
      { a: text({ 28: 'near\n', 30: 'x\n' }) },
    ],
    [
      'the same mode',
      { a: 'a\n' },
      { a: { mode: '100755', content: 'a\n' } },
      { b: '' },
      { a: { mode: '100755', content: 'a\n' } },
    ],
    ['the same binary file', { a: bytes(1) }, { a: bytes(2) }, { b: '' }, { a: bytes(2) }],
    ['nothing', { a: text() }, {}, { b: '' }, {}],
  ])('the same: %s', async (_, base, old, moved, now) => {
    expect(await compare(base, old, moved, now)).toBe(true)
  })

  it.each<[string, Files, Files, Files, Files]>([
    [
      'another line',
      { a: text() },
      { a: text({ 30: 'x\n' }) },
      { a: text({ 3: 'y\n' }) },
      { a: text({ 3: 'y\n', 30: 'z\n' }) },
    ],
    [
      'white space',
      { a: text() },
      { a: text({ 30: 'x\n' }) },
      { a: text({ 3: 'y\n' }) },
      { a: text({ 3: 'y\n', 30: 'x \n' }) },
    ],
    [
      'the end of the last line',
      { a: text() },
      { a: `${text()}x` },
      { a: text({ 3: 'y\n' }) },
      { a: `${text({ 3: 'y\n' })}x\n` },
    ],
    [
      'one more line',
      { a: text() },
      { a: text({ 3: 'x\n' }) },
      { b: '' },
      { a: text({ 3: 'x\n', 30: 'y\n' }) },
    ],
    [
      'another file',
      { a: text() },
      { a: text({ 3: 'x\n' }) },
      { b: '' },
      { a: text({ 3: 'x\n' }), c: '' },
    ],
    ['a file of another name', { a: 'a\n' }, { b: 'b\n' }, { z: '' }, { c: 'b\n' }],
    ['a mode', { a: 'a\n' }, { a: 'b\n' }, { z: '' }, { a: { mode: '100755', content: 'b\n' } }],
    ['a binary file', { a: bytes(1) }, { a: bytes(2) }, { z: '' }, { a: bytes(3) }],
    [
      'a binary file that others have changed',
      { a: bytes(1) },
      { a: bytes(2) },
      { a: bytes(3) },
      { a: bytes(4) },
    ],
    [
      'a binary file to the same, from another one',
      { a: bytes(1) },
      { a: bytes(2) },
      { a: bytes(3) },
      { a: bytes(2) },
    ],
    [
      'a submodule',
      {},
      { m: { mode: '160000', id: '1'.repeat(40) } },
      { z: '' },
      { m: { mode: '160000', id: '2'.repeat(40) } },
    ],
    [
      'the same lines where others look alike',
      { a: lines(8, 'same').join('').repeat(5) },
      { a: `${lines(8, 'same').join('')}evil()\n${lines(8, 'same').join('').repeat(4)}` },
      { a: `first\n${lines(8, 'same').join('').repeat(5)}` },
      {
        a: `first\n${lines(8, 'same').join('').repeat(3)}evil()\n${lines(8, 'same').join('').repeat(2)}`,
      },
    ],
  ])('not the same: %s', async (_, base, old, moved, now) => {
    expect(await compare(base, old, moved, now)).toBe(false)
  })

  it('differently when one has an older base', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { a: 'a\n' } },
      { message: 'two', files: { b: 'b\n' } },
      { message: 'three', files: { c: 'c\n' } },
    ])
    const [one = '', two = '', three = ''] = ['main~2', 'main~1', 'main'].map((name) =>
      git(repositories, 1, 'rev-parse', name),
    )
    const compareTo = (base: string, head: string) =>
      changeTheSame(repositories, 1, { base: two, head: three }, { base, head })
    expect(await compareTo(two, three)).toBe(true)
    expect(await compareTo(one, three)).toBe(false)
    expect(await compareTo(two, two)).toBe(false)
  })
})
