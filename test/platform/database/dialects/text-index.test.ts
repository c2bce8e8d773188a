import { afterAll, beforeAll, expect, it } from 'vitest'
import { transaction } from '../../../../src/platform/database/database.ts'
import {
  countFound,
  type IndexedText,
  type TextSearch,
  withWords,
  writeIndexedText,
} from '../../../../src/platform/database/dialects/text-index.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { tokensOf } from '../../../../src/platform/database/text-tokens.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { seededRandom } from '../../rpc/rest/random.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

const WORDS = [
  'a',
  'ab',
  'abc',
  'Ábc',
  'b',
  'r1',
  '日本',
  '日本語',
  'ไทย',
  'x-y',
  '1',
  '12',
  '🙂',
  "'",
] as const

const { below, pick } = seededRandom(60)
const phrase = (most: number) =>
  Array.from({ length: below(most + 1) }, () => pick(WORDS)).join(' ')

/** What a search means, without an index. */
function matches(text: IndexedText, { terms, column, of, repositoryId }: TextSearch): boolean {
  if (repositoryId !== undefined && text.repositoryId !== repositoryId) return false
  if (of !== undefined && (of === 'comments') !== (text.id % 2 === 1)) return false
  const columns = column === undefined ? (['title', 'body'] as const) : [column]
  return terms.every(({ tokens, isPrefix }) =>
    columns.some((name) => {
      const words = tokensOf(text[name])
      return words.some((_, start) =>
        tokens.every((token, i) => {
          const word = words[start + i] ?? ''
          return isPrefix && i === tokens.length - 1 ? word.startsWith(token) : word === token
        }),
      )
    }),
  )
}

it('finds what a search through all texts finds, on both databases', async () => {
  const texts = new Map<number, IndexedText>()
  for (let round = 0; round < 20; round += 1) {
    await transaction(db, async (tx) => {
      for (let n = 0; n < 10; n += 1) {
        const id = 2 + below(100)
        const title = id % 2 === 0 ? phrase(4) : ''
        const repositoryId = texts.get(id)?.repositoryId ?? pick([1, 11])
        const text = { id, issueId: id >> 1, repositoryId, title, body: phrase(6) }
        await writeIndexedText(tx, text)
        texts.set(id, text)
      }
    })
    for (let n = 0; n < 20; n += 1) {
      const terms = Array.from({ length: 1 + below(2) }, () => ({
        tokens: tokensOf(phrase(2)),
        isPrefix: pick([true, false]),
      })).filter(({ tokens }) => tokens.length > 0)
      if (terms.length === 0) continue
      const search: TextSearch = {
        terms,
        column: pick(['title', 'body', undefined]),
        of: pick(['conversations', 'comments', undefined]),
        repositoryId: pick([1, 11, undefined]),
      }
      const expected = [...texts.values()].filter((text) => matches(text, search)).length
      expect(await countFound(db, search, 1000), JSON.stringify(search)).toBe(expected)
      const named = { ...search, terms: await withWords(db, terms) }
      expect(await countFound(db, named, 1000), JSON.stringify(named)).toBe(expected)
    }
  }
})

it('finds the beginning that many words have', async () => {
  const write = (id: number, body: string) =>
    transaction(db, (tx) =>
      writeIndexedText(tx, { id, issueId: id, repositoryId: 98, title: '', body }),
    )
  const last = ['a', 'zone']
  for (let n = 0; n < 40; n += 1) await write(3000 + 2 * n, `a zone${n}`)
  for (const isPrefix of [true, false]) {
    const terms = await withWords(db, [{ tokens: last, isPrefix }])
    const search = { terms, column: undefined, of: undefined, repositoryId: 98 }
    expect(await countFound(db, search, 1000)).toBe(isPrefix ? 40 : 0)
  }
})

it('stores the longest texts, and texts that repeat a word', async () => {
  const write = (id: number, body: string) =>
    transaction(db, (tx) =>
      writeIndexedText(tx, { id, issueId: id, repositoryId: 99, title: 'long', body }),
    )
  const count = (...tokens: string[]) =>
    countFound(
      db,
      { terms: [{ tokens, isPrefix: false }], column: undefined, of: undefined, repositoryId: 99 },
      10,
    )
  await write(2000, `${'again '.repeat(20_000)}`)
  await write(2002, `${'語'.repeat(65_000)}`)
  await write(2004, Array.from({ length: 9_000 }, (_, n) => `word${n}`).join(' '))
  expect(await count('again', 'again')).toBe(1)
  expect(await count('語語')).toBe(1)
  expect(await count('word8998', 'word8999')).toBe(1)
})
