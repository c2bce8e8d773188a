import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { writeSearchText } from '../../../src/forge/conversations/search-texts.rows.ts'
import { readingOf } from '../../../src/forge/issues/issue-lists.rows.ts'
import type { IssuePosition } from '../../../src/forge/issues/issue-orders.rows.ts'
import type { IssueSelection } from '../../../src/forge/issues/issue-selections.rows.ts'
import { countConversations } from '../../../src/forge/issues/issue-totals.rows.ts'
import { listConversations } from '../../../src/forge/issues/issue-walks.rows.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { isOnPostgres } from '../../support/database.ts'
import { addRepository } from '../../support/forge-rows.ts'

/** Twice as many as a search reads one by one. */
const COUNT = 2_000
/** Issues with a comment that has the word `common`. Their own text does not. */
const hasComment = (number: number) => number % 30 === 0
const hasOwn = (number: number) => number % 3 !== 0
const isOpen = (number: number) => number % 4 !== 0
/** Only old issues have this word, so that none of the newest ones has the word. */
const isOld = (number: number) => number <= 1_200

let app: TestApp
/** The repository of the model, and one with the same words that its owner alone may read. */
let repositoryId: number
let hiddenId: number
let ada: number

beforeAll(async () => {
  app = await testApp()
  ada = (await addUser(app, 'ada')).id
  await transaction(app.db, async (tx) => {
    const open = await addRepository(tx, { owner_id: ada, name: 'open' })
    const hidden = await addRepository(tx, { owner_id: ada, name: 'hidden', private: 1 })
    repositoryId = open.id
    hiddenId = hidden.id
    for (const { id } of [open, hidden]) {
      const numbers = sql`with recursive numbers (n) as
        (select 1 union all select n + 1 from numbers where n < ${sql.lit(COUNT)})`
      await sql`insert into issues (repository_id, is_pull, number, poster_id, title, state, base_branch, head_branch,
          head_commit, head_ref_commit, allow_maintainer_edit, create_time, update_time, close_time, body)
        ${numbers} select ${sql.lit(id)}, 0, n, ${sql.lit(ada)}, '', case when n % 4 = 0 then 'CLOSED' else 'OPEN' end,
          '', '', '', '', 0, 1000 + n / 2, 1000, case when n % 4 = 0 then 1000 end, '' from numbers`.execute(
        tx,
      )
      await sql`insert into issue_comments (issue_id, repository_id, poster_id, create_time, update_time, body)
        select id, repository_id, poster_id, 0, 0, '' from issues
        where repository_id = ${sql.lit(id)} and number % 30 = 0`.execute(tx)
    }
    const issues = await tx.selectFrom('issues').selectAll().execute()
    for (const issue of issues) {
      const words = [hasOwn(issue.number) && 'common', isOld(issue.number) && 'old', 'every']
      const body = words.filter((word) => word !== false).join(' ')
      await writeSearchText(tx, { conversation: issue, body })
    }
    const byId = new Map(issues.map((issue) => [issue.id, issue]))
    for (const { id, issue_id } of await tx.selectFrom('issue_comments').selectAll().execute()) {
      const conversation = byId.get(issue_id) ?? expect.fail('a comment has no issue')
      await writeSearchText(tx, { conversation, commentId: id, body: 'a common one' })
    }
  })
  if (isOnPostgres) await sql`analyze`.execute(app.db)
})

const WORDS: Readonly<Record<string, (number: number) => boolean>> = {
  common: (number) => hasOwn(number) || hasComment(number),
  old: isOld,
  // The beginning of a word.
  ever: () => true,
  // Words of two texts are no match.
  'every one': () => false,
}

function selectionOf(
  word: string,
  open: boolean | undefined,
  place: IssueSelection['place'],
): IssueSelection {
  const terms = word.split(' ').map((token) => ({ tokens: [token], isPrefix: true }))
  return { place, kinds: { issues: true, pulls: true }, filter: { isOpen: open, terms } }
}

function expected(word: string, open: boolean | undefined): number[] {
  const holds = WORDS[word] ?? expect.fail('no such word')
  return Array.from({ length: COUNT }, (_, i) => COUNT - i).filter(
    (number) => holds(number) && (open === undefined || isOpen(number) === open),
  )
}

/** Reads some pages by offset, and then pages after a position. */
async function checkPages(selection: IssueSelection, numbers: readonly number[], of?: number) {
  const shown = (found: readonly { number: number; repository_id: number }[]) =>
    found.filter((one) => of === undefined || one.repository_id === of).map(({ number }) => number)
  const reading = await readingOf(app.db, selection)
  for (const offset of [0, 20, 700]) {
    const page = await listConversations(app.db, reading, { offset, limit: 20, sort: 'latest' })
    expect(shown(page.found)).toEqual(numbers.slice(offset, offset + 20))
  }
  let after: IssuePosition | undefined
  for (let start = 0; start < 200; start += 40) {
    const page = { offset: 0, after, limit: 40, sort: 'latest' } as const
    const { found, next } = await listConversations(app.db, reading, page)
    expect(shown(found)).toEqual(numbers.slice(start, start + 40))
    after = next
    if (!after) break
  }
  expect(await countConversations(app.db, reading)).toBe(numbers.length)
}

describe.each([true, false, undefined])('common words, whether issues are open: %s', (open) => {
  it.each(Object.keys(WORDS))('finds "%s" in a repository', (word) =>
    checkPages(selectionOf(word, open, { repositoryId }), expected(word, open)),
  )

  it.each(Object.keys(WORDS))('finds "%s" in what a stranger may read', async (word) => {
    const reader = { userId: undefined, administrator: 'none', publicOnly: true, restricted: false }
    const place = { reader } as IssueSelection['place']
    await checkPages(selectionOf(word, open, place), expected(word, open), repositoryId)
  })
})

it('finds own issues in private repositories as well', async () => {
  const reader = { userId: ada, administrator: 'none', publicOnly: false, restricted: false }
  const selection = selectionOf('common', true, { reader } as IssueSelection['place'])
  const reading = await readingOf(app.db, selection)
  const numbers = expected('common', true)
  const { found } = await listConversations(app.db, reading, {
    offset: 0,
    limit: 40,
    sort: 'latest',
  })
  // Those of one time follow each other by repository.
  const sorted = found.map(({ number }) => number).toSorted((a, b) => b - a)
  expect(sorted).toEqual(numbers.slice(0, 20).flatMap((number) => [number, number]))
  expect(new Set(found.map((one) => one.repository_id))).toEqual(new Set([repositoryId, hiddenId]))
  expect(await countConversations(app.db, reading)).toBe(2 * numbers.length)
})
