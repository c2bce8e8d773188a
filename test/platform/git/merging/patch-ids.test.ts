import { describe, expect, it } from 'vitest'
import { changeTheSame } from '../../../../src/platform/git/merging/same-changes.ts'
import { repositoryPath } from '../../../../src/platform/git/repositories/repositories.ts'
import type { ScriptedCommit } from '../../../support/histories.ts'
import { execFileSync } from '../../../support/programs.ts'
import { type Random, seededRandom } from '../../rpc/rest/random.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'

const CASES = 40
const LINES = 30

/** A change of one line, by its number in the file before: another text, none, or one more. */
interface Edit {
  readonly line: number
  readonly text: string | undefined
  readonly isNew: boolean
}

function apply(lines: readonly string[], edits: readonly Edit[]): string[] {
  return lines.flatMap((text, line) => {
    const edit = edits.find((one) => one.line === line)
    if (!edit) return text
    return [...(edit.isNew ? [text] : []), ...(edit.text === undefined ? [] : [edit.text])]
  })
}

const content = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

describe('random changes that are rebased', () => {
  it('are the same where git-patch-id(1) says so, and only if they add and delete the same lines', async () => {
    const repositories = await testRepositories(1)
    const random = seededRandom(20_261_127)
    const commits: ScriptedCommit[] = []
    for (let i = 0; i < CASES; i++) commits.push(...history(random, i))
    writeHistory(repositories, 1, commits)
    const cases = Array.from({ length: CASES }, (_, i) => i)
    const refs = cases.flatMap((i) => [`old${i}~1`, `old${i}`, `now${i}~1`, `now${i}`])
    const ids = git(repositories, 1, 'rev-parse', ...refs).split('\n')
    const patchIds = (context: string) => {
      const heads = cases.flatMap((i) => [`old${i}`, `now${i}`])
      const input = git(repositories, 1, 'log', '-p', '--no-walk', context, ...heads)
      const folder = repositoryPath(repositories, 1)
      const args = ['-C', folder, 'patch-id', '--stable']
      const lines = execFileSync('git', args, { input: `${input}\n`, encoding: 'utf8' })
      return new Map(
        lines
          .trim()
          .split('\n')
          .map((line) => line.split(' ').reverse() as [string, string]),
      )
    }
    const [near, bare] = [patchIds('-U3'), patchIds('-U0')]
    const outcomes = { same: 0, different: 0 }
    for (const i of cases) {
      const [base = '', old = '', moved = '', now = ''] = ids.slice(4 * i)
      const before = { base, head: old }
      const after = { base: moved, head: now }
      const isSame = await changeTheSame(repositories, 1, before, after)
      if (near.get(old) === near.get(now)) expect({ i, isSame }).toEqual({ i, isSame: true })
      if (isSame) expect([i, bare.get(now)]).toEqual([i, bare.get(old)])
      outcomes[isSame ? 'same' : 'different']++
    }
    expect(outcomes.same).toBeGreaterThan(5)
    expect(outcomes.different).toBeGreaterThan(5)
  })
})

/**
 * A file whose lines all differ, a change of it, what the base has become, and the change on that: the
 * same edits, or one of them with another text.
 */
function history({ below }: Random, i: number): ScriptedCommit[] {
  const base = Array.from({ length: LINES }, (_, line) => `${i} ${line}`)
  const editAt = (line: number, word: string): Edit => {
    const kind = below(3)
    return { line, text: kind === 1 ? undefined : `${word} ${line}`, isNew: kind === 2 }
  }
  const chosen = Array.from({ length: 1 + below(3) }, () => below(LINES))
  const edits = [...new Set(chosen)].map((line) => editAt(line, 'change'))
  const free = Array.from({ length: LINES }, (_, line) => line).filter(
    (line) => !edits.some((edit) => Math.abs(edit.line - line) <= 1),
  )
  const others = [free[below(free.length)] ?? 0, free[below(free.length)] ?? 0]
  const moves = [...new Set(others)].map((line) => editAt(line, 'other'))
  const [first, ...rest] = edits
  const isSame = below(2) === 0
  const now = isSame || !first ? edits : [{ ...first, text: 'something else' }, ...rest]
  return [
    { on: `refs/heads/base${i}`, message: 'base', files: { a: content(base) } },
    {
      on: `refs/heads/old${i}`,
      parents: [`refs/heads/base${i}`],
      message: 'old',
      files: { a: content(apply(base, edits)) },
    },
    {
      on: `refs/heads/moved${i}`,
      parents: [`refs/heads/base${i}`],
      message: 'moved',
      files: { a: content(apply(base, moves)) },
    },
    {
      on: `refs/heads/now${i}`,
      parents: [`refs/heads/moved${i}`],
      message: 'now',
      files: { a: content(apply(base, [...moves, ...now])) },
    },
  ]
}
