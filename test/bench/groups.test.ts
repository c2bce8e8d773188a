import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { withParts } from '../../bench/report.ts'
import { isOnPostgres } from '../support/database.ts'
import { ROOT } from '../support/markdown.ts'
import { checkBench, groupsOfPage, LIGHT_GROUPS } from './bench-check.ts'

const page = await readFile(`${ROOT}/docs/performance.md`, 'utf8')

describe.skipIf(isOnPostgres)('npm run bench, which starts servers of its own', () => {
  // The other groups run in `groups.long.test.ts`.
  it('is answered rightly in groups of accounts, of reads of repositories and of merges', async () => {
    expect([...(await checkBench(...LIGHT_GROUPS))].sort()).toEqual([...LIGHT_GROUPS].sort())
  })
})

describe('the page of the figures', () => {
  it('names all groups in a sentence', async () => {
    const [, sentence = ''] = /^The groups are ([^.]*)\./m.exec(page) ?? []
    const named = [...sentence.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name)
    expect([...named, 'memory'].sort()).toEqual([...(await groupsOfPage())].sort())
  })

  it('says on which commit each group was measured, or that it was not yet', () => {
    const parts = page.split(/^### /m).slice(1)
    for (const part of parts)
      expect(part).toMatch(
        /^[a-z-]+\n\n(Measured (on commit [0-9a-f]{12}|before the bench named its commit)|Not measured yet)/,
      )
  })

  it('keeps the figures of groups that are not measured again', () => {
    const part = '### streams\n\nMeasured now.\n'
    const written = withParts(page, new Map([['streams', part]]))
    const [before = '', after = ''] = written.split(part)
    expect(page.startsWith(before)).toBe(true)
    expect(page.endsWith(after)).toBe(true)
    expect(after).toMatch(/^\n### pages\n/)
  })
})
