import { beforeAll, expect, it } from 'vitest'
import { writeSearchText } from '../../../src/forge/conversations/search-texts.rows.ts'
import type { Caller } from '../../../src/forge/core/access.ts'
import type { User } from '../../../src/forge/core/schema.ts'
import { countIssues, listIssues } from '../../../src/forge/issues/issue-lists.rows.ts'
import { sortOfQuery } from '../../../src/forge/issues/issue-orders.rows.ts'
import { readQueries } from '../../../src/forge/issues/query/issue-queries.ts'
import { withQuery } from '../../../src/forge/issues/query/lifted-terms.ts'
import { printQuery } from '../../../src/forge/issues/query/print.ts'
import type { Condition, Term, Value } from '../../../src/forge/issues/query/schema.ts'
import type { PullRequest } from '../../../src/forge/pulls/schema.ts'
import { repositoryReader } from '../../../src/forge/repositories/access/permissions.ts'
import type { Repository } from '../../../src/forge/repositories/schema.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { type Random, seededRandom } from '../../platform/rpc/rest/random.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { ANYBODY, addIssue, addPull, addRepository, session } from '../../support/forge-rows.ts'
import { randomQuery } from './random-query.ts'

/** What the model knows of a conversation beside its row. */
interface Modelled {
  readonly row: PullRequest
  readonly isPrivate: boolean
  readonly labels: readonly string[]
  readonly assignees: readonly string[]
  readonly author: string | undefined
  readonly comments: readonly string[]
}

const LABELS = ['a', 'none', 'kind/x', 'good first'] as const
const TEXTS = ['pump', 'the pump leaks', 'two words', 'other'] as const
const DAY = 24 * 60 * 60
const MAY = Date.parse('2026-05-01T00:00:00Z') / 1000

const TERMS = [
  'is:open',
  'is:closed',
  'is:merged,draft',
  'is:issue',
  'type:pr',
  'is:private',
  'label:a',
  'label:kind/*,"good first"',
  'label:"none"',
  'no:label',
  'label:any',
  'author:bob',
  'author:BOB,@me',
  'author:none',
  'author:nobody',
  'assignee:any',
  'assignee:ada,none',
  'has:due',
  'due:>=2026-05-03',
  'created:2026-05-02..2026-05-04',
  'created:<2026-05-03,2026-05-05',
  'closed:*..2026-05-04',
  'comments:0',
  'comments:>0',
  'number:2..7,11',
  'base:main',
] as const

const WORDS = [
  { text: 'pump', isPhrase: false },
  { text: 'leaks', isPhrase: false },
  { text: 'two words', isPhrase: true },
  { text: 'other', isPhrase: false },
] as const

let app: TestApp
let users: ReadonlyMap<string, User>
let all: Modelled[]

beforeAll(async () => {
  app = await testApp()
  const [ada, bob] = [await addUser(app, 'ada'), await addUser(app, 'bob')]
  users = new Map([
    ['ada', ada],
    ['bob', bob],
  ])
  all = await fill(seededRandom(7), ada)
})

/** Makes random conversations in a public and a private repository of a user. */
function fill(random: Random, owner: User): Promise<Modelled[]> {
  return transaction(app.db, async (tx) => {
    const made: Modelled[] = []
    for (const isPrivate of [false, true]) {
      const name = isPrivate ? 'hidden' : 'open'
      const fields = { owner_id: owner.id, name, private: Number(isPrivate) }
      const repository = await addRepository(tx, fields)
      const ids = await labelsIn(repository)
      for (let n = 0; n < 40; n += 1) made.push(await one(repository, ids))
    }
    return made

    async function labelsIn({ id }: Repository): Promise<ReadonlyMap<string, number>> {
      const labels = LABELS.map((name) => ({
        repository_id: id,
        organization_id: null,
        name,
        color: '00aabb',
        description: '',
        exclusive: 0,
        archived: 0,
      }))
      const rows = await tx.insertInto('labels').values(labels).returningAll().execute()
      return new Map(rows.map((row) => [row.name, row.id]))
    }

    async function one(
      repository: Repository,
      ids: ReadonlyMap<string, number>,
    ): Promise<Modelled> {
      const isPull = random.below(3) === 0
      const author = random.pick(['ada', 'bob', undefined])
      const state = random.pick(
        isPull ? (['OPEN', 'CLOSED', 'MERGED'] as const) : (['OPEN', 'CLOSED'] as const),
      )
      const create_time = MAY + random.below(5 * DAY)
      const { id } = await (isPull ? addPull : addIssue)(tx, {
        repository_id: repository.id,
        title: `${random.pick(['', 'WIP: '])}${random.pick(TEXTS)}`,
        body: random.pick(['', ...TEXTS]),
        state,
        poster_id: users.get(author ?? '')?.id ?? null,
        due_time: random.pick([null, MAY + random.below(5 * DAY)]),
        close_time: state === 'OPEN' ? null : create_time + random.below(DAY),
        create_time,
        update_time: create_time,
      })
      const labels = LABELS.filter(() => random.below(3) === 0)
      for (const label of labels)
        await tx
          .insertInto('issue_labels')
          .values({ issue_id: id, label_id: ids.get(label) ?? 0 })
          .execute()
      const assignees = ['ada', 'bob'].filter(() => random.below(3) === 0)
      for (const name of assignees)
        await tx
          .insertInto('issue_assignees')
          .values({ issue_id: id, user_id: users.get(name)?.id ?? 0 })
          .execute()
      const comments = [random.pick(TEXTS), random.pick(TEXTS)].slice(random.below(3))
      const bodies = new Map<number, string>()
      for (const body of comments) {
        const comment = await tx
          .insertInto('issue_comments')
          .values({
            issue_id: id,
            repository_id: repository.id,
            poster_id: null,
            create_time,
            update_time: create_time,
            body,
          })
          .returning('id')
          .executeTakeFirstOrThrow()
        bodies.set(comment.id, body)
      }
      const row = await tx
        .selectFrom('issues')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      await writeSearchText(tx, { conversation: row, title: row.title, body: row.body })
      for (const [commentId, body] of bodies)
        await writeSearchText(tx, { conversation: row, commentId, body })
      return { row, isPrivate: repository.private === 1, labels, assignees, author, comments }
    }
  })
}

/** Whether a conversation matches, by the plain meaning of the condition. */
function matches(one: Modelled, condition: Condition, me: string | undefined): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.items.every((item) => matches(one, item, me))
    case 'or':
      return condition.items.some((item) => matches(one, item, me))
    case 'not':
      return !matches(one, condition.item, me)
    case 'words': {
      const { words, parts } = condition
      const has = (texts: readonly string[]) =>
        words.every(({ text }) => texts.some((each) => each.toLowerCase().includes(text)))
      const own = [
        ...(parts.includes('title') ? [one.row.title] : []),
        ...(parts.includes('body') ? [one.row.body] : []),
      ]
      return has(own) || (parts.includes('comments') && one.comments.some((text) => has([text])))
    }
    default:
      return condition.values.some((value) => hasValue(one, condition, value, me))
  }
}

function hasValue(
  { row, isPrivate, labels, assignees, author, comments }: Modelled,
  { qualifier }: Term,
  value: Value,
  me: string | undefined,
): boolean {
  const text = 'text' in value ? value.text : value.kind
  const among = (names: readonly (string | undefined)[]) => {
    if (value.kind === 'any') return names.some((name) => name !== undefined)
    if (value.kind === 'none') return names.every((name) => name === undefined)
    const name = value.kind === 'me' ? me : text.toLowerCase()
    return name !== undefined && names.includes(name)
  }
  const within = (number: number | null) =>
    (value.kind === 'numbers' || value.kind === 'times') &&
    number !== null &&
    (value.from ?? -Infinity) <= number &&
    number <= (value.to ?? Infinity)
  const isDraft = row.is_pull === 1 && row.title.startsWith('WIP:')
  const qualities: Readonly<Record<string, boolean>> = {
    open: row.state === 'OPEN',
    closed: row.state !== 'OPEN',
    merged: row.state === 'MERGED',
    draft: isDraft,
    issue: row.is_pull === 0,
    pr: row.is_pull === 1,
    private: isPrivate,
    label: labels.length > 0,
    due: row.due_time !== null,
  }
  switch (qualifier) {
    case 'no':
      return qualities[text] === false
    case 'label':
      if (value.kind === 'any') return labels.length > 0
      return labels.some((name) => (value.kind === 'scope' ? name.startsWith(text) : name === text))
    case 'author':
      return among([author])
    case 'assignee':
      return among(assignees.length > 0 ? assignees : [undefined])
    case 'due':
      return within(row.due_time)
    case 'created':
      return within(row.create_time)
    case 'closed':
      return within(row.close_time)
    case 'comments':
      return within(comments.length)
    case 'number':
      return within(row.number)
    case 'base':
      return row.is_pull === 1 && row.base_branch === text
    default:
      return qualities[text] === true
  }
}

it('finds what a simple model finds, for whoever asks, in pages and totals', async () => {
  const random = seededRandom(31)
  const bob = users.get('bob')
  const ada = users.get('ada')
  if (!ada || !bob) throw new Error('no users')
  const callers: readonly [Caller, string | undefined, boolean][] = [
    [ANYBODY, undefined, false],
    [session(bob), 'bob', false],
    [session(ada), 'ada', true],
  ]
  let found = 0
  for (let n = 0; n < 250; n += 1) {
    const query = randomQuery(random, TERMS, WORDS)
    const text = printQuery({ ...query, sort: undefined })
    const [caller, me, seesPrivate] = random.pick([...callers] as [(typeof callers)[number]])
    const { condition } = await readQueries(app, caller, undefined, [text])
    const selection = {
      place: { reader: repositoryReader(app, caller), ownerId: undefined },
      ...withQuery(
        { kinds: { issues: true, pulls: true }, filter: { isOpen: undefined } },
        condition,
      ),
    }
    const direction = random.pick(['asc', 'desc'] as const)
    const sort = sortOfQuery({ key: 'created', direction })
    const expected = all
      .filter(({ isPrivate }) => seesPrivate || !isPrivate)
      .filter((one) => query.condition === undefined || matches(one, query.condition, me))
      .map(({ row }) => row)
      .sort((one, other) => one.create_time - other.create_time || one.id - other.id)
      .map(({ id }) => id)
    if (direction === 'desc') expected.reverse()
    const { found: rows } = await listIssues(app.db, selection, { offset: 3, limit: 10, sort })
    expect(
      rows.map(({ id }) => id),
      `${text} by ${me}`,
    ).toEqual(expected.slice(3, 13))
    expect(await countIssues(app.db, selection), text).toBe(expected.length)
    found += expected.length
  }
  expect(found).toBeGreaterThan(1000)
})
